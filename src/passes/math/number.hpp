// Values of the IR with the operators of C++, for passes that write formulas.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>

#include "ir/builder.hpp"

namespace salvo::passes::math {

/// A value in the block that a builder is at. Each operator appends one operation, which rounds
/// once; nothing is contracted or reordered.
class Number {
 public:
  Number(ir::Builder& builder, ir::ValueId id) : builder_(&builder), id_(id) {}

  ir::ValueId id() const noexcept { return id_; }
  ir::Builder& builder() const noexcept { return *builder_; }
  ir::Scalar type() const { return builder_->kernel().nodes[id_].type; }

  /// A constant of this value's type.
  Number like(double value) const;
  Number integer(ir::Scalar type, std::uint64_t bits) const;
  Number apply(ir::Op op, std::initializer_list<Number> others) const;
  Number cast(ir::Scalar to) const { return {*builder_, builder_->cast(to, id_)}; }
  Number bits(ir::Scalar to) const;  // the same bits as another type

  Number operator-() const { return apply(ir::Op::Neg, {}); }

 private:
  ir::Builder* builder_;
  ir::ValueId id_;
};

#define SALVO_NUMBER_OPERATOR(sign, op)                           \
  inline Number operator sign(const Number& a, const Number& b) { \
    return a.apply(ir::Op::op, {b});                              \
  }                                                               \
  inline Number operator sign(const Number& a, double b) {        \
    return a sign a.like(b);                                      \
  }                                                               \
  inline Number operator sign(double a, const Number& b) {        \
    return b.like(a) sign b;                                      \
  }
SALVO_NUMBER_OPERATOR(+, Add)
SALVO_NUMBER_OPERATOR(-, Sub)
SALVO_NUMBER_OPERATOR(*, Mul)
SALVO_NUMBER_OPERATOR(/, Div)
SALVO_NUMBER_OPERATOR(&, And)
SALVO_NUMBER_OPERATOR(|, Or)
SALVO_NUMBER_OPERATOR(^, Xor)
SALVO_NUMBER_OPERATOR(<<, Shl)
SALVO_NUMBER_OPERATOR(>>, Shr)
SALVO_NUMBER_OPERATOR(<, Lt)
SALVO_NUMBER_OPERATOR(<=, Le)
SALVO_NUMBER_OPERATOR(>, Gt)
SALVO_NUMBER_OPERATOR(>=, Ge)
#undef SALVO_NUMBER_OPERATOR

// Named, since == of a class is expected to give a bool.
inline Number equal(const Number& a, const Number& b) {
  return a.apply(ir::Op::Eq, {b});
}
inline Number equal(const Number& a, double b) {
  return equal(a, a.like(b));
}
inline Number differ(const Number& a, const Number& b) {
  return a.apply(ir::Op::Ne, {b});
}
inline Number is_nan(const Number& a) {
  return a.apply(ir::Op::IsNan, {});
}

inline Number fma(const Number& a, const Number& b, const Number& c) {
  return a.apply(ir::Op::Fma, {b, c});
}
inline Number select(const Number& condition, const Number& yes, const Number& no) {
  return condition.apply(ir::Op::Select, {yes, no});
}
inline Number absolute(const Number& a) {
  return a.apply(ir::Op::Abs, {});
}
inline Number smaller(const Number& a, const Number& b) {
  return a.apply(ir::Op::Min, {b});
}
inline Number larger(const Number& a, const Number& b) {
  return a.apply(ir::Op::Max, {b});
}
inline Number root(const Number& a) {
  return a.apply(ir::Op::Sqrt, {});
}
inline Number floor(const Number& a) {
  return a.apply(ir::Op::Floor, {});
}
inline Number with_sign(const Number& magnitude, const Number& sign) {
  return magnitude.apply(ir::Op::Copysign, {sign});
}

/// c[0] + x (c[1] + x (c[2] + ...)).
Number polynomial(const Number& x, std::initializer_list<double> coefficients);
/// `value` times 2^`exponent` (I64, between -2098 and 2098), rounded once.
Number scale(const Number& value, const Number& exponent);
/// 2^`exponent` (I64) as F64; between -1022 and 1023.
Number power_of_two(const Number& exponent);

/// A variable of the kernel, for values that branches and loops decide.
class Cell {
 public:
  explicit Cell(const Number& initial);
  Number get() const { return {*builder_, builder_->var_get(variable_)}; }
  void set(const Number& value) const { builder_->var_set(variable_, value.id()); }

 private:
  ir::Builder* builder_;
  std::uint32_t variable_;
};

void when(const Number& condition, const std::function<void()>& body);
void loop_while(ir::Builder& builder, const std::function<Number()>& condition,
                const std::function<void()>& body);

}  // namespace salvo::passes::math
