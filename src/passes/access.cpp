// Gathers what a kernel touches and needs in one sweep over its tables and nodes.
// SPDX-License-Identifier: MIT
#include "passes/access.hpp"

#include <algorithm>

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::Space;

void needs_type(Summary& to, Scalar type) {
  to.needs_fp64 |= type == Scalar::F64;
  to.needs_fp16 |= type == Scalar::F16;
  to.needs_int64 |= type == Scalar::I64 || type == Scalar::U64;
}

void add_memory(Summary& to, const ir::Memory& memory) {
  to.has_shared |= memory.space == Space::Shared;
  to.has_dynamic_shared |= memory.space == Space::Shared && memory.count == 0;
  to.has_local_array |= memory.space == Space::Local;
  // All leaves count, touched or not: targets declare the whole record.
  for (const ir::Field& field : memory.element.fields) needs_type(to, field.type);
}

void add_access(Summary& to, const ir::Kernel& kernel, const ir::Node& node) {
  const bool atomic = is_atomic(node.op);
  if (atomic) {
    const Scalar type = kernel.field_of(node).type;
    to.has_atomic = true;
    to.needs_atomics_i64 |= type == Scalar::I64 || type == Scalar::U64;
    to.needs_atomics_f32 |= type == Scalar::F32;
    to.needs_atomics_f64 |= type == Scalar::F64;
  }
  const ir::Memory& memory = kernel.memories[node.memory];
  if (memory.space != Space::Global) return;
  ParameterAccess& access = to.parameters[memory.parameter];
  access.reads |= ir::reads_memory(node.op);
  access.writes |= ir::writes_memory(node.op);
  access.atomics |= atomic;
}

void add_user_code(Summary& to, const ir::Kernel& kernel, const ir::Node& node) {
  const ir::UserCode& code = *kernel.user_calls[node.index].code;
  to.has_native_code |= node.op == Op::Native;
  to.has_user_intrinsic |= node.op == Op::Intrinsic;
  to.has_impure_intrinsic |= node.op == Op::Intrinsic && !code.is_pure();
  to.has_warp_operation |= code.convergence() == ir::Convergence::warp;
  to.has_barrier |= code.convergence() == ir::Convergence::block;
}

void add_node(Summary& to, const ir::Kernel& kernel, const ir::Node& node) {
  // A target without 64-bit integers has 32-bit lengths: asking for one needs nothing.
  if (!is_statement(node.op) && node.op != Op::Length) needs_type(to, node.type);
  if (ir::reads_memory(node.op) || ir::writes_memory(node.op)) add_access(to, kernel, node);
  if (ir::is_user_code(node.op)) add_user_code(to, kernel, node);
  to.has_barrier |= node.op == Op::Barrier;
  to.has_fence |= node.op == Op::Fence;
  to.has_warp_operation |= is_warp(node.op) || is_matrix(node.op);
  to.has_cooperative_matrix |= is_matrix(node.op);
  to.has_loop |= node.op == Op::For || node.op == Op::While;
  to.has_return |= node.op == Op::Return;
  to.reads_grid_dim_x |= node.op == Op::GridDim && node.axis == 0;
}

}  // namespace

Summary summarize(const ir::Kernel& kernel) {
  Summary summary;
  summary.parameters.resize(kernel.parameters.size());
  for (const ir::Parameter& parameter : kernel.parameters) {
    if (!parameter.is_span) needs_type(summary, parameter.type);
  }
  for (const ir::Variable& variable : kernel.variables) needs_type(summary, variable.type);
  for (const ir::Memory& memory : kernel.memories) add_memory(summary, memory);
  for (const ir::Block& block : kernel.blocks) {
    for (ir::ValueId id : block.nodes) add_node(summary, kernel, kernel.node(id));
  }
  // Leaves may stand in no block.
  summary.uses_lanes =
      summary.has_warp_operation || std::ranges::any_of(kernel.nodes, [](const ir::Node& node) {
        return node.op == Op::LaneId || node.op == Op::WarpSize;
      });
  for (std::size_t p = 0; p < kernel.parameters.size() && summary.has_native_code; ++p) {
    if (!kernel.parameters[p].is_span) continue;
    summary.parameters[p].reads = summary.parameters[p].writes = true;
  }
  return summary;
}

}  // namespace salvo::passes
