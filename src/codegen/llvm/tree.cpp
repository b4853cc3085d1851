// Where each node of a kernel stands: the blocks around it, and what its blocks hold.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/tree.hpp"

namespace salvo::codegen::llvm {

using ir::BlockId;
using ir::kNone;
using ir::kNoValue;
using ir::Op;
using ir::ValueId;

Tree::Tree(const ir::Kernel& kernel)
    : kernel_(kernel),
      block_of_(kernel.nodes.size(), kNone),
      owner_of_(kernel.blocks.size(), kNoValue),
      depth_(kernel.blocks.size(), 0),
      size_(kernel.nodes.size(), 1) {
  walk(kernel.body, kNoValue, 0);
}

std::uint32_t Tree::walk(BlockId block, ValueId owner, std::uint32_t depth) {
  owner_of_[block] = owner;
  depth_[block] = depth;
  std::uint32_t total = 0;
  for (ValueId node : kernel_.block(block).nodes) {
    block_of_[node] = block;
    for (BlockId nested : kernel_.node(node).blocks) size_[node] += walk(nested, node, depth + 1);
    total += size_[node];
  }
  return total;
}

std::uint32_t Tree::block_size(BlockId block) const {
  std::uint32_t total = 0;
  for (ValueId node : kernel_.block(block).nodes) total += size_[node];
  return total;
}

ValueId Tree::within(BlockId ancestor, ValueId node) const {
  while (node != kNoValue && block_of_[node] != ancestor) node = owner_of_[block_of_[node]];
  return node;
}

BlockId Tree::common(BlockId a, BlockId b) const {
  while (a != b) {
    BlockId& deeper = depth_[a] >= depth_[b] ? a : b;
    deeper = block_of_[owner_of_[deeper]];
  }
  return a;
}

ValueId Tree::loop_of(ValueId jump) const {
  ValueId node = owner_of_[block_of_[jump]];
  while (kernel_.node(node).op != Op::For && kernel_.node(node).op != Op::While) {
    node = owner_of_[block_of_[node]];
  }
  return node;
}

void Tree::each(ValueId node, const std::function<void(ValueId)>& visit) const {
  visit(node);
  for (BlockId block : kernel_.node(node).blocks) {
    for (ValueId nested : kernel_.block(block).nodes) each(nested, visit);
  }
}

bool Tree::any(ValueId node, const std::function<bool(const ir::Node&)>& test) const {
  bool found = false;
  each(node, [&](ValueId id) { found = found || test(kernel_.node(id)); });
  return found;
}

}  // namespace salvo::codegen::llvm
