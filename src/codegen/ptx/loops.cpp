// Which loops are written out in PTX: the assembler unrolls little by itself.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/loops.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

namespace salvo::codegen::ptx {
namespace {

using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

bool leaves_early(const ir::Kernel& kernel, BlockId block) {
  return std::ranges::any_of(kernel.block(block).nodes, [&](ValueId value) {
    const Node& node = kernel.node(value);
    return node.op == Op::Break || node.op == Op::Continue ||
           std::ranges::any_of(node.blocks,
                               [&](BlockId inner) { return leaves_early(kernel, inner); });
  });
}

std::size_t size(const ir::Kernel& kernel, BlockId block) {
  std::size_t nodes = 0;
  for (ValueId value : kernel.block(block).nodes) {
    ++nodes;
    for (BlockId inner : kernel.node(value).blocks) nodes += size(kernel, inner);
  }
  return nodes;
}

}  // namespace

std::vector<std::int64_t> known_counters(const ir::Kernel& kernel, const Node& loop) {
  constexpr std::int64_t kMostRounds = 64;
  constexpr std::size_t kMostNodes = 1024;
  if (loop.unroll == 1 || leaves_early(kernel, loop.blocks[0])) return {};
  std::array<std::int64_t, 3> bounds{};
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Node& bound = kernel.node(loop.operands[i]);
    if (bound.op != Op::Constant || bound.type != Scalar::I32) return {};
    bounds[i] = static_cast<std::int32_t>(bound.literal);
  }
  const auto [first, limit, step] = bounds;
  if (step <= 0) return {};
  const bool down = loop.literal == 1;
  std::vector<std::int64_t> counters;
  std::int64_t at = first;
  for (; down ? at > limit : at < limit; at += down ? -step : step) {
    if (std::ssize(counters) == kMostRounds) return {};
    counters.push_back(at);
  }
  // A counter that wraps goes on.
  if (!std::in_range<std::int32_t>(at)) return {};
  if (counters.size() * size(kernel, loop.blocks[0]) > kMostNodes) return {};
  return counters;
}

bool runs_in_fours(const ir::Kernel& kernel, const Node& loop) {
  constexpr std::size_t kMostNodes = 64;
  constexpr std::uint64_t kLargestStep = 0x0fffffff;  // three of them fit 32 bits
  const Node& step = kernel.node(loop.operands[2]);
  const auto& body = kernel.block(loop.blocks[0]).nodes;
  return loop.unroll != 1 && loop.literal == 0 && step.op == Op::Constant &&
         step.type == Scalar::I32 && step.literal > 0 && step.literal <= kLargestStep &&
         !leaves_early(kernel, loop.blocks[0]) && size(kernel, loop.blocks[0]) <= kMostNodes &&
         std::ranges::none_of(body, [&](ValueId value) {
           const Op op = kernel.node(value).op;
           return op == Op::For || op == Op::While || op == Op::Barrier;
         });
}

}  // namespace salvo::codegen::ptx
