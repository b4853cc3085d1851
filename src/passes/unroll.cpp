// Writes loops out whose rounds are few and known before the kernel runs.
// SPDX-License-Identifier: MIT
#include "passes/unroll.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "passes/clone.hpp"
#include "passes/fold.hpp"
#include "passes/simplify.hpp"

namespace salvo::passes {
namespace {

using ir::BlockId;
using ir::kNone;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

constexpr std::size_t kMostRounds = 64;
constexpr std::size_t kMostNodes = 1024;

/// A constant's bits of each value that has one in a round.
using Known = std::map<ValueId, std::uint64_t>;

class Unroller {
 public:
  explicit Unroller(const ir::Kernel& kernel) : kernel_(kernel) {}

  ir::Kernel run() {
    size(kernel_.body);
    if (rounds_.empty()) return kernel_;
    return simplify(copy(kernel_, [&](Cloner& cloner, ValueId id, const Node& node) {
      return replaced(cloner, id, node);
    }));
  }

 private:
  /// Nodes that a block has once its own loops are written out. Decides about them on the way.
  std::size_t size(BlockId block) {
    std::size_t nodes = 0;
    const std::vector<ValueId>& list = kernel_.block(block).nodes;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Node& node = kernel_.node(list[i]);
      std::size_t inner = 1;
      for (BlockId nested : node.blocks) inner += size(nested);
      std::vector<Known> rounds;
      if (node.op == Op::For) rounds = counted(list[i]);
      if (node.op == Op::While) rounds = steered(list, i);
      if (!rounds.empty() && rounds.size() * inner <= kMostNodes) {
        inner *= rounds.size();
        rounds_[list[i]] = std::move(rounds);
      }
      nodes += inner;
    }
    return nodes;
  }

  bool must_stay(BlockId block) const {
    return std::ranges::any_of(kernel_.block(block).nodes, [&](ValueId id) {
      const Node& node = kernel_.node(id);
      // The author's own instructions may hold labels, of which there can be one each.
      if (node.op == Op::Break || node.op == Op::Continue || ir::is_user_code(node.op)) return true;
      return std::ranges::any_of(node.blocks, [&](BlockId nested) { return must_stay(nested); });
    });
  }

  /// The rounds of a For between constants; none if they are too many or the counter wraps.
  std::vector<Known> counted(ValueId loop) const {
    const Node& node = kernel_.node(loop);
    if (node.unroll == 1 || must_stay(node.blocks[0])) return {};
    std::array<std::int64_t, 3> bounds{};
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const Node& bound = kernel_.node(node.operands[i]);
      if (bound.op != Op::Constant || bound.type != Scalar::I32) return {};
      bounds[i] = static_cast<std::int32_t>(bound.literal);
    }
    const auto [first, limit, step] = bounds;
    if (step <= 0) return {};
    const bool down = node.literal == 1;
    std::vector<Known> rounds;
    std::int64_t at = first;
    for (; down ? at > limit : at < limit; at += down ? -step : step) {
      if (rounds.size() == kMostRounds) return {};
      rounds.push_back({{loop, static_cast<std::uint32_t>(at)}});
    }
    if (!std::in_range<std::int32_t>(at)) return {};
    return rounds;
  }

  /// Where a block touches a variable, itself or nested.
  void touches(BlockId block, std::uint32_t variable, std::vector<ValueId>& gets,
               std::size_t& sets) const {
    for (ValueId id : kernel_.block(block).nodes) {
      const Node& node = kernel_.node(id);
      if (node.op == Op::VarGet && node.index == variable) gets.push_back(id);
      if (node.op == Op::VarSet && node.index == variable) ++sets;
      for (BlockId nested : node.blocks) touches(nested, variable, gets, sets);
    }
  }

  /// The variable's bits where the loop begins, if the block sets it to a constant before.
  std::optional<std::uint64_t> start(const std::vector<ValueId>& list, std::size_t loop,
                                     std::uint32_t variable) const {
    for (std::size_t i = loop; i-- > 0;) {
      const Node& node = kernel_.node(list[i]);
      if (node.op == Op::VarSet && node.index == variable) {
        const Node& value = kernel_.node(node.operands[0]);
        return value.op == Op::Constant ? std::optional(value.literal) : std::nullopt;
      }
      std::vector<ValueId> gets;
      std::size_t sets = 0;
      for (BlockId nested : node.blocks) touches(nested, variable, gets, sets);
      if (sets > 0) return std::nullopt;
    }
    return std::nullopt;
  }

  /// The rounds of a While in which one variable, known before, decides how often it runs.
  std::vector<Known> steered(const std::vector<ValueId>& list, std::size_t at) const {
    const Node& loop = kernel_.node(list[at]);
    if (loop.unroll == 1 || must_stay(loop.blocks[1])) return {};
    std::uint32_t variable = kNone;
    std::vector<ValueId> before;  // reads of this round's value
    for (ValueId id : kernel_.block(loop.blocks[0]).nodes) {
      const Node& node = kernel_.node(id);
      if (node.op == Op::VarGet) {
        if (variable != kNone && node.index != variable) return {};
        variable = node.index;
        before.push_back(id);
      } else if (!ir::is_pure(node.op)) {
        return {};
      }
    }
    if (variable == kNone || !ir::is_integer(kernel_.variables[variable].type)) return {};
    const auto first = start(list, at, variable);
    if (!first) return {};

    std::vector<ValueId> after;  // reads of the next round's value
    const Node* step = nullptr;
    for (ValueId id : kernel_.block(loop.blocks[1]).nodes) {
      const Node& node = kernel_.node(id);
      if (node.op == Op::VarSet && node.index == variable) {
        if (step) return {};
        step = &node;
        continue;
      }
      auto& gets = step ? after : before;
      if (node.op == Op::VarGet && node.index == variable) gets.push_back(id);
      std::size_t sets = 0;
      for (BlockId nested : node.blocks) touches(nested, variable, gets, sets);
      if (sets > 0) return {};
    }
    if (!step) return {};

    std::vector<Known> rounds;
    std::uint64_t value = *first;
    while (true) {
      Known round;
      for (ValueId id : before) round[id] = value;
      const auto again = evaluate(loop.operands[0], round);
      const auto next = evaluate(step->operands[0], round);
      if (!again) return {};
      if (*again == 0) return rounds;
      if (!next || rounds.size() == kMostRounds) return {};
      for (ValueId id : after) round[id] = *next;
      rounds.push_back(std::move(round));
      value = *next;
    }
  }

  /// A value in a round of which something is known, as far as that decides it.
  std::optional<std::uint64_t> evaluate(ValueId id, const Known& known) const {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    const Node& node = kernel_.node(id);
    if (node.op == Op::Constant) return node.literal;
    if (!ir::is_pure(node.op) || ir::is_leaf(node.op)) return std::nullopt;
    std::vector<Literal> operands;
    for (ValueId operand : node.inputs()) {
      const auto value = evaluate(operand, known);
      if (!value) return std::nullopt;
      operands.push_back({kernel_.node(operand).type, *value});
    }
    return fold(node.op, node.type, operands);
  }

  ValueId replaced(Cloner& cloner, ValueId id, const Node& node) {
    if (node.op == Op::ForIndex) return constant(cloner, node.operands[0], node.type);
    if (node.op == Op::VarGet) return constant(cloner, id, node.type);
    const auto rounds = rounds_.find(id);
    if (rounds == rounds_.end()) return kNoValue;
    for (const Known& round : rounds->second) {
      for (const auto& [value, bits] : round) now_[value] = bits;
      for (BlockId block : node.blocks) cloner.block(block);
      for (const auto& [value, bits] : round) now_.erase(value);
    }
    return Cloner::kReplacedStatement;
  }

  /// A constant for what is known in the round that is being written; none for the rest.
  ValueId constant(Cloner& cloner, ValueId of, Scalar type) const {
    const auto found = now_.find(of);
    return found == now_.end() ? kNoValue : cloner.builder().constant(type, found->second);
  }

  const ir::Kernel& kernel_;
  std::map<ValueId, std::vector<Known>> rounds_;  // by loop that is written out
  Known now_;
};

}  // namespace

ir::Kernel unroll(const ir::Kernel& kernel) {
  return Unroller(kernel).run();
}

}  // namespace salvo::passes
