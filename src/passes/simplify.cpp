// Numbers values by what they compute, within the blocks that dominate them; then drops the unused.
// SPDX-License-Identifier: MIT
#include "passes/simplify.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "passes/clone.hpp"
#include "passes/fold.hpp"

namespace salvo::passes {
namespace {

using ir::BlockId;
using ir::kNoValue;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

using Key = std::tuple<Op, Scalar, std::uint8_t, std::array<ValueId, 4>, std::uint32_t,
                       ir::MemoryId, std::uint64_t>;

// Of integers only: which of two NaNs a float operation passes on may depend on their order.
bool commutes(Op op, Scalar type) {
  if (is_float(type)) return false;
  return op == Op::Add || op == Op::Mul || op == Op::Min || op == Op::Max || op == Op::And ||
         op == Op::Or || op == Op::Xor || op == Op::Eq || op == Op::Ne;
}

class Simplifier {
 public:
  explicit Simplifier(const ir::Kernel& kernel) : kernel_(kernel), same_(kernel.nodes.size()) {
    std::iota(same_.begin(), same_.end(), ValueId{0});
  }

  ir::Kernel run() {
    number(kernel_.body);
    used_.assign(kernel_.nodes.size(), false);
    sweep(kernel_.body);
    return copy(kernel_);
  }

 private:
  // Rewrites a block; its values are known to what follows until `forget`.
  void number(BlockId block) {
    std::vector<ValueId> kept;
    // Nested blocks are rewritten meanwhile, and none of them is this one.
    for (ValueId id : kernel_.blocks[block].nodes) {
      ir::Node& node = kernel_.nodes[id];
      if (node.op == Op::While) {
        repeat(node);
      } else {
        for (ValueId& operand : node.inputs()) operand = same_[operand];
        for (BlockId nested : node.blocks) scoped(nested);
        if (is_pure(node.op) && replaced(id)) continue;
      }
      kept.push_back(id);
    }
    kernel_.blocks[block].nodes = std::move(kept);
  }

  void scoped(BlockId block) {
    const std::size_t depth = scope_.size();
    number(block);
    forget(depth);
  }

  // The condition's values are visible to the loop alone, not to its body.
  void repeat(ir::Node& loop) {
    const std::size_t depth = scope_.size();
    number(loop.blocks[0]);
    loop.operands[0] = same_[loop.operands[0]];
    forget(depth);
    scoped(loop.blocks[1]);
  }

  void forget(std::size_t depth) {
    while (scope_.size() > depth) {
      known_.erase(scope_.back());
      scope_.pop_back();
    }
  }

  // Whether another value stands for this one; may turn it into a constant first.
  bool replaced(ValueId id) {
    fold_node(kernel_.nodes[id]);
    const ir::Node& node = kernel_.nodes[id];
    if (const ValueId operand = identity(node); operand != kNoValue) {
      same_[id] = operand;
      return true;
    }
    auto operands = node.operands;
    if (commutes(node.op, operand_type(node)) && operands[1] < operands[0]) {
      std::swap(operands[0], operands[1]);
    }
    const Key key{node.op, node.type, node.axis, operands, node.index, node.memory, node.literal};
    const auto [known, inserted] = known_.try_emplace(key, id);
    if (!inserted) {
      same_[id] = known->second;
      return true;
    }
    scope_.push_back(key);
    return false;
  }

  Scalar operand_type(const ir::Node& node) const {
    return node.operand_count == 0 ? node.type : kernel_.nodes[node.operands[0]].type;
  }

  void fold_node(ir::Node& node) const {
    std::vector<Literal> literals;
    for (ValueId operand : node.inputs()) {
      const ir::Node& input = kernel_.nodes[operand];
      if (input.op != Op::Constant) return;
      literals.push_back({input.type, input.literal});
    }
    const auto bits = fold(node.op, node.type, literals);
    if (!bits) return;
    node.op = Op::Constant;
    node.literal = *bits;
    node.operand_count = 0;
    node.operands.fill(kNoValue);
  }

  bool is_constant(ValueId id, std::uint64_t bits) const {
    const ir::Node& node = kernel_.nodes[id];
    return node.op == Op::Constant && !is_float(node.type) && node.literal == bits;
  }

  // The operand that a node always equals, if there is one.
  ValueId identity(const ir::Node& node) const {
    const ValueId a = node.operands[0], b = node.operands[1];
    if (node.op == Op::Select) {
      if (is_constant(a, 1) || b == node.operands[2]) return b;
      return is_constant(a, 0) ? node.operands[2] : kNoValue;
    }
    if (is_float(node.type)) return kNoValue;
    switch (node.op) {
      case Op::Add:
      case Op::Or:
      case Op::Xor:
        if (is_constant(a, 0)) return b;
        return is_constant(b, 0) ? a : kNoValue;
      case Op::Sub:
      case Op::Shl:
      case Op::Shr:
      case Op::ShrLogical:
        return is_constant(b, 0) ? a : kNoValue;
      case Op::Mul:
        if (is_constant(a, 1) || is_constant(b, 0)) return b;
        return is_constant(b, 1) || is_constant(a, 0) ? a : kNoValue;
      case Op::Div:
        return is_constant(b, 1) ? a : kNoValue;
      case Op::And:
        if (is_constant(a, 0) || is_constant(b, all_ones(node.type))) return a;
        return is_constant(b, 0) || is_constant(a, all_ones(node.type)) ? b : kNoValue;
      default:
        return kNoValue;
    }
  }

  static std::uint64_t all_ones(Scalar type) {
    if (type == Scalar::Bool) return 1;
    return size_of(type) == 8 ? ~std::uint64_t{0} : 0xffffffff;
  }

  // Backwards, so that every use is seen before what it uses.
  void sweep(BlockId block) {
    std::vector<ValueId>& nodes = kernel_.blocks[block].nodes;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const ir::Node& node = kernel_.nodes[nodes[i]];
      if (!used_[nodes[i]] && (is_pure(node.op) || node.op == Op::VarGet)) {
        nodes[i] = kNoValue;
        continue;
      }
      for (ValueId operand : node.inputs()) used_[operand] = true;
      for (std::size_t nested = node.blocks.size(); nested-- > 0;) sweep(node.blocks[nested]);
    }
    std::erase(nodes, kNoValue);
  }

  ir::Kernel kernel_;
  std::vector<ValueId> same_;  // what stands for a value
  std::map<Key, ValueId> known_;
  std::vector<Key> scope_;  // the keys of `known_`, in order
  std::vector<bool> used_;
};

}  // namespace

ir::Kernel simplify(const ir::Kernel& kernel) {
  return Simplifier(kernel).run();
}

}  // namespace salvo::passes
