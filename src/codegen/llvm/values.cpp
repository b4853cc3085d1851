// What a value is called in the function, alone and as a vector, and where it is kept meanwhile.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/function.hpp"
#include "codegen/llvm/launch_record.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::llvm {

using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

void Function::pure(ValueId id) {
  const Node& node = kernel_.node(id);
  const unsigned n = shapes_[id].lanes() ? lanes_ : 1;
  std::vector<Text> operands;
  for (ValueId operand : node.inputs()) {
    operands.push_back(n == 1 ? number(operand) : vector(operand));
  }
  const Scalar from = type_of(node.operands[0]);
  if (node.op == Op::Shl || node.op == Op::Shr || node.op == Op::ShrLogical) {
    operands[1] = arithmetic_.shift_count(node.type, type_of(node.operands[1]), operands[1], n);
  }
  const Node* divisor = nullptr;
  if (node.op == Op::Div || node.op == Op::Rem) {
    const Node& second = kernel_.node(node.operands[1]);
    if (second.op == Op::Constant) divisor = &second;
  }
  values_[id] = arithmetic_.operation(node, from, operands, n, divisor);
}

Text Function::leaf(const Node& node) {
  switch (node.op) {
    case Op::Constant:
      return Writer::literal(node.type, node.literal);
    case Op::Param: {
      const ValueId slot = kernel_.slot_of(node);
      return slot == kNoValue ? parameters_[node.index] : argument(node.index, slot);
    }
    case Op::Length: {
      const std::uint32_t parameter = kernel_.memories[node.memory].parameter;
      const ValueId slot = kernel_.slot_of(node);
      return slot == kNoValue ? lengths_[parameter] : length(parameter, slot);
    }
    case Op::ThreadIdx:
      return thread_[node.axis];
    case Op::GlobalIdx:
      return global_[node.axis];
    case Op::BlockIdx:
      return block_idx_[node.axis];
    case Op::BlockDim:
      return block_dim_[node.axis];
    case Op::GridDim:
      return grid_[node.axis];
    case Op::LaneId:
      return "0";
    case Op::WarpSize:
      return std::to_string(lanes_);
    default:
      return values_[node.operands[0]];  // ForIndex
  }
}

Text Function::number(ValueId id) {
  const Node& node = kernel_.node(id);
  return ir::is_leaf(node.op) ? leaf(node) : values_[id];
}

Text Function::vector(ValueId id) {
  const Shape& shape = shapes_[id];
  if (shape.lanes()) return number(id);
  if (shape.uniform()) return w_.broadcast(Writer::scalar(type_of(id)), number(id));
  return spread(type_of(id), number(id), shape.stride);
}

Text Function::iota(std::string_view element, std::int64_t stride) const {
  Text text = "<";
  for (unsigned i = 0; i < lanes_; ++i) {
    text +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", element, static_cast<std::int64_t>(i) * stride);
  }
  return text + ">";
}

Text Function::spread(Scalar type, const Text& first, std::int64_t stride) {
  const std::string_view element = Writer::scalar(type);
  Text steps = iota(element, stride);
  if (first == "0") return steps;
  return w_.let("add {} {}, {}", Writer::vector_of(element, lanes_), w_.broadcast(element, first),
                steps);
}

// Arguments.

Text Function::argument_address(std::uint32_t parameter, ValueId slot) {
  const std::uint64_t first =
      LaunchRecord::kArguments + first_argument_[parameter] * sizeof(LaunchArgument);
  if (slot == kNoValue) return w_.offset("%launch", std::to_string(first));
  if (!shapes_[slot].uniform()) {
    Error::Details details;
    details.code = Errc::unsupported;
    details.kernel = kernel_.name;
    details.operation = "translate";
    details.backend = "Native";
    details.message = fmt::format("threads of a block read different slots of the table '{}'",
                                  kernel_.parameters[parameter].name);
    throw Error(std::move(details));
  }
  const Scalar type = type_of(slot);
  const Text wide =
      ir::size_of(type) == 8 ? number(slot) : w_.let("zext i32 {} to i64", number(slot));
  const Text bytes = w_.let("mul i64 {}, {}", wide, sizeof(LaunchArgument));
  return w_.offset("%launch", w_.let("add i64 {}, {}", bytes, first));
}

Text Function::argument(std::uint32_t parameter, ValueId slot) {
  const ir::Parameter& what = kernel_.parameters[parameter];
  const Text address = argument_address(parameter, slot);
  if (what.is_span) return w_.load(w_.address_type(), address, 8);
  return arithmetic_.widen(what.type, w_.load(Arithmetic::storage_type(what.type), address, 8), 1);
}

Text Function::length(std::uint32_t parameter, ValueId slot) {
  const Text address = argument_address(parameter, slot);
  return w_.load("i64", w_.offset(address, std::to_string(offsetof(LaunchArgument, length))), 8);
}

// Values that live across barriers.

Text Function::spill_address(std::uint64_t offset) {
  return w_.offset(record_, std::to_string(offset));
}

void Function::store_spilled(ValueId id) {
  const Scalar type = type_of(id);
  const unsigned n = shapes_[id].lanes() ? lanes_ : 1;
  const Text bits = type == Scalar::Bool ? arithmetic_.narrow(type, values_[id], n) : values_[id];
  w_.store(Writer::vector_of(Arithmetic::storage_type(type), n), bits,
           spill_address(value_offsets_[id]), static_cast<unsigned>(ir::size_of(type)));
}

void Function::load_spilled(ValueId id) {
  const Scalar type = type_of(id);
  const unsigned n = shapes_[id].lanes() ? lanes_ : 1;
  const Text bits =
      w_.load(Writer::vector_of(Arithmetic::storage_type(type), n),
              spill_address(value_offsets_[id]), static_cast<unsigned>(ir::size_of(type)));
  values_[id] = type == Scalar::Bool ? arithmetic_.widen(type, bits, n) : bits;
}

void Function::locate(const Node& node) {
  w_.debug(debug_.at(node.location));
}

}  // namespace salvo::codegen::llvm
