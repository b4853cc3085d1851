// Atomic operations, one active thread after the other, and fences.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/llvm/function.hpp"

namespace salvo::codegen::llvm {

using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

namespace {

/// atomicrmw's name for an operation; empty for compare-exchange.
std::string_view read_modify_write(Op op, Scalar type) {
  const bool sign = ir::is_signed(type);
  switch (op) {
    case Op::AtomicAdd:
      return ir::is_float(type) ? "fadd" : "add";
    case Op::AtomicSub:
      return "sub";
    case Op::AtomicExchange:
      return "xchg";
    case Op::AtomicMin:
      return sign ? "min" : "umin";
    case Op::AtomicMax:
      return sign ? "max" : "umax";
    case Op::AtomicAnd:
      return "and";
    case Op::AtomicOr:
      return "or";
    case Op::AtomicXor:
      return "xor";
    default:
      return "";
  }
}

/// The same on two values.
Op plain(Op op) {
  switch (op) {
    case Op::AtomicAdd:
      return Op::Add;
    case Op::AtomicSub:
      return Op::Sub;
    case Op::AtomicMin:
      return Op::Min;
    case Op::AtomicMax:
      return Op::Max;
    case Op::AtomicAnd:
      return Op::And;
    case Op::AtomicOr:
      return Op::Or;
    default:
      return Op::Xor;
  }
}

}  // namespace

/// Calls `body` with the number of each active thread, in a loop, in order.
void Function::each_active(const Mask& mask, const std::function<void(const Text&)>& body) {
  const Text t = w_.bits_type();
  const Text left = w_.variable(t);
  w_.set(t, bits(mask_text(mask)), left);
  const Text head = w_.label(), inside = w_.label(), end = w_.label();
  w_.place(head);
  const Text now = w_.get(t, left);
  w_.branch(w_.let("icmp ne {} {}, 0", t, now), inside, end);
  w_.place(inside);
  body(w_.call(t, fmt::format("llvm.cttz.{}", t), {{t, now}, {"i1", "true"}}));
  w_.set(t, w_.let("and {} {}, {}", t, now, w_.let("sub {} {}, 1", t, now)), left);
  w_.branch(head);
  w_.place(end);
}

/// The operation on one element; returns the old value.
Text Function::atomic_one(const Node& node, const Place& place, const Text& address,
                          std::span<const Text> operands) {
  const Scalar type = place.type;
  const std::string_view t = Writer::scalar(type);
  if (place.shared) {
    // A block's threads are all run by one core.
    Text old = w_.load(t, address, place.align);
    Text next = operands[0];
    if (node.op == Op::AtomicCompareExchange) {
      const Text equal = w_.let("icmp eq {} {}, {}", t, old, operands[0]);
      next = arithmetic_.select(type, equal, operands[1], old, 1);
    } else if (node.op != Op::AtomicExchange) {
      next = arithmetic_.combine(plain(node.op), type, old, operands[0], 1);
    }
    w_.store(t, next, address, place.align);
    return old;
  }
  const Text pointer = w_.pointer(t, address);
  const Text pointer_type = w_.pointer_type(t);
  if (node.op == Op::AtomicCompareExchange) {
    const Text pair = w_.let("cmpxchg {} {}, {} {}, {} {} monotonic monotonic", pointer_type,
                             pointer, t, operands[0], t, operands[1]);
    return w_.let("extractvalue {{ {}, i1 }} {}, 0", t, pair);
  }
  return w_.let("atomicrmw {} {} {}, {} {} monotonic", read_modify_write(node.op, type),
                pointer_type, pointer, t, operands[0]);
}

/// Whether the threads' operands may be joined before memory is touched: whole numbers do not care
/// about the order, and nobody asks for the old values.
bool Function::reduce_first(const Node& node, ValueId id, const Place& place) const {
  return place.kind == Place::Kind::One && plan_.uses(id) == 0 && ir::is_integer(place.type) &&
         node.op != Op::AtomicExchange && node.op != Op::AtomicCompareExchange;
}

Text Function::reduction(const Node& node, const Mask& mask) {
  const Scalar type = type_of(node.operands[1]);
  const bool sign = ir::is_signed(type);
  const bool wide = ir::size_of(type) == 8;
  std::string_view name = read_modify_write(node.op, type);
  std::uint64_t neutral = 0;
  switch (node.op) {
    case Op::AtomicSub:
      name = "add";  // the sum is subtracted
      break;
    case Op::AtomicMin:
      name = sign ? "smin" : "umin";
      neutral = sign ? (wide ? ~std::uint64_t{0} >> 1 : 0x7fffffff) : ~std::uint64_t{0};
      break;
    case Op::AtomicMax:
      name = sign ? "smax" : "umax";
      neutral = sign ? (wide ? std::uint64_t{1} << 63 : 0x80000000) : 0;
      break;
    case Op::AtomicAnd:
      neutral = ~std::uint64_t{0};
      break;
    default:
      break;
  }
  Text values = vector(node.operands[1]);
  if (!mask.full()) {
    values =
        arithmetic_.select(type, mask.text, values, w_.constant(type, neutral, lanes_), lanes_);
  }
  return w_.call(
      w_.type(type, 1),
      fmt::format("llvm.vector.reduce.{}.{}", name, Writer::suffix(Writer::scalar(type), lanes_)),
      {{w_.type(type, lanes_), values}});
}

void Function::atomic(ValueId id, const Mask& mask) {
  const Node& node = kernel_.node(id);
  Place where = place(node, mask);
  if (reduce_first(node, id, where)) {
    const Text joined[] = {reduction(node, where.mask)};
    atomic_one(node, where, where.address, joined);
    return;
  }
  const Text t = Writer::vector_of(Writer::scalar(where.type), lanes_);
  std::vector<Text> vectors;
  for (int i = 1; i < ir::operands_without_slot(node.op); ++i) {
    vectors.push_back(vector(node.operands[static_cast<std::size_t>(i)]));
  }
  const Text old = w_.variable(t);
  w_.set(t, "zeroinitializer", old);
  each_active(where.mask, [&](const Text& lane) {
    std::vector<Text> operands;
    for (const Text& values : vectors) {
      operands.push_back(w_.let("extractelement {} {}, {} {}", t, values, w_.bits_type(), lane));
    }
    Text address = where.address;
    if (where.kind == Place::Kind::Spread) {
      address = w_.let("extractelement {} {}, {} {}", Writer::vector_of(w_.address_type(), lanes_),
                       where.address, w_.bits_type(), lane);
    } else if (where.kind != Place::Kind::One) {
      const Text wide = lanes_ == 64 ? lane : w_.let("zext {} {} to i64", w_.bits_type(), lane);
      const bool down = where.kind == Place::Kind::Reverse;
      const Text step = down ? w_.let("sub i64 {}, {}", lanes_ - 1, wide) : wide;
      address = w_.offset(address, w_.let("mul i64 {}, {}", step, ir::size_of(where.type)));
    }
    const Text before = atomic_one(node, where, address, operands);
    w_.set(t,
           w_.let("insertelement {} {}, {} {}, {} {}", t, w_.get(t, old),
                  Writer::scalar(where.type), before, w_.bits_type(), lane),
           old);
  });
  values_[id] = w_.get(t, old);
}

/// One core runs a block, so that threads of it need the compiler's order only.
Text Function::fence(const Node& node) {
  return node.axis == 1 ? "fence seq_cst" : "fence syncscope(\"singlethread\") seq_cst";
}

}  // namespace salvo::codegen::llvm
