// Values of the kernel language: immutable Value, mutable Var, element references, operators.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <limits>
#include <source_location>
#include <type_traits>
#include <utility>

#include "salvo/detail/trace.hpp"
#include "salvo/types.hpp"

namespace salvo {

template <class T>
class Value;
template <class T>
class Var;
template <class T>
class Ref;

namespace detail {

// What a traced operand holds. Plain C++ numbers are constants.
template <class A>
struct Traced {
  static constexpr bool value = false;
};
template <class T>
struct Traced<Value<T>> {
  static constexpr bool value = true;
  using type = T;
};
template <class T>
struct Traced<Var<T>> {
  static constexpr bool value = true;
  using type = T;
};
template <class T>
struct Traced<Ref<T>> {
  static constexpr bool value = true;
  using type = computed_t<T>;
};

template <class A>
concept traced = Traced<std::remove_cvref_t<A>>::value &&
    is_scalar<typename Traced<std::remove_cvref_t<A>>::type>;
template <class A>
concept constant = std::is_arithmetic_v<std::remove_cvref_t<A>>;
template <class A>
concept operand = traced<A> || constant<A>;
template <class A, class B>
concept operands = operand<A> && operand<B> &&(traced<A> || traced<B>);

/// Whether a C++ constant of type C stands for a value of type T without surprise.
template <class T, class C>
constexpr bool constant_fits = std::is_same_v<T, C> ||
                               (std::is_floating_point_v<T> && std::is_integral_v<C> &&
                                !std::is_same_v<C, bool>) ||
                               (std::is_same_v<T, double> && std::is_same_v<C, float>) ||
                               (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                                std::is_integral_v<C> && !std::is_same_v<C, bool>);

template <class A>
struct OperandType {
  using type = std::remove_cvref_t<A>;
};
template <traced A>
struct OperandType<A> {
  using type = typename Traced<std::remove_cvref_t<A>>::type;
};
template <class A>
using operand_t = typename OperandType<A>::type;

/// The type two operands meet in: equal types, or an integer widened without loss. Constants take
/// the other's type.
template <class A, class B>
constexpr auto common_type() {
  using X = operand_t<A>;
  using Y = operand_t<B>;
  if constexpr (!traced<A>) {
    static_assert(constant_fits<Y, X>,
                  "salvo: this constant does not fit the value's type; cast it (2.0f, not 2.0)");
    return std::type_identity<Y>{};
  } else if constexpr (!traced<B>) {
    static_assert(constant_fits<X, Y>,
                  "salvo: this constant does not fit the value's type; cast it (2.0f, not 2.0)");
    return std::type_identity<X>{};
  } else if constexpr (std::is_same_v<X, Y>) {
    return std::type_identity<X>{};
  } else {
    constexpr bool widens = std::is_integral_v<X> && std::is_integral_v<Y> &&
                            !std::is_same_v<X, bool> && !std::is_same_v<Y, bool> &&
                            (sizeof(X) != sizeof(Y)) &&
                            (std::is_signed_v<X> == std::is_signed_v<Y> ||
                             std::is_signed_v<std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>>);
    static_assert(widens, "salvo: operands of different types; use salvo::cast<T>(value)");
    return std::type_identity<std::conditional_t<(sizeof(X) > sizeof(Y)), X, Y>>{};
  }
}
template <class A, class B>
using common_t = typename decltype(common_type<A, B>())::type;

[[noreturn]] void constant_out_of_range();

template <class T, class C>
ValueId constant_id(C value) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<C> && !std::is_same_v<T, bool>) {
    if (!std::in_range<T>(value)) constant_out_of_range();
  }
  return emit_constant(scalar_of<T>(), bits_of(static_cast<T>(value)));
}

/// Node of an operand as a T; widens and makes constants as needed.
template <class T, class A>
ValueId id_as(const A& operand) {
  if constexpr (constant<A>) {
    return constant_id<T>(operand);
  } else if constexpr (std::is_same_v<operand_t<A>, T>) {
    return operand.id();
  } else {
    return emit_cast(ir::Op::Cast, scalar_of<T>(), operand.id());
  }
}

}  // namespace detail

/// An immutable value of a kernel: the result of one operation in every thread. T is a compute type
/// (bool, int32_t, uint32_t, int64_t, uint64_t, float, double) or a registered record. Everything
/// that makes or uses values throws Errc::invalid_kernel outside of a lambda that is being traced.
template <class T>
class Value {
  static_assert(std::is_same_v<T, detail::computed_t<T>>,
                "salvo: values have 32 or 64 bits; narrow types exist in memory only");

 public:
  using type = T;
  /// @cond internal
  explicit Value(detail::ValueId id) : id_(id) {}
  /// @endcond
  template <class C>
  requires(detail::constant<C>) Value(C constant) : id_(detail::constant_id<T>(constant)) {
    static_assert(detail::constant_fits<T, C>,
                  "salvo: this constant does not fit the value's type; cast it (2.0f, not 2.0)");
  }
  template <detail::traced A>
  requires(!std::is_same_v<A, Value>) Value(const A& other) : id_(detail::id_as<T>(other)) {
    static_assert(std::is_same_v<detail::common_t<Value, A>, T>,
                  "salvo: different types; use salvo::cast<T>(value)");
  }
  Value(const Value&) = default;
  // Compilers show these two lines, so what to do is said there.
  Value& operator=(const Value&) = delete;  // salvo: values do not change; use a Var<T>
  explicit operator bool() const = delete;  // salvo: not known in C++; use if_, while_, select

  /// @cond internal
  detail::ValueId id() const { return id_; }
  /// @endcond

 private:
  detail::ValueId id_;
};

using Bool = Value<bool>;
using Int = Value<std::int32_t>;
using UInt = Value<std::uint32_t>;
using Int64 = Value<std::int64_t>;
using UInt64 = Value<std::uint64_t>;
using Float = Value<float>;
using Double = Value<double>;

// ---- Operators -------------------------------------------------------------------------------

#define SALVO_BINARY(symbol, opcode)                                                           \
  template <class A, class B>                                                                  \
  requires detail::operands<A, B>                                                              \
  auto operator symbol(const A& a, const B& b) {                                               \
    using T = detail::common_t<A, B>;                                                          \
    static_assert(!std::is_same_v<T, bool>, "salvo: no arithmetic on bool");                   \
    return Value<T>(detail::emit(ir::Op::opcode, {detail::id_as<T>(a), detail::id_as<T>(b)})); \
  }
SALVO_BINARY(+, Add)
SALVO_BINARY(-, Sub)
SALVO_BINARY(*, Mul)
SALVO_BINARY(/, Div)
#undef SALVO_BINARY

#define SALVO_INTEGER(symbol, opcode)                                                              \
  template <class A, class B>                                                                      \
  requires detail::operands<A, B>                                                                  \
  auto operator symbol(const A& a, const B& b) {                                                   \
    using T = detail::common_t<A, B>;                                                              \
    static_assert(std::is_integral_v<T>, "salvo: this operator is for integers; see salvo::fmod"); \
    return Value<T>(detail::emit(ir::Op::opcode, {detail::id_as<T>(a), detail::id_as<T>(b)}));     \
  }
SALVO_INTEGER(%, Rem)
SALVO_INTEGER(&, And)
SALVO_INTEGER(|, Or)
SALVO_INTEGER(^, Xor)
#undef SALVO_INTEGER

// A shift keeps the left operand's type; the count is taken modulo its width.
#define SALVO_SHIFT(name, opcode)                                                       \
  template <class A, class B>                                                           \
  requires(detail::traced<A> && detail::operand<B>) auto name(const A& a, const B& b) { \
    using T = detail::operand_t<A>;                                                     \
    static_assert(std::is_integral_v<T> && std::is_integral_v<detail::operand_t<B>>,    \
                  "salvo: shifts are for integers");                                    \
    detail::ValueId count;                                                              \
    if constexpr (detail::constant<B>) {                                                \
      count = detail::constant_id<T>(b);                                                \
    } else {                                                                            \
      count = std::is_same_v<T, detail::operand_t<B>>                                   \
                  ? b.id()                                                              \
                  : detail::emit_cast(ir::Op::Cast, detail::scalar_of<T>(), b.id());    \
    }                                                                                   \
    return Value<T>(detail::emit(ir::Op::opcode, {a.id(), count}));                     \
  }
SALVO_SHIFT(operator<<, Shl)
SALVO_SHIFT(operator>>, Shr)
/// Right shift that fills with zeros on signed types too.
SALVO_SHIFT(shift_right_logical, ShrLogical)
#undef SALVO_SHIFT

#define SALVO_COMPARE(symbol, opcode)                                                      \
  template <class A, class B>                                                              \
  requires detail::operands<A, B> Bool operator symbol(const A& a, const B& b) {           \
    using T = detail::common_t<A, B>;                                                      \
    return Bool(detail::emit(ir::Op::opcode, {detail::id_as<T>(a), detail::id_as<T>(b)})); \
  }
SALVO_COMPARE(==, Eq)
SALVO_COMPARE(!=, Ne)
SALVO_COMPARE(<, Lt)
SALVO_COMPARE(<=, Le)
SALVO_COMPARE(>, Gt)
SALVO_COMPARE(>=, Ge)
#undef SALVO_COMPARE

// Both sides are evaluated: there is no short circuit inside a kernel.
#define SALVO_LOGICAL(symbol, opcode)                                                            \
  template <class A, class B>                                                                    \
  requires detail::operands<A, B> Bool operator symbol(const A& a, const B& b) {                 \
    static_assert(std::is_same_v<detail::common_t<A, B>, bool>,                                  \
                  "salvo: logical operators are for bool");                                      \
    return Bool(detail::emit(ir::Op::opcode, {detail::id_as<bool>(a), detail::id_as<bool>(b)})); \
  }
SALVO_LOGICAL(&&, And)
SALVO_LOGICAL(||, Or)
#undef SALVO_LOGICAL

template <detail::traced A>
auto operator-(const A& a) {
  static_assert(!std::is_same_v<detail::operand_t<A>, bool>, "salvo: no arithmetic on bool");
  return Value<detail::operand_t<A>>(detail::emit(ir::Op::Neg, {a.id()}));
}
template <detail::traced A>
auto operator+(const A& a) {
  return Value<detail::operand_t<A>>(a.id());
}
template <detail::traced A>
auto operator~(const A& a) {
  static_assert(std::is_integral_v<detail::operand_t<A>>, "salvo: ~ is for integers");
  return Value<detail::operand_t<A>>(detail::emit(ir::Op::Not, {a.id()}));
}
template <detail::traced A>
Bool operator!(const A& a) {
  static_assert(std::is_same_v<detail::operand_t<A>, bool>, "salvo: ! is for bool");
  return Bool(detail::emit(ir::Op::Not, {a.id()}));
}

/// C++ conversion; float to integer saturates and NaN becomes 0, on every device.
template <class T, detail::traced A>
Value<T> cast(const A& a) {
  return Value<T>(detail::emit_cast(ir::Op::Cast, detail::scalar_of<T>(), a.id()));
}
/// The same bits as another type of the same width.
template <class T, detail::traced A>
Value<T> bitcast(const A& a) {
  static_assert(sizeof(T) == sizeof(detail::operand_t<A>), "salvo: bitcast needs equal widths");
  return Value<T>(detail::emit_cast(ir::Op::Bitcast, detail::scalar_of<T>(), a.id()));
}
/// `a` where the condition holds, else `b`. Both are evaluated; no divergence.
template <class A, class B>
requires detail::operands<A, B>
auto select(Bool condition, const A& a, const B& b) {
  using T = detail::common_t<A, B>;
  return Value<T>(
      detail::emit(ir::Op::Select, {condition.id(), detail::id_as<T>(a), detail::id_as<T>(b)}));
}

// ---- Variables and references ----------------------------------------------------------------

namespace detail {

/// Compound assignment, increment and decrement, for everything that can be read and assigned.
template <class Self>
struct Compound {
#define SALVO_COMPOUND(symbol)              \
  template <detail::operand B>              \
  Self& operator symbol##=(const B& b) {    \
    auto& self = static_cast<Self&>(*this); \
    self = self symbol b;                   \
    return self;                            \
  }
  SALVO_COMPOUND(+)
  SALVO_COMPOUND(-)
  SALVO_COMPOUND(*)
  SALVO_COMPOUND(/)
  SALVO_COMPOUND(%)
  SALVO_COMPOUND(&)
  SALVO_COMPOUND(|)
  SALVO_COMPOUND(^)
  SALVO_COMPOUND(<<)
  SALVO_COMPOUND(>>)
#undef SALVO_COMPOUND
  Self& operator++() {
    return *this += 1;
  }
  Self& operator--() {
    return *this -= 1;
  }
  /// These give the value before.
  auto operator++(int) {
    const Value<typename Self::type> before(static_cast<Self&>(*this).id());
    *this += 1;
    return before;
  }
  auto operator--(int) {
    const Value<typename Self::type> before(static_cast<Self&>(*this).id());
    *this -= 1;
    return before;
  }
};

}  // namespace detail

/// A mutable variable of one thread. Copying makes another variable with the same value (K3).
template <class T>
class Var : public detail::Compound<Var<T>> {
  static_assert(detail::is_scalar<T> && std::is_same_v<T, detail::computed_t<T>>,
                "salvo: Var holds bool, 32- and 64-bit integers, float, double or records");

 public:
  using type = T;
  Var() : variable_(detail::make_variable(detail::scalar_of<T>())) {}
  Var(Value<T> initial) : Var() { detail::emit_var_set(variable_, initial.id()); }
  template <detail::operand A>
  requires(!std::is_same_v<A, Var> && !std::is_same_v<A, Value<T>>) Var(const A& initial)
      : Var(Value<T>(initial)) {}
  Var(const Var& other) : Var(Value<T>(other.id())) {}
  Var& operator=(const Var& other) { return assign(other.id()); }
  template <detail::operand A>
  Var& operator=(const A& value) {
    return assign(Value<T>(value).id());
  }
  /// @cond internal
  detail::ValueId id() const { return detail::emit_var_get(variable_); }
  /// @endcond

 private:
  Var& assign(detail::ValueId value) {
    detail::emit_var_set(variable_, value);
    return *this;
  }
  std::uint32_t variable_;
};
template <class T>
Var(Value<T>) -> Var<T>;
template <class T>
Var(Ref<T>) -> Var<detail::computed_t<T>>;

/// A reference to one element of a span or array. Reading it gives the element as it was where the
/// reference was made; assigning stores. No load is made unless it is read.
template <class T>
class Ref : public detail::Compound<Ref<T>> {
 public:
  using type = detail::computed_t<T>;
  /// @cond internal
  explicit Ref(detail::Place place) : place_(std::move(place)) {}
  /// @endcond
  Ref(const Ref&) = default;
  Ref& operator=(const Ref& other) { return assign(other.id()); }
  template <detail::operand A>
  Ref& operator=(const A& value) {
    static_assert(!std::is_const_v<T>, "salvo: this span is read-only (Span<const T>)");
    static_assert(
        [] {
          if constexpr (detail::constant<A>)
            return detail::constant_fits<type, A>;
          else
            return std::is_same_v<detail::operand_t<A>, type>;
        }(),
        "salvo: stored value and element differ in type; use salvo::cast<T>(value)");
    return assign(detail::id_as<type>(value));
  }
  /// @cond internal
  detail::ValueId id() const { return detail::read_place(place_, 0); }
  const detail::Place& place() const { return place_; }
  /// @endcond

 private:
  Ref& assign(detail::ValueId value) {
    static_assert(!std::is_const_v<T>, "salvo: this span is read-only (Span<const T>)");
    detail::store_place(place_, 0, value);
    return *this;
  }
  detail::Place place_;
};

}  // namespace salvo
