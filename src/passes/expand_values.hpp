// Arithmetic on IR values in C++ operators, for passes that write formulas.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "ir/builder.hpp"

namespace salvo::passes {

/// A value of the kernel being built.
struct Value {
  ir::Builder* builder = nullptr;
  ir::ValueId id = ir::kNoValue;

  ir::Scalar type() const { return builder->kernel().nodes[id].type; }
  Value constant(ir::Scalar type, std::uint64_t bits) const {
    return {builder, builder->constant(type, bits)};
  }
  /// A number of this value's type.
  Value number(double value) const {
    switch (type()) {
      case ir::Scalar::F32:
        return constant(type(), std::bit_cast<std::uint32_t>(static_cast<float>(value)));
      case ir::Scalar::F64:
        return constant(type(), std::bit_cast<std::uint64_t>(value));
      default:
        return constant(type(), static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
    }
  }
  Value cast(ir::Scalar to) const { return {builder, builder->cast(to, id)}; }
  Value bits() const { return as(type() == ir::Scalar::F32 ? ir::Scalar::U32 : ir::Scalar::U64); }
  Value as(ir::Scalar to) const {
    ir::Node node;
    node.op = ir::Op::Bitcast;
    node.type = to;
    node.operands[0] = id;
    node.operand_count = 1;
    return {builder, builder->append(node)};
  }
};

inline Value apply(ir::Op op, Value a) {
  return {a.builder, a.builder->op(op, {a.id})};
}
inline Value apply(ir::Op op, Value a, Value b) {
  return {a.builder, a.builder->op(op, {a.id, b.id})};
}
inline Value choose(Value condition, Value yes, Value no) {
  return {yes.builder, yes.builder->op(ir::Op::Select, {condition.id, yes.id, no.id})};
}

#define SALVO_VALUE_OPERATOR(sign, op)            \
  inline Value operator sign(Value a, Value b) {  \
    return apply(ir::Op::op, a, b);               \
  }                                               \
  inline Value operator sign(Value a, double b) { \
    return apply(ir::Op::op, a, a.number(b));     \
  }                                               \
  inline Value operator sign(double a, Value b) { \
    return apply(ir::Op::op, b.number(a), b);     \
  }
SALVO_VALUE_OPERATOR(+, Add)
SALVO_VALUE_OPERATOR(-, Sub)
SALVO_VALUE_OPERATOR(*, Mul)
SALVO_VALUE_OPERATOR(/, Div)
SALVO_VALUE_OPERATOR(<, Lt)
SALVO_VALUE_OPERATOR(<=, Le)
SALVO_VALUE_OPERATOR(>, Gt)
SALVO_VALUE_OPERATOR(>=, Ge)
SALVO_VALUE_OPERATOR(==, Eq)
SALVO_VALUE_OPERATOR(!=, Ne)
#undef SALVO_VALUE_OPERATOR

inline Value operator%(Value a, Value b) {
  return apply(ir::Op::Rem, a, b);
}
inline Value operator&(Value a, Value b) {
  return apply(ir::Op::And, a, b);
}
inline Value operator|(Value a, Value b) {
  return apply(ir::Op::Or, a, b);
}
inline Value operator<<(Value a, Value b) {
  return apply(ir::Op::Shl, a, b);
}
inline Value operator>>(Value a, Value b) {
  return apply(ir::Op::Shr, a, b);
}
inline Value operator-(Value a) {
  return apply(ir::Op::Neg, a);
}
inline Value absolute(Value a) {
  return apply(ir::Op::Abs, a);
}

/// c[0] + c[1] * x + c[2] * x^2 + ...
inline Value polynomial(Value x, std::initializer_list<double> coefficients) {
  const double* c = coefficients.end() - 1;
  Value sum = x.number(*c);
  while (c != coefficients.begin()) sum = sum * x + *--c;
  return sum;
}

}  // namespace salvo::passes
