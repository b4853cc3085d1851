// One walk over a kernel before it is printed: what must be declared, and where.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/scan.hpp"

#include <utility>

#include "codegen/c_family/printer.hpp"

namespace salvo::codegen::c_family {
namespace {

using ir::BlockId;
using ir::kNone;
using ir::Node;
using ir::Op;
using ir::ValueId;

class Scanner {
 public:
  explicit Scanner(const ir::Kernel& kernel) : kernel_(kernel) {}

  Scan run() {
    result_.written.assign(kernel_.memories.size(), false);
    result_.for_matrices.assign(kernel_.memories.size(), false);
    uses_.resize(kernel_.variables.size());
    places_.resize(kernel_.blocks.size());
    block(kernel_.body);
    result_.variables.resize(kernel_.blocks.size());
    for (std::uint32_t i = 0; i < uses_.size(); ++i) {
      const BlockId home = uses_[i].home;
      if (home != kNone) result_.variables[outside_loops(home, i)].push_back(i);
    }
    return std::move(result_);
  }

 private:
  struct Place {
    BlockId parent = kNone;
    bool in_loop = false;  // this block is the body or condition of a loop
    unsigned depth = 0;
  };
  /// How a variable is used.
  struct Use {
    BlockId first_in = kNone;  // the block of what touches it first, in program order
    Op first = Op::VarGet;     // what that is
    BlockId home = kNone;      // the innermost block around all that touches it
  };

  void block(BlockId id) {
    for (ValueId value : kernel_.block(id).nodes) node(id, value);
  }

  void node(BlockId in, ValueId id) {
    const Node& n = kernel_.node(id);
    if (ir::is_position(n.op) || n.op == Op::WarpSize) result_.positions.emplace(n.op, n.axis);
    result_.features.warp |= ir::is_warp(n.op) || n.op == Op::LaneId || n.op == Op::WarpSize;
    if (ir::writes_memory(n.op)) result_.written[n.memory] = true;
    result_.features.matrices |= ir::is_matrix(n.op);
    if (ir::is_matrix(n.op) && n.memory != kNone) result_.for_matrices[n.memory] = true;
    if (n.op == Op::Native) {
      for (const ir::MemoryId memory : kernel_.user_calls[n.index].arguments) {
        if (memory != kNone) result_.written[memory] = !kernel_.memories[memory].read_only;
      }
    }
    if (ir::is_atomic(n.op) && ir::size_of(n.type) == 8) result_.features.atomics_i64 = true;
    result_.features.independent_loops |= n.op == Op::For && n.unroll == ir::kIndependent;
    slot(n);
    if (n.op == Op::VarGet || n.op == Op::VarSet) {
      Use& use = uses_[n.index];
      if (use.home == kNone) use = {in, n.op, in};
      use.home = common(use.home, in);
    }
    for (BlockId inner : n.blocks) {
      places_[inner] = {in, n.op == Op::For || n.op == Op::While, places_[in].depth + 1};
      block(inner);
    }
  }

  void slot(const Node& n) {
    const ValueId slot = kernel_.slot_of(n);
    if (slot == ir::kNoValue || kernel_.node(slot).op == Op::Constant) return;
    const std::uint32_t parameter =
        n.op == Op::Param ? n.index : kernel_.memories[n.memory].parameter;
    if (kernel_.parameters[parameter].slots > 1) result_.slots[slot].insert(parameter);
  }

  /// The innermost block that encloses both.
  BlockId common(BlockId a, BlockId b) const {
    while (a != b) {
      if (places_[a].depth < places_[b].depth) std::swap(a, b);
      a = places_[a].parent;
    }
    return a;
  }

  /// Moves a declaration out of every loop that may carry the variable's value round.
  BlockId outside_loops(BlockId home, std::uint32_t variable) const {
    BlockId loop = home;
    while (loop != kNone && !places_[loop].in_loop) loop = places_[loop].parent;
    if (loop == kNone || set_first(home, variable)) return home;
    return outside_loops(places_[loop].parent, variable);
  }

  /// Whether each run of the block, around all that touches the variable, sets it before anything
  /// else touches it.
  bool set_first(BlockId id, std::uint32_t variable) const {
    return uses_[variable].first_in == id && uses_[variable].first == Op::VarSet;
  }

  const ir::Kernel& kernel_;
  Scan result_;
  std::vector<Place> places_;
  std::vector<Use> uses_;  // by variable
};

}  // namespace

Scan scan(const ir::Kernel& kernel) {
  return Scanner(kernel).run();
}

std::vector<bool> reads_length(const ir::Kernel& kernel) {
  std::vector<bool> result(kernel.parameters.size(), false);
  for (const Node& n : kernel.nodes) {
    if (n.op == Op::Length) result[kernel.memories[n.memory].parameter] = true;
  }
  return result;
}

}  // namespace salvo::codegen::c_family
