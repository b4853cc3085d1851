// How a block's threads are run: regions between barriers, and what is kept from one to the next.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/llvm/tree.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::llvm {

/// Work that all threads of a block do before any of them goes on: a loop over the threads, in
/// vectors. What needs doing once for a block only is hoisted out of it.
struct Region {
  std::vector<ir::ValueId> nodes;    // in order, but for leaves
  std::vector<ir::ValueId> imports;  // values of other regions that this one reads, operands first
};

/// A step of a block that is executed once for a whole block of threads.
struct Step {
  std::uint32_t region = ir::kNone;  // a region to run, or else
  ir::ValueId node = ir::kNoValue;   // a control node or jump that all threads take alike
};

enum class Storage : std::uint8_t {
  Once,     // one for a block of threads
  Region,   // one a thread, within one region
  Spilled,  // one a thread, across barriers
};

/// A kernel without barriers is one region. Otherwise the control nodes around barriers, which all
/// threads take alike, are executed once for the block, and each stretch between barriers is a
/// region; only what lives across one is spilled to memory. The kernel must have no Return if it
/// has a barrier, and must outlive the plan.
class Plan {
 public:
  explicit Plan(const ir::Kernel& kernel);

  const Tree& tree() const noexcept { return tree_; }
  const std::vector<Step>& steps(ir::BlockId block) const { return steps_[block]; }
  const Region& region(std::uint32_t id) const { return regions_[id]; }
  std::size_t regions() const noexcept { return regions_.size(); }
  bool open(ir::BlockId block) const { return open_[block]; }

  /// Whether a value is computed once for a block of threads.
  bool once(ir::ValueId id) const { return once_[id]; }
  /// Whether a value of one region is stored for another one. Others that are read elsewhere are
  /// cheap enough to be computed again.
  bool spilled(ir::ValueId id) const { return spilled_[id]; }
  Storage storage(std::uint32_t variable) const { return storage_[variable]; }
  Storage array_storage(ir::MemoryId local) const { return array_storage_[local]; }
  std::uint32_t uses(ir::ValueId id) const { return uses_[id]; }

 private:
  void find_open();
  void cut(ir::BlockId block);
  void find_once();
  void find_once(ir::BlockId block);
  bool computed_once(ir::ValueId id, bool may_load) const;
  void place_variables();
  void place_arrays();
  bool carried(std::uint32_t region, const std::vector<ir::ValueId>& accesses) const;
  void find_imports();
  void import(Region& region, std::uint32_t id, ir::ValueId value);
  bool cheap(ir::ValueId id, int& budget) const;

  const ir::Kernel& kernel_;
  Tree tree_;
  std::vector<bool> open_;       // blocks
  std::vector<bool> open_node_;  // control nodes and jumps executed once for a block
  std::vector<std::vector<Step>> steps_;
  std::vector<Region> regions_;
  std::vector<bool> once_;
  std::vector<bool> spilled_;
  std::vector<Storage> storage_;
  std::vector<Storage> array_storage_;
  std::vector<std::uint32_t> region_of_;
  std::vector<std::uint32_t> uses_;
};

}  // namespace salvo::codegen::llvm
