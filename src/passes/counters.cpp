// Whether the counter of a For may wrap: compilers tend to take for granted that none does.
// SPDX-License-Identifier: MIT
#include "passes/counters.hpp"

#include <cstdint>

namespace salvo::passes {
namespace {

using ir::Node;
using ir::Op;
using ir::Scalar;

/// The largest number of a type, or the lowest, in 64 bits.
std::uint64_t end_of(Scalar type, bool lowest) {
  const unsigned bits = 8 * static_cast<unsigned>(ir::size_of(type));
  if (!ir::is_signed(type)) return lowest ? 0 : ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t largest = ~std::uint64_t{0} >> (65 - bits);
  return lowest ? ~largest : largest;
}

std::uint64_t widened(const Node& constant) {
  if (ir::size_of(constant.type) == 8) return constant.literal;
  const auto word = static_cast<std::uint32_t>(constant.literal);
  return ir::is_signed(constant.type) ? static_cast<std::uint64_t>(static_cast<std::int32_t>(word))
                                      : word;
}

}  // namespace

std::optional<std::uint64_t> constant_step(const ir::Kernel& kernel, const Node& loop) {
  const Node& step = kernel.node(loop.operands[2]);
  if (step.op != Op::Constant) return std::nullopt;
  const std::uint64_t by = widened(step);
  if (by == 0 || (ir::is_signed(step.type) && static_cast<std::int64_t>(by) < 0))
    return std::nullopt;
  return by;
}

bool counter_may_wrap(const ir::Kernel& kernel, const Node& loop) {
  const Node& limit = kernel.node(loop.operands[1]);
  const auto step = constant_step(kernel, loop);
  if (step == 1) return false;
  if (!step || limit.op != Op::Constant) return true;
  const bool down = loop.literal == 1;
  const std::uint64_t end = end_of(limit.type, down);
  const std::uint64_t from = widened(limit);
  // The counter may stand one short of the limit.
  return *step - 1 > (down ? from - end : end - from);
}

}  // namespace salvo::passes
