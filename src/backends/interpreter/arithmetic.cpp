// What each pure operation computes, exactly as include/salvo/ir.hpp defines it.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/arithmetic.hpp"

#include <cmath>
#include <limits>

#include "backends/interpreter/convert.hpp"
#include "backends/interpreter/lane_loops.hpp"

namespace salvo::backends::interpreter {
namespace {

/// Wrap-around happens in the unsigned type, where it is defined.
template <Integer T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
  template <Integer T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
  template <Floating T>
  static T apply(T a, T b) {
    return a + b;
  }
};

struct Sub {
  template <Integer T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
  template <Floating T>
  static T apply(T a, T b) {
    return a - b;
  }
};

struct Mul {
  template <Integer T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  }
  template <Floating T>
  static T apply(T a, T b) {
    return a * b;
  }
};

struct Neg {
  template <Integer T>
  static T apply(T a) {
    return Sub::apply(T{0}, a);
  }
  template <Floating T>
  static T apply(T a) {
    return -a;
  }
};

struct Div {
  template <Integer T>
  static T apply(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Neg::apply(a);  // the lowest value has no positive counterpart
    }
    return a / b;
  }
  template <Floating T>
  static T apply(T a, T b) {
    return a / b;
  }
};

struct Rem {
  template <Integer T>
  static T apply(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return a % b;
  }
};

struct Abs {
  template <Integer T>
  static T apply(T a) {
    return a < T{0} ? Neg::apply(a) : a;
  }
  template <Floating T>
  static T apply(T a) {
    return std::fabs(a);
  }
};

struct Min {
  template <Integer T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
  template <Floating T>
  static T apply(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  }
};

struct Max {
  template <Integer T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
  template <Floating T>
  static T apply(T a, T b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
  }
};

struct Fma {
  template <Floating T>
  static T apply(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};

struct Not {
  static bool apply(std::same_as<bool> auto a) { return !a; }
  template <Integer T>
  static T apply(T a) {
    return static_cast<T>(~a);
  }
};

template <Integer T>
unsigned shift_count(T count) {
  return static_cast<unsigned>(count) & (std::numeric_limits<Unsigned<T>>::digits - 1);
}

struct Shl {
  template <Integer T>
  static T apply(T a, T count) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) << shift_count(count));
  }
};

struct Shr {
  template <Integer T>
  static T apply(T a, T count) {
    return static_cast<T>(a >> shift_count(count));
  }
};

struct ShrLogical {
  template <Integer T>
  static T apply(T a, T count) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) >> shift_count(count));
  }
};

struct Clz {
  template <Integer T>
  static T apply(T a) {
    return static_cast<T>(std::countl_zero(static_cast<Unsigned<T>>(a)));
  }
};

struct Popcount {
  template <Integer T>
  static T apply(T a) {
    return static_cast<T>(std::popcount(static_cast<Unsigned<T>>(a)));
  }
};

struct Eq {
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};

struct Ne {
  template <class T>
  static bool apply(T a, T b) {
    return a != b;
  }
};

struct Lt {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};

struct Le {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};

struct Gt {
  template <class T>
  static bool apply(T a, T b) {
    return a > b;
  }
};

struct Ge {
  template <class T>
  static bool apply(T a, T b) {
    return a >= b;
  }
};

// Operations on bits alone work on whole slots: the zeros above a narrow value stay zeros.
struct And {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a & b; }
};
struct Or {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a | b; }
};
struct Xor {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b) { return a ^ b; }
};
struct Same {
  static std::uint64_t apply(std::uint64_t a) { return a; }
};
struct Choose {
  static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    return a != 0 ? b : c;
  }
};

template <class F>
LaneFunction bitwise(ir::Scalar type) {
  return ir::is_float(type) ? nullptr : &binary_loop<F, std::uint64_t>;
}

}  // namespace

LaneFunction lane_function(ir::Op op, ir::Scalar result, ir::Scalar operand) {
  switch (op) {
    case ir::Op::Add:
      return binary<Add>(operand);
    case ir::Op::Sub:
      return binary<Sub>(operand);
    case ir::Op::Mul:
      return binary<Mul>(operand);
    case ir::Op::Div:
      return binary<Div>(operand);
    case ir::Op::Rem:
      return binary<Rem>(operand);
    case ir::Op::Neg:
      return unary<Neg>(operand);
    case ir::Op::Abs:
      return unary<Abs>(operand);
    case ir::Op::Min:
      return binary<Min>(operand);
    case ir::Op::Max:
      return binary<Max>(operand);
    case ir::Op::Fma:
      return ternary<Fma>(operand);
    case ir::Op::And:
      return bitwise<And>(operand);
    case ir::Op::Or:
      return bitwise<Or>(operand);
    case ir::Op::Xor:
      return bitwise<Xor>(operand);
    case ir::Op::Not:
      return unary<Not>(operand);
    case ir::Op::Shl:
      return binary<Shl>(operand);
    case ir::Op::Shr:
      return binary<Shr>(operand);
    case ir::Op::ShrLogical:
      return binary<ShrLogical>(operand);
    case ir::Op::Clz:
      return unary<Clz>(operand);
    case ir::Op::Popcount:
      return unary<Popcount>(operand);
    case ir::Op::Eq:
      return binary<Eq>(operand);
    case ir::Op::Ne:
      return binary<Ne>(operand);
    case ir::Op::Lt:
      return binary<Lt>(operand);
    case ir::Op::Le:
      return binary<Le>(operand);
    case ir::Op::Gt:
      return binary<Gt>(operand);
    case ir::Op::Ge:
      return binary<Ge>(operand);
    case ir::Op::Select:
      return &ternary_loop<Choose, std::uint64_t>;
    case ir::Op::Cast:
      return cast_function(result, operand);
    case ir::Op::Bitcast:
      return ir::size_of(result) == ir::size_of(operand) ? &unary_loop<Same, std::uint64_t>
                                                         : nullptr;
    default:
      return math_function(op, operand);
  }
}

std::uint64_t evaluate(LaneFunction function, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t out = 0;
  function(&a, &b, &c, &out, Lanes{nullptr, 1});
  return out;
}

}  // namespace salvo::backends::interpreter
