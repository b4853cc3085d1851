// Mathematical functions of the kernel language (K9), and warp operations (K10).
// SPDX-License-Identifier: MIT
//
// They have the meaning of their namesakes in <cmath>; a domain error gives NaN. How many ulps from
// the exact result each may be is in docs/exactness.md, "Math functions". All throw
// Errc::invalid_kernel outside of a kernel that is being traced.
#pragma once

#include <source_location>

#include "salvo/value.hpp"

namespace salvo {

#define SALVO_UNARY(name, opcode)                                               \
  template <detail::traced A>                                                   \
  auto name(const A& a) {                                                       \
    static_assert(std::is_floating_point_v<detail::operand_t<A>>,               \
                  "salvo: " #name " takes float or double");                    \
    return Value<detail::operand_t<A>>(detail::emit(ir::Op::opcode, {a.id()})); \
  }
SALVO_UNARY(sqrt, Sqrt)
SALVO_UNARY(rsqrt, Rsqrt)
SALVO_UNARY(cbrt, Cbrt)
SALVO_UNARY(sin, Sin)
SALVO_UNARY(cos, Cos)
SALVO_UNARY(tan, Tan)
SALVO_UNARY(asin, Asin)
SALVO_UNARY(acos, Acos)
SALVO_UNARY(atan, Atan)
SALVO_UNARY(sinh, Sinh)
SALVO_UNARY(cosh, Cosh)
SALVO_UNARY(tanh, Tanh)
SALVO_UNARY(exp, Exp)
SALVO_UNARY(exp2, Exp2)
SALVO_UNARY(expm1, Expm1)
SALVO_UNARY(log, Log)
SALVO_UNARY(log2, Log2)
SALVO_UNARY(log10, Log10)
SALVO_UNARY(log1p, Log1p)
SALVO_UNARY(floor, Floor)
SALVO_UNARY(ceil, Ceil)
SALVO_UNARY(round, Round)
SALVO_UNARY(trunc, Trunc)
SALVO_UNARY(fabs, Abs)
#undef SALVO_UNARY

#define SALVO_BINARY_MATH(name, opcode)                                                        \
  template <class A, class B>                                                                  \
  requires detail::operands<A, B>                                                              \
  auto name(const A& a, const B& b) {                                                          \
    using T = detail::common_t<A, B>;                                                          \
    static_assert(std::is_floating_point_v<T>, "salvo: " #name " takes float or double");      \
    return Value<T>(detail::emit(ir::Op::opcode, {detail::id_as<T>(a), detail::id_as<T>(b)})); \
  }
SALVO_BINARY_MATH(atan2, Atan2)
SALVO_BINARY_MATH(pow, Pow)
SALVO_BINARY_MATH(hypot, Hypot)
SALVO_BINARY_MATH(fmod, Fmod)
SALVO_BINARY_MATH(copysign, Copysign)
#undef SALVO_BINARY_MATH

template <detail::traced A>
Bool isnan(const A& a) {
  static_assert(std::is_floating_point_v<detail::operand_t<A>>, "salvo: isnan takes floats");
  return Bool(detail::emit(ir::Op::IsNan, {a.id()}));
}
template <detail::traced A>
Bool isinf(const A& a) {
  static_assert(std::is_floating_point_v<detail::operand_t<A>>, "salvo: isinf takes floats");
  return Bool(detail::emit(ir::Op::IsInf, {a.id()}));
}
template <detail::traced A>
auto abs(const A& a) {
  return Value<detail::operand_t<A>>(detail::emit(ir::Op::Abs, {a.id()}));
}

/// The smaller operand; with floats the other one if one is NaN, and -0 below +0.
template <class A, class B>
requires detail::operands<A, B>
auto min(const A& a, const B& b) {
  using T = detail::common_t<A, B>;
  return Value<T>(detail::emit(ir::Op::Min, {detail::id_as<T>(a), detail::id_as<T>(b)}));
}
template <class A, class B>
requires detail::operands<A, B>
auto max(const A& a, const B& b) {
  using T = detail::common_t<A, B>;
  return Value<T>(detail::emit(ir::Op::Max, {detail::id_as<T>(a), detail::id_as<T>(b)}));
}
template <detail::traced A, detail::operand L, detail::operand H>
auto clamp(const A& a, const L& low, const H& high) {
  return min(max(a, low), high);
}

/// a * b + c rounded once. Written by hand it is always fused, whatever the contraction mode.
template <class A, class B, class C>
requires(detail::operand<A>&& detail::operand<B>&& detail::operand<C> &&
         (detail::traced<A> || detail::traced<B> ||
          detail::traced<C>)) auto fma(const A& a, const B& b, const C& c) {
  using T = std::conditional_t<
      detail::traced<A>, detail::operand_t<A>,
      std::conditional_t<detail::traced<B>, detail::operand_t<B>, detail::operand_t<C>>>;
  static_assert(std::is_floating_point_v<T>, "salvo: fma takes float or double");
  return Value<T>(
      detail::emit(ir::Op::Fma, {Value<T>(a).id(), Value<T>(b).id(), Value<T>(c).id()}));
}

/// Leading zero bits; the width for zero.
template <detail::traced A>
auto clz(const A& a) {
  static_assert(std::is_integral_v<detail::operand_t<A>>, "salvo: clz takes integers");
  return Value<detail::operand_t<A>>(detail::emit(ir::Op::Clz, {a.id()}));
}
template <detail::traced A>
auto popcount(const A& a) {
  static_assert(std::is_integral_v<detail::operand_t<A>>, "salvo: popcount takes integers");
  return Value<detail::operand_t<A>>(detail::emit(ir::Op::Popcount, {a.id()}));
}

// Warp operations: all threads of the warp take part; `salvo::kernel` throws Errc::invalid_kernel
// where that is not proved, and a launch Errc::unsupported on a device without them.
//
// A shuffle gives the value that another lane has: lane `lane`, or the own one minus, plus or xor
// `lane`. Up and down past the ends of the warp give the own value. Of any other lane that the warp
// does not have, or the end of the block cut off, the value is undefined; the Interpreter throws
// Errc::check_failed.
#define SALVO_SHUFFLE(name, opcode)                                         \
  template <detail::traced A>                                               \
  auto name(const A& value, Int lane,                                       \
            std::source_location where = std::source_location::current()) { \
    return Value<detail::operand_t<A>>(                                     \
        detail::emit_at(ir::Op::opcode, {value.id(), lane.id()}, where));   \
  }
SALVO_SHUFFLE(shuffle, Shuffle)
SALVO_SHUFFLE(shuffle_up, ShuffleUp)
SALVO_SHUFFLE(shuffle_down, ShuffleDown)
SALVO_SHUFFLE(shuffle_xor, ShuffleXor)
#undef SALVO_SHUFFLE
#define SALVO_REDUCE(name, opcode)                                                            \
  template <detail::traced A>                                                                 \
  auto name(const A& value, std::source_location where = std::source_location::current()) {   \
    return Value<detail::operand_t<A>>(detail::emit_at(ir::Op::opcode, {value.id()}, where)); \
  }
SALVO_REDUCE(warp_add, WarpAdd)
SALVO_REDUCE(warp_min, WarpMin)
SALVO_REDUCE(warp_max, WarpMax)
#undef SALVO_REDUCE
inline Bool any(Bool value, std::source_location where = std::source_location::current()) {
  return Bool(detail::emit_at(ir::Op::Any, {value.id()}, where));
}
inline Bool all(Bool value, std::source_location where = std::source_location::current()) {
  return Bool(detail::emit_at(ir::Op::All, {value.id()}, where));
}
inline UInt64 ballot(Bool value, std::source_location where = std::source_location::current()) {
  return UInt64(detail::emit_at(ir::Op::Ballot, {value.id()}, where));
}

}  // namespace salvo
