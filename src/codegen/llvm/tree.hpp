// Where each node of a kernel stands: the blocks around it, and what its blocks hold.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::llvm {

/// The nesting of a kernel's blocks. The kernel must outlive it.
class Tree {
 public:
  explicit Tree(const ir::Kernel& kernel);

  ir::BlockId block_of(ir::ValueId node) const { return block_of_[node]; }
  /// The control node that owns a block; kNoValue for the body.
  ir::ValueId owner_of(ir::BlockId block) const { return owner_of_[block]; }
  /// The node of `ancestor` that is `node` or encloses it; kNoValue if there is none.
  ir::ValueId within(ir::BlockId ancestor, ir::ValueId node) const;
  /// The innermost block that holds both.
  ir::BlockId common(ir::BlockId a, ir::BlockId b) const;
  /// The loop that a Break or Continue leaves.
  ir::ValueId loop_of(ir::ValueId jump) const;

  /// Calls `visit` for `node` and everything nested in it, in order.
  void each(ir::ValueId node, const std::function<void(ir::ValueId)>& visit) const;
  bool any(ir::ValueId node, const std::function<bool(const ir::Node&)>& test) const;
  /// Nodes that are `node` or nested in it.
  std::uint32_t size(ir::ValueId node) const { return size_[node]; }
  std::uint32_t block_size(ir::BlockId block) const;

 private:
  std::uint32_t walk(ir::BlockId block, ir::ValueId owner, std::uint32_t depth);

  const ir::Kernel& kernel_;
  std::vector<ir::BlockId> block_of_;
  std::vector<ir::ValueId> owner_of_;
  std::vector<std::uint32_t> depth_;  // of a block
  std::vector<std::uint32_t> size_;
};

}  // namespace salvo::codegen::llvm
