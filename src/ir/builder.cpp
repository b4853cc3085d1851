// Appends nodes to a kernel, keeping the current block and source location.
// SPDX-License-Identifier: MIT
#include "ir/builder.hpp"

#include <utility>

namespace salvo::ir {

Builder::Builder(std::string name) {
  kernel_.name = std::move(name);
  kernel_.blocks.emplace_back();
  kernel_.body = 0;
  stack_.push_back(0);
}

Builder::Builder(Kernel kernel) : kernel_(std::move(kernel)) {
  stack_.push_back(kernel_.body);
}

Kernel Builder::finish() {
  return std::move(kernel_);
}

MemoryId Builder::span_parameter(std::string name, Element element, bool read_only,
                                 std::uint32_t slots) {
  const auto memory = static_cast<MemoryId>(kernel_.memories.size());
  const auto parameter = static_cast<std::uint32_t>(kernel_.parameters.size());
  kernel_.memories.push_back({name, Space::Global, std::move(element), 0, read_only, parameter});
  kernel_.parameters.push_back({std::move(name), true, memory, Scalar::I32, slots});
  return memory;
}

std::uint32_t Builder::scalar_parameter(std::string name, Scalar type, std::uint32_t slots) {
  const auto parameter = static_cast<std::uint32_t>(kernel_.parameters.size());
  kernel_.parameters.push_back({std::move(name), false, kNone, type, slots});
  return parameter;
}

MemoryId Builder::shared_array(std::string name, Element element, std::uint32_t count) {
  const auto memory = static_cast<MemoryId>(kernel_.memories.size());
  kernel_.memories.push_back(
      {std::move(name), Space::Shared, std::move(element), count, false, kNone});
  return memory;
}

MemoryId Builder::local_array(std::string name, Element element, std::uint32_t count) {
  const auto memory = static_cast<MemoryId>(kernel_.memories.size());
  kernel_.memories.push_back(
      {std::move(name), Space::Local, std::move(element), count, false, kNone});
  return memory;
}

std::uint32_t Builder::variable(std::string name, Scalar type) {
  kernel_.variables.push_back({std::move(name), type});
  return static_cast<std::uint32_t>(kernel_.variables.size() - 1);
}

std::uint32_t Builder::matrix(std::string name, Scalar type, std::uint32_t rows,
                              std::uint32_t columns, MatrixUse use) {
  kernel_.matrices.push_back({std::move(name), type, rows, columns, use});
  return static_cast<std::uint32_t>(kernel_.matrices.size() - 1);
}

BlockId Builder::open() {
  const auto id = static_cast<BlockId>(kernel_.blocks.size());
  kernel_.blocks.emplace_back();
  stack_.push_back(id);
  return id;
}

void Builder::close() {
  stack_.pop_back();
}

void Builder::at(std::string_view file, std::uint32_t line, std::string_view superstep) {
  // Kernels are short and lines repeat: looking back a little finds nearly every repetition.
  auto& locations = kernel_.locations;
  for (std::size_t i = locations.size(); i-- > 0;) {
    if (locations[i].line == line && locations[i].superstep == superstep &&
        locations[i].file == file) {
      location_ = static_cast<LocationId>(i);
      return;
    }
  }
  locations.push_back({std::string(file), line, std::string(superstep)});
  location_ = static_cast<LocationId>(locations.size() - 1);
}

ValueId Builder::append(Node node) {
  if (node.location == kNone) node.location = location_;
  const auto id = static_cast<ValueId>(kernel_.nodes.size());
  kernel_.nodes.push_back(std::move(node));
  kernel_.blocks[stack_.back()].nodes.push_back(id);
  return id;
}

namespace {

Node make(Op op, Scalar type, std::initializer_list<ValueId> operands = {}) {
  Node node;
  node.op = op;
  node.type = type;
  for (ValueId operand : operands) {
    if (operand != kNoValue) node.operands[node.operand_count++] = operand;
  }
  return node;
}

}  // namespace

ValueId Builder::constant(Scalar type, std::uint64_t bits) {
  Node node = make(Op::Constant, type);
  node.literal = bits;
  return append(std::move(node));
}

ValueId Builder::param(std::uint32_t parameter, ValueId slot) {
  Node node = make(Op::Param, compute_type(kernel_.parameters[parameter].type), {slot});
  node.index = parameter;
  return append(std::move(node));
}

ValueId Builder::length(MemoryId memory, ValueId slot) {
  Node node = make(Op::Length, Scalar::I64, {slot});
  node.memory = memory;
  return append(std::move(node));
}

ValueId Builder::position(Op op, std::uint8_t axis) {
  Node node = make(op, Scalar::I32);
  node.axis = axis;
  return append(std::move(node));
}

ValueId Builder::op(Op op, std::initializer_list<ValueId> operands) {
  Scalar type = Scalar::Bool;
  if (op == Op::Ballot) {
    type = Scalar::U64;
  } else if (!is_comparison(op) && op != Op::IsNan && op != Op::IsInf && op != Op::Any &&
             op != Op::All) {
    type = kernel_.nodes[op == Op::Select ? operands.begin()[1] : operands.begin()[0]].type;
  }
  return append(make(op, type, operands));
}

ValueId Builder::cast(Scalar to, ValueId value) {
  return kernel_.nodes[value].type == to ? value : append(make(Op::Cast, to, {value}));
}

ValueId Builder::load(MemoryId memory, ValueId index, std::uint32_t field, ValueId slot) {
  Node node = make(Op::Load, compute_type(kernel_.memories[memory].element.fields[field].type),
                   {index, slot});
  node.memory = memory;
  node.field = field;
  return append(std::move(node));
}

ValueId Builder::store(MemoryId memory, ValueId index, ValueId value, std::uint32_t field,
                       ValueId slot) {
  Node node = make(Op::Store, Scalar::I32, {index, value, slot});
  node.memory = memory;
  node.field = field;
  return append(std::move(node));
}

ValueId Builder::var_get(std::uint32_t variable) {
  Node node = make(Op::VarGet, kernel_.variables[variable].type);
  node.index = variable;
  return append(std::move(node));
}

ValueId Builder::var_set(std::uint32_t variable, ValueId value) {
  Node node = make(Op::VarSet, Scalar::I32, {value});
  node.index = variable;
  return append(std::move(node));
}

ValueId Builder::if_(ValueId condition, BlockId then_block, BlockId else_block) {
  Node node = make(Op::If, Scalar::I32, {condition});
  node.blocks = {then_block, else_block};
  return append(std::move(node));
}

ValueId Builder::statement(Op op, std::uint8_t axis) {
  Node node = make(op, Scalar::I32);
  node.axis = axis;
  return append(std::move(node));
}

ValueId Builder::matrix_fill(std::uint32_t matrix, ValueId value) {
  Node node = make(Op::MatrixFill, Scalar::I32, {value});
  node.index = matrix;
  return append(std::move(node));
}

ValueId Builder::matrix_access(Op op, std::uint32_t matrix, MemoryId memory, ValueId offset,
                               ValueId stride, MatrixLayout layout, ValueId slot) {
  Node node = make(op, Scalar::I32, {offset, stride, slot});
  node.index = matrix;
  node.memory = memory;
  node.axis = static_cast<std::uint8_t>(layout);
  return append(std::move(node));
}

ValueId Builder::matrix_multiply_add(std::uint32_t result, std::uint32_t a, std::uint32_t b,
                                     std::uint32_t c) {
  Node node = make(Op::MatrixMultiplyAdd, Scalar::I32);
  node.index = result;
  node.matrices = {a, b, c};
  return append(std::move(node));
}

ValueId Builder::matrix_copy(std::uint32_t to, std::uint32_t from) {
  Node node = make(Op::MatrixCopy, Scalar::I32);
  node.index = to;
  node.matrices[0] = from;
  return append(std::move(node));
}

}  // namespace salvo::ir
