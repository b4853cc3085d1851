// Indexes and guards as affine forms of a thread's position, with the numbers of one launch filled
// in.
// SPDX-License-Identifier: MIT
#include "passes/affine.hpp"

#include <algorithm>
#include <limits>

#include "passes/fold.hpp"

namespace salvo::passes {
namespace {

using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// Forms stay this small, so that sums of a few never overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 58;

bool small(std::int64_t value) noexcept {
  return value > -kMost && value < kMost;
}

/// a * b, or nothing if that is not small.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || !small(result)) return std::nullopt;
  return result;
}

std::optional<Affine> scaled_sum(const Affine& a, const Affine& b, std::int64_t times_b) noexcept {
  Affine result;
  const auto add = [&](std::int64_t x, std::int64_t y, std::int64_t& to) {
    const auto scaled = product(y, times_b);
    if (!scaled || !small(x + *scaled)) return false;
    to = x + *scaled;
    return true;
  };
  if (!add(a.constant, b.constant, result.constant)) return std::nullopt;
  for (std::size_t v = 0; v < Affine::kVariables; ++v) {
    if (!add(a.factor[v], b.factor[v], result.factor[v])) return std::nullopt;
  }
  return result;
}

Affine constant(std::int64_t value) {
  Affine form;
  form.constant = value;
  return form;
}

/// A literal of an integer type as a number; none if it has no small one.
std::optional<std::int64_t> number(Scalar type, std::uint64_t bits) noexcept {
  switch (type) {
    case Scalar::Bool:
      return bits & 1;
    case Scalar::I32:
      return static_cast<std::int32_t>(bits);
    case Scalar::U32:
      return static_cast<std::uint32_t>(bits);
    case Scalar::I64:
    case Scalar::U64: {
      const auto value = static_cast<std::int64_t>(bits);
      if (!small(value) || (type == Scalar::U64 && value < 0)) return std::nullopt;
      return value;
    }
    default:
      return std::nullopt;
  }
}

Range limits(Scalar type) noexcept {
  switch (type) {
    case Scalar::I32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case Scalar::U32:
      return {0, std::numeric_limits<std::uint32_t>::max()};
    case Scalar::I64:
      return {-kMost, kMost};
    case Scalar::U64:
      return {0, kMost};
    case Scalar::Bool:
      return {0, 1};
    default:
      return {};
  }
}

}  // namespace

std::uint64_t widened(Scalar stored, std::uint64_t bits) noexcept {
  switch (stored) {
    case Scalar::I8:
      return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits));
    case Scalar::I16:
      return static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
    case Scalar::Bool:
    case Scalar::U8:
      return bits & 0xff;
    case Scalar::U16:
      return bits & 0xffff;
    case Scalar::I32:
    case Scalar::U32:
      return bits & 0xffff'ffff;
    default:
      return bits;
  }
}

bool Affine::is_constant() const noexcept {
  return std::ranges::all_of(factor, [](std::int64_t one) { return one == 0; });
}

AffineForms::AffineForms(const ir::Kernel& kernel, const LaunchFacts& facts)
    : kernel_(kernel), facts_(facts) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ranges_[axis] = {0, std::int64_t{facts.block[axis]} - 1};
    ranges_[3 + axis] = {0, std::int64_t{facts.grid[axis]} - 1};
  }
  for (std::size_t v = 6; v < Affine::kVariables; ++v) ranges_[v] = {0, 0};
}

Range AffineForms::bounds(const Affine& form) const noexcept {
  Range result{form.constant, form.constant};
  for (std::size_t v = 0; v < Affine::kVariables; ++v) {
    if (form.factor[v] == 0 || ranges_[v].empty()) continue;
    const auto a = product(form.factor[v], ranges_[v].low);
    const auto b = product(form.factor[v], ranges_[v].high);
    if (!a || !b) return {-kMost * 2, kMost * 2};
    result.low += std::min(*a, *b);
    result.high += std::max(*a, *b);
    if (!small(result.low) || !small(result.high)) return {-kMost * 2, kMost * 2};
  }
  return result;
}

bool AffineForms::fits(const Affine& form, Scalar type) const noexcept {
  const Range have = bounds(form), allowed = limits(type);
  return have.low >= allowed.low && have.high <= allowed.high;
}

std::optional<Affine> AffineForms::form(ValueId id) {
  if (--budget_ < 0) return std::nullopt;
  std::optional<Affine> result = compute(id);
  if (result && !fits(*result, kernel_.node(id).type)) return std::nullopt;
  return result;
}

std::optional<Affine> AffineForms::compute(ValueId id) {
  const Node& node = kernel_.node(id);
  if (ir::is_float(node.type)) return std::nullopt;
  const auto literal = [&](std::uint64_t bits) -> std::optional<Affine> {
    const auto value = number(node.type, bits);
    if (!value) return std::nullopt;
    return constant(*value);
  };
  Affine result;
  switch (node.op) {
    case Op::Constant:
      return literal(node.literal);
    case Op::Param:
      if (kernel_.slot_of(node) != ir::kNoValue) return std::nullopt;
      return literal(widened(kernel_.parameters[node.index].type, facts_.values[node.index]));
    case Op::Length:
      if (kernel_.slot_of(node) != ir::kNoValue) return std::nullopt;
      return literal(facts_.values[kernel_.memories[node.memory].parameter]);
    case Op::ThreadIdx:
      result.factor[node.axis] = 1;
      return result;
    case Op::BlockIdx:
      result.factor[3 + node.axis] = 1;
      return result;
    case Op::GlobalIdx:
      result.factor[node.axis] = 1;
      result.factor[3 + node.axis] = facts_.block[node.axis];
      return result;
    case Op::BlockDim:
      return constant(facts_.block[node.axis]);
    case Op::GridDim:
      return constant(facts_.grid[node.axis]);
    case Op::ForIndex: {
      const auto loop = std::ranges::find(loops_, node.operands[0], &Loop::node);
      if (loop == loops_.end()) return std::nullopt;
      return loop->counter;
    }
    default:
      return ir::is_pure(node.op) ? combine(node) : std::nullopt;
  }
}

std::optional<Affine> AffineForms::combine(const Node& node) {
  std::array<Affine, 4> inputs;
  bool constants = true;
  for (std::size_t k = 0; k < node.operand_count; ++k) {
    const auto input = form(node.operands[k]);
    if (!input) return std::nullopt;
    inputs[k] = *input;
    constants = constants && input->is_constant();
  }
  if (constants) return folded(node, {inputs.data(), node.operand_count});
  switch (node.op) {
    case Op::Add:
      return scaled_sum(inputs[0], inputs[1], 1);
    case Op::Sub:
      return scaled_sum(inputs[0], inputs[1], -1);
    case Op::Neg:
      return scaled_sum({}, inputs[0], -1);
    case Op::Mul:
      if (inputs[0].is_constant()) return scaled_sum({}, inputs[1], inputs[0].constant);
      if (inputs[1].is_constant()) return scaled_sum({}, inputs[0], inputs[1].constant);
      return std::nullopt;
    case Op::Shl: {
      const auto width = static_cast<std::int64_t>(ir::size_of(node.type) * 8);
      if (!inputs[1].is_constant() || inputs[1].constant < 0 || inputs[1].constant >= width - 1) {
        return std::nullopt;
      }
      return scaled_sum({}, inputs[0], std::int64_t{1} << inputs[1].constant);
    }
    case Op::Cast:
      return ir::is_integer(node.type) ? std::optional(inputs[0]) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Affine> AffineForms::folded(const Node& node, std::span<const Affine> inputs) const {
  std::array<Literal, 4> literals;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Scalar type = kernel_.node(node.operands[k]).type;
    auto bits = static_cast<std::uint64_t>(inputs[k].constant);
    if (ir::size_of(type) == 4) bits &= 0xffff'ffff;
    literals[k] = {type, bits};
  }
  const auto bits = fold(node.op, node.type, {literals.data(), inputs.size()});
  if (!bits) return std::nullopt;
  const auto value = number(node.type, *bits);
  if (!value) return std::nullopt;
  return constant(*value);
}

bool AffineForms::constrain(ValueId condition, bool taken, std::vector<Affine>& constraints) {
  const Node& node = kernel_.node(condition);
  if (node.op == Op::Not) return constrain(node.operands[0], !taken, constraints);
  if ((node.op == Op::And && taken) || (node.op == Op::Or && !taken)) {
    return constrain(node.operands[0], taken, constraints) &&
           constrain(node.operands[1], taken, constraints);
  }
  if (const auto known = form(condition); known && known->is_constant()) {
    // Decided for all threads alike: nothing to add, or nobody comes here.
    constraints.push_back(constant((known->constant != 0) == taken ? 0 : -1));
    return true;
  }
  if (!ir::is_comparison(node.op)) return false;
  const auto a = form(node.operands[0]), b = form(node.operands[1]);
  if (!a || !b) return false;
  // x < y is y - x - 1 >= 0.
  const auto less = [&](const Affine& x, const Affine& y, std::int64_t strict) {
    auto difference = scaled_sum(y, x, -1);
    if (!difference) return false;
    difference->constant -= strict;
    constraints.push_back(*difference);
    return true;
  };
  switch (node.op) {
    case Op::Lt:
      return taken ? less(*a, *b, 1) : less(*b, *a, 0);
    case Op::Le:
      return taken ? less(*a, *b, 0) : less(*b, *a, 1);
    case Op::Gt:
      return taken ? less(*b, *a, 1) : less(*a, *b, 0);
    case Op::Ge:
      return taken ? less(*b, *a, 0) : less(*a, *b, 1);
    case Op::Eq:
    case Op::Ne:
      return taken == (node.op == Op::Eq) && less(*a, *b, 0) && less(*b, *a, 0);
    default:
      return false;
  }
}

bool AffineForms::enter(ValueId loop, std::vector<Affine>& constraints) {
  const Node& node = kernel_.node(loop);
  if (loops_.size() == Affine::kLoops || node.literal != 0) return false;
  const auto first = form(node.operands[0]), limit = form(node.operands[1]),
             step = form(node.operands[2]);
  if (!first || !limit || !step || !step->is_constant() || step->constant < 1) return false;
  const std::size_t variable = 6 + loops_.size();
  const std::int64_t longest = bounds(*limit).high - bounds(*first).low;
  const std::int64_t turns = longest <= 0 ? 0 : (longest - 1) / step->constant + 1;
  ranges_[variable] = {0, turns - 1};

  Affine counter = *first;
  counter.factor[variable] = step->constant;
  // The counter takes one more step at the end, which must not wrap.
  Affine next = counter;
  next.constant += step->constant;
  const Scalar type = kernel_.node(node.operands[0]).type;
  if (!fits(counter, type) || !fits(next, type)) return false;
  auto below = scaled_sum(*limit, counter, -1);
  if (!below) return false;
  below->constant -= 1;
  constraints.push_back(*below);
  loops_.push_back({loop, counter});
  return true;
}

}  // namespace salvo::passes
