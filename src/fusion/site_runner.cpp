// Computes on the host which elements the threads of a launch store, by running what decides it.
// SPDX-License-Identifier: MIT
#include "fusion/site_runner.hpp"

#include <limits>

#include "passes/fold.hpp"

namespace salvo::fusion {
namespace {

using ir::kNone;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

}  // namespace

SiteRunner::SiteRunner(const ir::Kernel& kernel, const StoreSite& site,
                       const passes::LaunchFacts& facts)
    : kernel_(kernel), facts_(facts), place_(kernel.nodes.size(), kNone) {
  for (const PathStep& what : site.path) {
    Step step{what, {}};
    if (what.kind == PathStep::Kind::condition) {
      step.operands[0] = require(what.value, step.before);
    } else {
      const Node& loop = kernel.node(what.value);
      for (std::size_t k = 0; k < 3; ++k) {
        step.operands[k] = require(loop.operands[k], step.before);
      }
      step.type = kernel.node(loop.operands[0]).type;
      step.down = loop.literal != 0;
      step.counter = constant(0);
      varies_[step.counter] = true;
      place_[what.value] = step.counter;
    }
    steps_.push_back(std::move(step));
  }
  const ValueId index = kernel.node(site.store).operands[0];
  index_ = require(index, last_);
  index_type_ = kernel.node(index).type;
  execute(uniform_);
}

std::uint32_t SiteRunner::constant(std::uint64_t bits) {
  values_.push_back(bits);
  varies_.push_back(false);
  return static_cast<std::uint32_t>(values_.size() - 1);
}

std::uint32_t SiteRunner::require(ValueId id, std::vector<Instruction>& code) {
  if (place_[id] != kNone) return place_[id];
  const Node& node = kernel_.node(id);
  const auto known = [&](std::uint64_t bits) { return place_[id] = constant(bits); };
  switch (node.op) {
    case Op::Constant:
      return known(node.literal);
    case Op::Param:
      return known(passes::widened(kernel_.parameters[node.index].type,
                                   facts_.values[node.index]));
    case Op::Length:
      return known(facts_.values[kernel_.memories[node.memory].parameter]);
    case Op::BlockDim:
      return known(facts_.block[node.axis]);
    case Op::GridDim:
      return known(facts_.grid[node.axis]);
    case Op::ForIndex:
      return place_[id] = place_[node.operands[0]];
    default:
      break;
  }
  Instruction made{node.op, node.type, node.type, node.axis, 0, {}};
  bool varies = node.op == Op::ThreadIdx || node.op == Op::BlockIdx || node.op == Op::GlobalIdx;
  for (std::size_t k = 0; k < node.operand_count; ++k) {
    made.from[k] = require(node.operands[k], code);
    varies = varies || varies_[made.from[k]];
  }
  if (node.operand_count > 0) made.input = kernel_.node(node.operands[0]).type;
  made.to = place_[id] = constant(0);
  varies_[made.to] = varies;
  (varies ? code : uniform_).push_back(made);
  return made.to;
}

void SiteRunner::execute(const std::vector<Instruction>& code) {
  for (const Instruction& one : code) execute(one);
}

void SiteRunner::execute(const Instruction& one) {
  const auto bits = [&](std::size_t k) { return values_[one.from[k]]; };
  const auto word = [&](std::size_t k) { return static_cast<std::uint32_t>(bits(k)); };
  const auto integer = [&](std::size_t k) { return static_cast<std::int32_t>(bits(k)); };
  std::uint64_t& to = values_[one.to];
  switch (one.op) {
    case Op::ThreadIdx: to = thread_[one.axis]; return;
    case Op::BlockIdx: to = block_[one.axis]; return;
    case Op::GlobalIdx:
      to = static_cast<std::uint32_t>(block_[one.axis] * facts_.block[one.axis] + thread_[one.axis]);
      return;
    case Op::Select: to = bits(0) != 0 ? bits(1) : bits(2); return;
    case Op::Bitcast: to = bits(0); return;
    default: break;
  }
  // The common cases at full speed; the rest as the folder says, which is the same.
  if (one.input == Scalar::I32) {
    switch (one.op) {
      case Op::Add: to = word(0) + word(1); return;
      case Op::Sub: to = word(0) - word(1); return;
      case Op::Mul: to = word(0) * word(1); return;
      case Op::Lt: to = integer(0) < integer(1) ? 1 : 0; return;
      case Op::Le: to = integer(0) <= integer(1) ? 1 : 0; return;
      case Op::Gt: to = integer(0) > integer(1) ? 1 : 0; return;
      case Op::Ge: to = integer(0) >= integer(1) ? 1 : 0; return;
      case Op::Eq: to = word(0) == word(1) ? 1 : 0; return;
      case Op::And: to = word(0) & word(1); return;
      case Op::Or: to = word(0) | word(1); return;
      case Op::Xor: to = word(0) ^ word(1); return;
      default: break;
    }
  }
  std::array<passes::Literal, 3> literals;
  std::size_t count = 0;
  switch (one.op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Not:
    case Op::Cast: count = 1; break;
    default: count = 2;
  }
  for (std::size_t k = 0; k < count; ++k) literals[k] = {one.input, bits(k)};
  const auto folded = passes::fold(one.op, one.type, {literals.data(), count});
  if (!folded) {
    failed_ = true;
    return;
  }
  to = *folded;
}

std::int64_t SiteRunner::number(std::uint32_t place, Scalar type) const {
  const std::uint64_t bits = values_[place];
  return type == Scalar::I32 ? static_cast<std::int32_t>(bits) : static_cast<std::int64_t>(bits);
}

bool SiteRunner::turns(const Step& step, std::size_t next) {
  const std::int64_t limit = number(step.operands[1], step.type);
  const std::int64_t stride = number(step.operands[2], step.type);
  std::int64_t counter = number(step.operands[0], step.type);
  const bool has_sign = step.type == Scalar::I32 || step.type == Scalar::I64;
  const std::int64_t lowest = has_sign ? std::numeric_limits<std::int32_t>::min() : 0;
  const std::int64_t highest = std::numeric_limits<std::int32_t>::max();
  // A counter that stands still or might wrap runs for ever, as far as anyone here can tell.
  const bool ends = stride > 0 && stride < highest &&
                    (step.down ? limit >= lowest + stride - 1 : limit <= highest - stride);
  if (!ends || (!has_sign && (counter < 0 || limit < 0))) {
    failed_ = true;
    return false;
  }
  for (; step.down ? counter > limit : counter < limit; counter += step.down ? -stride : stride) {
    if (left_-- == 0) return false;
    values_[step.counter] = static_cast<std::uint64_t>(counter);
    if (step.type == Scalar::I32 || step.type == Scalar::U32) values_[step.counter] &= 0xffff'ffff;
    if (!walk(next)) return false;
  }
  return true;
}

bool SiteRunner::walk(std::size_t step) {
  for (; step < steps_.size(); ++step) {
    const Step& one = steps_[step];
    execute(one.before);
    if (one.what.kind == PathStep::Kind::loop) return turns(one, step + 1);
    if ((values_[one.operands[0]] != 0) != one.what.taken) return true;
  }
  execute(last_);
  return !failed_ && (*stored_)(number(index_, index_type_));
}

bool SiteRunner::run(std::uint64_t most, const std::function<bool(std::int64_t)>& stored) {
  stored_ = &stored;
  left_ = most;
  const auto& grid = facts_.grid;
  const auto& block = facts_.block;
  for (block_[2] = 0; block_[2] < grid[2]; ++block_[2]) {
    for (block_[1] = 0; block_[1] < grid[1]; ++block_[1]) {
      for (block_[0] = 0; block_[0] < grid[0]; ++block_[0]) {
        for (thread_[2] = 0; thread_[2] < block[2]; ++thread_[2]) {
          for (thread_[1] = 0; thread_[1] < block[1]; ++thread_[1]) {
            for (thread_[0] = 0; thread_[0] < block[0]; ++thread_[0]) {
              if (!walk(0) || failed_) return false;
            }
          }
        }
      }
    }
  }
  return !failed_;
}

}  // namespace salvo::fusion
