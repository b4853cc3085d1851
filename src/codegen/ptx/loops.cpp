// Which loops run several rounds at a time in PTX: the assembler unrolls little by itself.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/loops.hpp"

#include <algorithm>
#include <cstddef>

namespace salvo::codegen::ptx {
namespace {

using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// Without loops, barriers and the author's own code, and never left early.
bool is_plain(const ir::Kernel& kernel, BlockId block) {
  return std::ranges::all_of(kernel.block(block).nodes, [&](ValueId value) {
    const Node& node = kernel.node(value);
    return node.op != Op::Break && node.op != Op::Continue && node.op != Op::For &&
           node.op != Op::While && node.op != Op::Barrier && !ir::is_user_code(node.op) &&
           std::ranges::all_of(node.blocks, [&](BlockId inner) { return is_plain(kernel, inner); });
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

bool runs_in_fours(const ir::Kernel& kernel, const Node& loop) {
  constexpr std::size_t kMostNodes = 64;
  constexpr std::uint64_t kLargestStep = 0x0fffffff;  // three of them fit 32 bits
  const Node& step = kernel.node(loop.operands[2]);
  const bool steps_up =
      step.op != Op::Constant || (step.literal > 0 && step.literal <= kLargestStep);
  return loop.unroll != 1 && loop.literal == 0 && step.type == Scalar::I32 && steps_up &&
         is_plain(kernel, loop.blocks[0]) && size(kernel, loop.blocks[0]) <= kMostNodes;
}

Strides::Strides(const ir::Kernel& kernel, ValueId loop) : kernel_(kernel), loop_(loop) {
  const Node& step = kernel.node(kernel.node(loop).operands[2]);
  if (step.op == Op::Constant) step_ = step.literal;
  const auto enter = [&](const auto& self, BlockId block, bool top) -> void {
    for (ValueId id : kernel.block(block).nodes) {
      const Node& node = kernel.node(id);
      inside_.insert(id);
      if (top) tops_.insert(&node);
      for (BlockId inner : node.blocks) self(self, inner, false);
    }
  };
  enter(enter, kernel.node(loop).blocks[0], true);
}

std::optional<std::uint64_t> Strides::growth(ValueId value) const {
  const Node& node = kernel_.node(value);
  if (node.op == Op::ForIndex && node.operands[0] == loop_) return step_;
  // Leaves are made where they are read, wherever the IR lists them.
  if (ir::is_leaf(node.op)) {
    return node.operand_count == 0 || node.op == Op::ForIndex ? std::optional<std::uint64_t>(0)
                                                              : std::nullopt;
  }
  if (is_invariant(value)) return 0;
  if (!ir::is_integer(node.type)) return std::nullopt;
  const auto a = node.operand_count > 0 ? growth(node.operands[0]) : std::nullopt;
  if (!a) return std::nullopt;
  switch (node.op) {
    case Op::Add:
    case Op::Sub: {
      const auto b = growth(node.operands[1]);
      if (!b) return std::nullopt;
      return node.op == Op::Add ? *a + *b : *a - *b;
    }
    case Op::Mul: {
      const Node& factor = kernel_.node(node.operands[1]);
      if (factor.op != Op::Constant) return std::nullopt;
      return *a * factor.literal;
    }
    case Op::Cast: {
      // The counter itself does not overflow while several rounds are left; what is made of it may.
      const Node& from = kernel_.node(node.operands[0]);
      if (!ir::is_integer(from.type)) return std::nullopt;
      const bool widens = ir::size_of(node.type) > ir::size_of(from.type);
      if (widens && from.op != Op::ForIndex && *a != 0) return std::nullopt;
      return a;
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> Strides::of(const Node& access) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;  // bytes of three rounds fit an offset
  if (!tops_.contains(&access)) return std::nullopt;
  if (const ValueId slot = kernel_.slot_of(access);
      slot != ir::kNoValue && !is_invariant(slot) && kernel_.node(slot).op != Op::Constant) {
    return std::nullopt;
  }
  const ValueId index = access.operands[0];
  const Scalar type = kernel_.node(index).type;
  if (type != Scalar::I32 && type != Scalar::I64) return std::nullopt;
  const auto grown = growth(index);
  if (!grown) return std::nullopt;
  const std::int64_t stride =
      type == Scalar::I32 ? static_cast<std::int32_t>(*grown) : static_cast<std::int64_t>(*grown);
  const auto bytes = static_cast<std::int64_t>(kernel_.memories[access.memory].element.size);
  if (stride < 0 || stride > kMost || stride * bytes > kMost) return std::nullopt;
  return stride;
}

}  // namespace salvo::codegen::ptx
