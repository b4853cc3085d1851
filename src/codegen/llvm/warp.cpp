// Operations between the threads of a warp, which are the lanes of one vector.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/function.hpp"

namespace salvo::codegen::llvm {

using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

void Function::warp(ValueId id, const Mask& mask) {
  const Node& node = kernel_.node(id);
  switch (node.op) {
    case Op::Any:
      values_[id] = any(both(mask, vector(node.operands[0])).text);
      return;
    case Op::All: {
      const Text missing = any(without(mask, vector(node.operands[0])).text);
      values_[id] = w_.let("xor i1 {}, true", missing);
      return;
    }
    case Op::Ballot: {
      const Text set = bits(both(mask, vector(node.operands[0])).text);
      values_[id] = lanes_ == 64 ? set : w_.let("zext {} {} to i64", w_.bits_type(), set);
      return;
    }
    case Op::WarpAdd:
    case Op::WarpMin:
    case Op::WarpMax:
      values_[id] = warp_reduction(node, mask);
      return;
    default:
      values_[id] = shuffle(node);
      return;
  }
}

/// The value of another lane. One that the warp does not have gives that of a lane that it has, or,
/// up and down past its ends, the thread's own.
Text Function::shuffle(const Node& node) {
  const Scalar type = node.type;
  const std::string_view element = Writer::scalar(type);
  const Text value_type = w_.type(type, lanes_);
  const Scalar index_type = type_of(node.operands[1]);
  const Text i = w_.type(Scalar::I32, lanes_);
  Text operand = vector(node.operands[1]);
  if (ir::size_of(index_type) == 8) {
    operand = w_.let("trunc {} {} to {}", w_.type(index_type, lanes_), operand, i);
  }
  const Text lanes = iota("i32", 1);
  Text source = operand;
  if (node.op == Op::ShuffleXor) source = w_.let("xor {} {}, {}", i, lanes, operand);
  if (node.op == Op::ShuffleUp || node.op == Op::ShuffleDown) {
    const char* instruction = node.op == Op::ShuffleUp ? "sub" : "add";
    const Text other = w_.let("{} {} {}, {}", instruction, i, lanes, operand);
    const Text size = w_.constant(Scalar::I32, lanes_, lanes_);
    const Text step_fits = w_.let("icmp ult {} {}, {}", i, operand, size);
    const Text lane_fits = w_.let("icmp ult {} {}, {}", i, other, size);
    const Text fits = w_.let("and {} {}, {}", w_.mask_type(), step_fits, lane_fits);
    source = arithmetic_.select(Scalar::I32, fits, other, lanes, lanes_);
  }
  source = w_.let("and {} {}, {}", i, source, w_.constant(Scalar::I32, lanes_ - 1, lanes_));

  // LLVM has no instruction for a shuffle by a variable: the values go through memory.
  const Text slot = w_.variable(value_type, 64);
  w_.set(value_type, vector(node.operands[0]), slot);
  const Text first =
      w_.let("bitcast {} {} to {}", w_.pointer_type(value_type), slot, w_.pointer_type(element));
  const Text addresses =
      w_.let("getelementptr {}, {} {}, {} {}", element, w_.pointer_type(element), first, i, source);
  const Text suffix = Writer::suffix(element, lanes_);
  return w_.call(value_type,
                 fmt::format("llvm.masked.gather.{}.v{}{}", suffix, lanes_,
                             w_.pointer_suffix(Writer::suffix(element, 1))),
                 {{w_.pointers_type(element), addresses},
                  {"i32", std::to_string(ir::size_of(type))},
                  {w_.mask_type(), w_.all_lanes()},
                  {value_type, "zeroinitializer"}});
}

// Halves are folded onto each other, the order that the interpreter states for sums of floats.
Text Function::warp_reduction(const Node& node, const Mask& mask) {
  const Scalar type = node.type;
  const Text t = w_.type(type, lanes_);
  const Op op = node.op == Op::WarpAdd ? Op::Add : node.op == Op::WarpMin ? Op::Min : Op::Max;
  Text size;
  if (!mask.full()) {
    const Text count = w_.call(w_.bits_type(), fmt::format("llvm.ctpop.{}", w_.bits_type()),
                               {{w_.bits_type(), bits(mask.text)}});
    size = lanes_ == 32
               ? count
               : w_.let("{} {} {} to i32", lanes_ < 32 ? "zext" : "trunc", w_.bits_type(), count);
  }
  Text value = vector(node.operands[0]);
  for (unsigned half = lanes_ / 2; half > 0; half /= 2) {
    Text order;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      order += fmt::format("{}i32 {}", lane == 0 ? "" : ", ", lane < half ? lane + half : lane);
    }
    const Text moved = w_.let("shufflevector {} {}, {} undef, {} <{}>", t, value, t,
                              w_.type(Scalar::I32, lanes_), order);
    const Text folded = arithmetic_.combine(op, type, value, moved, lanes_);
    if (mask.full()) {
      value = folded;
      continue;
    }
    // The last warp of a block may be smaller.
    const Text partner = w_.let("add {} {}, {}", w_.type(Scalar::I32, lanes_), iota("i32", 1),
                                w_.constant(Scalar::I32, half, lanes_));
    const Text there = w_.let("icmp ult {} {}, {}", w_.type(Scalar::I32, lanes_), partner,
                              w_.broadcast("i32", size));
    value = arithmetic_.select(type, there, folded, value, lanes_);
  }
  return w_.let("extractelement {} {}, i32 0", t, value);
}

}  // namespace salvo::codegen::llvm
