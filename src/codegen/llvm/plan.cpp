// How a block's threads are run: regions between barriers, and what is kept from one to the next.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/plan.hpp"

#include <algorithm>

namespace salvo::codegen::llvm {

using ir::BlockId;
using ir::kNone;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::ValueId;

namespace {

bool is_jump(Op op) {
  return op == Op::Break || op == Op::Continue;
}

/// Leaves that differ between the threads of a block.
bool differs(Op op) {
  return op == Op::ThreadIdx || op == Op::GlobalIdx || op == Op::LaneId;
}

bool changes_memory(Op op) {
  return op == Op::Store || op == Op::Fence || ir::is_atomic(op);
}

}  // namespace

Plan::Plan(const ir::Kernel& kernel)
    : kernel_(kernel),
      tree_(kernel),
      open_(kernel.blocks.size(), false),
      open_node_(kernel.nodes.size(), false),
      steps_(kernel.blocks.size()),
      once_(kernel.nodes.size(), false),
      spilled_(kernel.nodes.size(), false),
      region_of_(kernel.nodes.size(), kNone),
      uses_(kernel.nodes.size(), 0) {
  for (const Node& node : kernel.nodes) {
    if (node.op == Op::ForIndex) continue;
    for (ValueId operand : node.inputs()) ++uses_[operand];
  }
  find_open();
  for (BlockId block = 0; block < kernel.blocks.size(); ++block) {
    if (open_[block]) cut(block);
  }
  find_once();
  place_variables();
  place_arrays();
  find_imports();
}

/// Control nodes around barriers, and those that decide about jumps out of such loops.
void Plan::find_open() {
  open_[kernel_.body] = true;
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    if (kernel_.nodes[id].op != Op::Barrier) continue;
    for (ValueId at = tree_.owner_of(tree_.block_of(id)); at != kNoValue;
         at = tree_.owner_of(tree_.block_of(at))) {
      open_node_[at] = true;
    }
  }
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    if (!is_jump(kernel_.nodes[id].op) || !open_node_[tree_.loop_of(id)]) continue;
    for (ValueId at = id; !open_node_[at]; at = tree_.owner_of(tree_.block_of(at))) {
      open_node_[at] = true;
    }
  }
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    if (!open_node_[id]) continue;
    for (BlockId block : kernel_.nodes[id].blocks) open_[block] = true;
  }
}

void Plan::cut(BlockId block) {
  std::uint32_t current = kNone;
  for (ValueId id : kernel_.block(block).nodes) {
    if (kernel_.node(id).op == Op::Barrier) {
      current = kNone;
    } else if (open_node_[id]) {
      current = kNone;
      steps_[block].push_back({kNone, id});
    } else {
      if (current == kNone) {
        current = static_cast<std::uint32_t>(regions_.size());
        regions_.emplace_back();
        steps_[block].push_back({current, kNoValue});
      }
      regions_[current].nodes.push_back(id);
      tree_.each(id, [&](ValueId nested) { region_of_[nested] = current; });
    }
  }
}

/// What is computed once follows from which variables are, and the other way round: every candidate
/// is taken for one until an assignment says otherwise.
void Plan::find_once() {
  storage_.assign(kernel_.variables.size(), Storage::Once);
  for (const Node& node : kernel_.nodes) {
    const auto id = static_cast<ValueId>(&node - kernel_.nodes.data());
    if (node.op == Op::VarSet && !open_[tree_.block_of(id)]) {
      storage_[node.index] = Storage::Region;
    }
  }
  bool changed = true;
  while (changed) {
    changed = false;
    std::fill(once_.begin(), once_.end(), false);
    find_once(kernel_.body);
    for (const Node& node : kernel_.nodes) {
      if (node.op != Op::VarSet || storage_[node.index] != Storage::Once) continue;
      if (once_[static_cast<ValueId>(&node - kernel_.nodes.data())]) continue;
      storage_[node.index] = Storage::Region;
      changed = true;
    }
  }
  for (Region& region : regions_) {
    // Leaves are made where they are used.
    std::erase_if(region.nodes, [&](ValueId id) { return ir::is_leaf(kernel_.node(id).op); });
    for (ValueId id : region.nodes) {
      if (once_[id]) region_of_[id] = kNone;
    }
  }
}

void Plan::find_once(BlockId block) {
  // A load is not moved ahead of what may change its element; and no access is made for threads
  // that may all have returned.
  bool may_load = true;
  for (ValueId id : kernel_.block(block).nodes) {
    const Node& node = kernel_.node(id);
    if (node.op == Op::Barrier || open_node_[id]) may_load = true;
    once_[id] = computed_once(id, may_load);
    if (open_node_[id]) {
      for (BlockId nested : node.blocks) find_once(nested);
    } else if (tree_.any(
                   id, [](const Node& n) { return changes_memory(n.op) || n.op == Op::Return; })) {
      may_load = false;
    }
  }
}

bool Plan::computed_once(ValueId id, bool may_load) const {
  const Node& node = kernel_.node(id);
  const auto operands_are = [&] {
    const auto inputs = node.inputs();
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return once_[v]; });
  };
  switch (node.op) {
    case Op::ForIndex:
      return open_node_[node.operands[0]];
    case Op::VarGet:
      return storage_[node.index] == Storage::Once;
    case Op::VarSet:
      return storage_[node.index] == Storage::Once && once_[node.operands[0]];
    case Op::Load:
      return may_load && kernel_.memories[node.memory].space != ir::Space::Local && operands_are();
    default:
      return ir::is_pure(node.op) && !differs(node.op) && operands_are();
  }
}

/// Whether what the accesses touch may hold something from an earlier run of the region.
bool Plan::carried(std::uint32_t region, const std::vector<ValueId>& accesses) const {
  const ValueId first = accesses.front();
  const BlockId block =
      tree_.block_of(regions_[region].nodes.empty() ? first : regions_[region].nodes[0]);
  bool in_loop = false;
  for (ValueId at = tree_.owner_of(block); at != kNoValue;
       at = tree_.owner_of(tree_.block_of(at))) {
    const Op op = kernel_.node(at).op;
    in_loop |= op == Op::For || op == Op::While;
  }
  // Set first thing, it starts anew each time.
  const bool anew = kernel_.node(first).op == Op::VarSet && tree_.block_of(first) == block;
  return in_loop && !anew;
}

void Plan::place_variables() {
  std::vector<std::vector<ValueId>> accesses(kernel_.variables.size());
  const std::function<void(BlockId)> walk = [&](BlockId block) {
    for (ValueId id : kernel_.block(block).nodes) {
      const Node& node = kernel_.node(id);
      if (node.op == Op::VarGet || node.op == Op::VarSet) accesses[node.index].push_back(id);
      for (BlockId nested : node.blocks) walk(nested);
    }
  };
  walk(kernel_.body);
  for (std::uint32_t v = 0; v < storage_.size(); ++v) {
    if (storage_[v] == Storage::Once || accesses[v].empty()) continue;
    const std::uint32_t region = region_of_[accesses[v][0]];
    const bool one_region = std::all_of(accesses[v].begin(), accesses[v].end(),
                                        [&](ValueId id) { return region_of_[id] == region; });
    if (!one_region || carried(region, accesses[v])) storage_[v] = Storage::Spilled;
  }
}

void Plan::place_arrays() {
  array_storage_.assign(kernel_.memories.size(), Storage::Region);
  std::vector<std::uint32_t> seen_in(kernel_.memories.size(), kNone);
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    const Node& node = kernel_.nodes[id];
    if (node.memory == kNone || kernel_.memories[node.memory].space != ir::Space::Local) continue;
    std::uint32_t& seen = seen_in[node.memory];
    if (seen == kNone) seen = region_of_[id];
    if (seen != region_of_[id] || carried(seen, {id})) {
      array_storage_[node.memory] = Storage::Spilled;
    }
  }
}

void Plan::find_imports() {
  for (std::uint32_t r = 0; r < regions_.size(); ++r) {
    Region& region = regions_[r];
    for (ValueId top : std::vector<ValueId>(region.nodes)) {
      tree_.each(top, [&](ValueId id) {
        if (kernel_.node(id).op == Op::ForIndex) return;
        for (ValueId operand : kernel_.node(id).inputs()) import(region, r, operand);
      });
    }
  }
  // What decides about a barrier is read from the first thread's copy.
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    if (!open_node_[id]) continue;
    for (ValueId operand : kernel_.nodes[id].inputs()) {
      if (!once_[operand] && !ir::is_leaf(kernel_.node(operand).op)) spilled_[operand] = true;
    }
  }
}

void Plan::import(Region& region, std::uint32_t id, ValueId value) {
  const Node& node = kernel_.node(value);
  if (once_[value] || ir::is_leaf(node.op) || region_of_[value] == id) return;
  if (std::find(region.imports.begin(), region.imports.end(), value) != region.imports.end()) {
    return;
  }
  int budget = 12;
  if (!spilled_[value] && cheap(value, budget)) {
    for (ValueId operand : node.inputs()) import(region, id, operand);
  } else {
    spilled_[value] = true;
  }
  region.imports.push_back(value);
}

/// Whether a value is made of few operations on what every region has at hand.
bool Plan::cheap(ValueId id, int& budget) const {
  const Node& node = kernel_.node(id);
  if (once_[id] || ir::is_leaf(node.op)) return true;
  if (!ir::is_pure(node.op) || ir::is_math(node.op) || --budget < 0) return false;
  const auto inputs = node.inputs();
  return std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return cheap(v, budget); });
}

}  // namespace salvo::codegen::llvm
