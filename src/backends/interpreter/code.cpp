// A kernel made ready to run: functions, rows and layouts looked up once.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/interpreter/arithmetic.hpp"
#include "backends/interpreter/convert.hpp"
#include "backends/interpreter/faults.hpp"

namespace salvo::backends::interpreter {
namespace {

bool changes_with_block(ir::Op op) {
  return op == ir::Op::BlockIdx || op == ir::Op::GlobalIdx;
}

bool has_row(ir::Op op) {
  return op != ir::Op::ForIndex && (!ir::is_statement(op) || op == ir::Op::For);
}

/// The pure operation that an atomic or a reduction applies to the old value and the operand;
/// Constant where there is none.
ir::Op combining_op(ir::Op op) {
  switch (op) {
    case ir::Op::AtomicAdd:
    case ir::Op::WarpAdd:
      return ir::Op::Add;
    case ir::Op::AtomicSub:
      return ir::Op::Sub;
    case ir::Op::AtomicMin:
    case ir::Op::WarpMin:
      return ir::Op::Min;
    case ir::Op::AtomicMax:
    case ir::Op::WarpMax:
      return ir::Op::Max;
    case ir::Op::AtomicAnd:
      return ir::Op::And;
    case ir::Op::AtomicOr:
      return ir::Op::Or;
    case ir::Op::AtomicXor:
      return ir::Op::Xor;
    default:
      return ir::Op::Constant;
  }
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Code::Code(ir::Kernel kernel) : kernel_(std::move(kernel)) {
  for (const ir::Parameter& parameter : kernel_.parameters) {
    first_arguments_.push_back(argument_count_);
    argument_count_ += parameter.slots;
  }
  for (const ir::UserCall& call : kernel_.user_calls) host_bodies_.push_back(call.code->host());
  uses_.resize(kernel_.memories.size());
  lay_out();
  assign_rows();
  blocks_.resize(kernel_.blocks.size());
  compile_block(kernel_.body, 0);
}

void Code::lay_out() {
  for (const ir::Memory& memory : kernel_.memories) {
    ArrayLayout layout;
    const std::uint64_t bytes = std::uint64_t{memory.count} * memory.element.size;
    if (memory.space == ir::Space::Shared) {
      layout.dynamic = memory.count == 0;
      layout.offset = shared_bytes_;
      shared_bytes_ += round_up(bytes, 16);
    } else if (memory.space == ir::Space::Local) {
      layout.offset = local_bytes_;
      local_bytes_ += round_up(bytes, 16);
    }
    layouts_.push_back(layout);
  }
  for (const ir::Matrix& matrix : kernel_.matrices) {
    first_elements_.push_back(matrix_elements_);
    matrix_elements_ += matrix.elements();
  }
  for (ArrayLayout& layout : layouts_) {
    if (layout.dynamic) layout.offset = shared_bytes_;
  }
}

void Code::assign_rows() {
  row_of_.assign(kernel_.nodes.size(), 0);
  for (std::size_t id = 0; id < kernel_.nodes.size(); ++id) {
    if (has_row(kernel_.nodes[id].op)) row_of_[id] = rows_++;
  }
  for (std::size_t id = 0; id < kernel_.nodes.size(); ++id) {
    const ir::Node& node = kernel_.nodes[id];
    if (node.op == ir::Op::ForIndex) row_of_[id] = row_of_[node.operands[0]];
  }
}

void Code::compile_block(ir::BlockId id, std::uint32_t depth) {
  depth_ = std::max(depth_, depth);
  for (const ir::ValueId value : kernel_.block(id).nodes) {
    const ir::Node& node = kernel_.node(value);
    if (node.op == ir::Op::ForIndex) continue;  // its row is the loop's
    note_use(node);
    const Instruction instruction = compile(value);
    if (ir::is_leaf(node.op) && !instruction.has_slot) {
      (changes_with_block(node.op) ? block_leaves_ : launch_leaves_).push_back(instruction);
    } else {
      blocks_[id].push_back(instruction);
    }
    for (const ir::BlockId nested : node.blocks) compile_block(nested, depth + 1);
  }
}

void Code::note_use(const ir::Node& node) {
  if (node.op == ir::Op::Fence && node.axis == 1) has_device_fence_ = true;
  if (node.op == ir::Op::Native) {
    for (const ir::MemoryId memory : kernel_.user_calls[node.index].arguments) {
      if (memory == ir::kNone) continue;
      uses_[memory] |= MemoryUse{
          .reads = true, .writes = true, .alignment = kernel_.memories[memory].element.size};
    }
  }
  if (node.memory == ir::kNone || node.op == ir::Op::Length) return;
  const ir::Field& field = kernel_.field_of(node);
  uses_[node.memory] |= MemoryUse{
      .reads = ir::reads_memory(node.op) && !ir::is_atomic(node.op),
      .writes = ir::writes_memory(node.op) && !ir::is_atomic(node.op),
      .atomics = ir::is_atomic(node.op),
      .alignment =
          kernel_.memories[node.memory].element.size | field.offset | ir::size_of(field.type),
  };
}

Instruction Code::compile(ir::ValueId id) const {
  const ir::Node& node = kernel_.node(id);
  Instruction instruction;
  instruction.op = node.op;
  instruction.type = node.type;
  instruction.id = id;
  instruction.out = row_of_[id];
  for (std::size_t i = 0; i < node.operand_count; ++i) {
    instruction.operands[i] = row_of_[node.operands[i]];
  }
  if (node.operand_count > 0) instruction.operand_type = kernel_.node(node.operands[0]).type;
  if (const ir::ValueId slot = kernel_.slot_of(node); slot != ir::kNoValue) {
    instruction.has_slot = true;
    instruction.slot = row_of_[slot];
  }

  bool defined = true;
  if (ir::is_pure(node.op) && !ir::is_leaf(node.op)) {
    const ir::Scalar operand =
        node.op == ir::Op::Select ? kernel_.node(node.operands[1]).type : instruction.operand_type;
    instruction.function = lane_function(node.op, node.type, operand);
    defined = instruction.function != nullptr;
  } else if (node.op == ir::Op::For) {
    const bool down = node.literal != 0;
    const ir::Scalar type = instruction.operand_type;
    instruction.function = lane_function(down ? ir::Op::Sub : ir::Op::Add, type, type);
    instruction.compare = lane_function(down ? ir::Op::Gt : ir::Op::Lt, ir::Scalar::Bool, type);
    defined = instruction.function != nullptr && instruction.compare != nullptr;
  } else if (node.op == ir::Op::Param) {
    instruction.convert = widen_function(kernel_.parameters[node.index].type);
  } else if (node.memory != ir::kNone && node.op != ir::Op::Length) {
    compile_access(node, instruction);
  } else if (ir::is_warp(node.op) && node.operand_count > 1) {
    instruction.index_is_i32 = kernel_.node(node.operands[1]).type == ir::Scalar::I32;
  }
  if (const ir::Op op = combining_op(node.op); op != ir::Op::Constant) {
    instruction.combine = lane_function(op, node.type, node.type);
    defined = instruction.combine != nullptr;
  }
  if (ir::is_user_code(node.op) && !host_bodies_[node.index]) {
    throw fault_at(
        kernel_, node, Errc::unsupported, "build",
        fmt::format("'{}' has no body for the host", kernel_.user_calls[node.index].code->name()));
  }
  if (!defined) {
    throw fault_at(kernel_, node, Errc::invalid_kernel, "build",
                   fmt::format("{} is not defined on {}", ir::name(node.op),
                               ir::name(instruction.operand_type)));
  }
  return instruction;
}

void Code::compile_access(const ir::Node& node, Instruction& instruction) const {
  const ir::Field& field = kernel_.field_of(node);
  instruction.index_is_i32 = kernel_.node(node.operands[0]).type == ir::Scalar::I32;
  instruction.bytes = static_cast<std::uint32_t>(ir::size_of(field.type));
  instruction.stride = kernel_.memories[node.memory].element.size;
  instruction.offset = field.offset;
  if (node.op == ir::Op::Load) instruction.convert = widen_function(field.type);
  if (node.op == ir::Op::Store) instruction.convert = narrow_function(field.type);
}

}  // namespace salvo::backends::interpreter
