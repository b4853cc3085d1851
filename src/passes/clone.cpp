// Copies a body from one kernel into another, replacing leaves on the way.
// SPDX-License-Identifier: MIT
#include "passes/clone.hpp"

#include <cassert>
#include <numeric>
#include <utility>

namespace salvo::passes {
namespace {

using ir::kNone;
using ir::kNoValue;
using ir::Op;

std::uint32_t mapped(const std::vector<std::uint32_t>& table, std::uint32_t id) {
  assert(id < table.size() && table[id] != kNone);
  return table[id];
}

}  // namespace

Cloner::Cloner(const ir::Kernel& from, ir::Builder& to)
    : parameters(from.parameters.size(), kNone),
      memories(from.memories.size(), kNone),
      variables(from.variables.size(), kNone),
      matrices(from.matrices.size(), kNone),
      from_(from),
      to_(to),
      values_(from.nodes.size(), kNoValue),
      locations_(from.locations.size(), kNone),
      user_calls_(from.user_calls.size(), kNone) {}

void Cloner::block(ir::BlockId block) {
  for (ir::ValueId id : from_.block(block).nodes) node(id);
}

ir::ValueId Cloner::value(ir::ValueId id) const {
  assert(id < values_.size() && values_[id] != kNoValue);
  return values_[id];
}

void Cloner::locate(ir::LocationId location) {
  if (location == kNone) return to_.at(kNone);
  if (locations_[location] == kNone) {
    const ir::Location& original = from_.locations[location];
    to_.at(original.file, original.line, original.superstep);
    locations_[location] = to_.location();
  }
  to_.at(locations_[location]);
}

ir::ValueId Cloner::node(ir::ValueId id) {
  const ir::Node& original = from_.node(id);
  locate(original.location);
  if (replace) {
    const ir::ValueId replacement = replace(*this, id, original);
    if (replacement != kNoValue) return values_[id] = replacement;
  }
  ir::Node copy = original;
  copy.location = kNone;  // the builder's
  copy.blocks.clear();
  // The condition of a While is made by its first block, which is not there yet.
  if (copy.op != Op::While) {
    for (ir::ValueId& operand : copy.inputs()) operand = value(operand);
  }
  if (copy.memory != kNone) copy.memory = mapped(memories, copy.memory);
  if (slot != kNoValue && copy.memory != kNone &&
      to_.kernel().memories[copy.memory].space == ir::Space::Global) {
    copy.operands[copy.operand_count++] = slot;
  }
  if (copy.op == Op::Param) copy.index = mapped(parameters, copy.index);
  if (copy.op == Op::VarGet || copy.op == Op::VarSet) copy.index = variable(copy.index);
  if (ir::is_user_code(copy.op)) copy.index = user_call(copy.index);
  if (ir::is_matrix(copy.op)) {
    copy.index = matrix(copy.index);
    for (std::uint32_t& held : copy.matrices) {
      if (held != kNone) held = matrix(held);
    }
  }

  // The node goes before its blocks, so that a ForIndex in them finds its For.
  const ir::ValueId made = values_[id] = to_.append(std::move(copy));
  for (ir::BlockId block_id : original.blocks) {
    const ir::BlockId block_copy = to_.open();
    block(block_id);
    to_.close();
    to_.kernel().nodes[made].blocks.push_back(block_copy);
  }
  if (original.op == Op::While) {
    to_.kernel().nodes[made].operands[0] = value(original.operands[0]);
  }
  return made;
}

std::uint32_t Cloner::variable(std::uint32_t id) {
  if (variables[id] == kNone) {
    variables[id] = to_.variable(from_.variables[id].name, from_.variables[id].type);
  }
  return variables[id];
}

std::uint32_t Cloner::matrix(std::uint32_t id) {
  if (matrices[id] == kNone) {
    const ir::Matrix& one = from_.matrices[id];
    matrices[id] = to_.matrix(one.name, one.type, one.rows, one.columns, one.use);
  }
  return matrices[id];
}

std::uint32_t Cloner::user_call(std::uint32_t id) {
  if (user_calls_[id] == kNone) {
    ir::UserCall call = from_.user_calls[id];
    for (ir::MemoryId& memory : call.arguments) {
      if (memory != kNone) memory = mapped(memories, memory);
    }
    std::vector<ir::UserCall>& calls = to_.kernel().user_calls;
    user_calls_[id] = static_cast<std::uint32_t>(calls.size());
    calls.push_back(std::move(call));
  }
  return user_calls_[id];
}

ir::Kernel copy(const ir::Kernel& kernel, const Cloner::Replace& replace) {
  ir::Builder builder(kernel.name);
  ir::Kernel& to = builder.kernel();
  to.parameters = kernel.parameters;
  to.memories = kernel.memories;
  to.variables = kernel.variables;
  to.matrices = kernel.matrices;
  to.no_fuse = kernel.no_fuse;
  Cloner cloner(kernel, builder);
  std::iota(cloner.parameters.begin(), cloner.parameters.end(), 0U);
  std::iota(cloner.memories.begin(), cloner.memories.end(), 0U);
  std::iota(cloner.variables.begin(), cloner.variables.end(), 0U);
  std::iota(cloner.matrices.begin(), cloner.matrices.end(), 0U);
  cloner.replace = replace;
  cloner.block(kernel.body);
  return builder.finish();
}

}  // namespace salvo::passes
