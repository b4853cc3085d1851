// Math functions on floats; F32 ones go through double and are rounded once.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "backends/interpreter/arithmetic.hpp"
#include "backends/interpreter/lane_loops.hpp"

namespace salvo::backends::interpreter {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

/// A libm function taken in double whatever the type.
template <Unary kFunction>
struct ViaDouble {
  template <Floating T>
  static T apply(T x) {
    return static_cast<T>(kFunction(static_cast<double>(x)));
  }
};

template <Binary kFunction>
struct ViaDouble2 {
  template <Floating T>
  static T apply(T x, T y) {
    return static_cast<T>(kFunction(static_cast<double>(x), static_cast<double>(y)));
  }
};

double reciprocal_sqrt(double x) {
  return 1.0 / std::sqrt(x);
}

// Exact in the type itself: going through double could round twice.
struct Sqrt {
  template <Floating T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};
struct Floor {
  template <Floating T>
  static T apply(T x) {
    return std::floor(x);
  }
};
struct Ceil {
  template <Floating T>
  static T apply(T x) {
    return std::ceil(x);
  }
};
struct Round {
  template <Floating T>
  static T apply(T x) {
    return std::round(x);
  }
};
struct Trunc {
  template <Floating T>
  static T apply(T x) {
    return std::trunc(x);
  }
};
struct Fmod {
  template <Floating T>
  static T apply(T x, T y) {
    return std::fmod(x, y);
  }
};
struct Copysign {
  template <Floating T>
  static T apply(T x, T y) {
    return std::copysign(x, y);
  }
};
struct IsNan {
  template <Floating T>
  static bool apply(T x) {
    return std::isnan(x);
  }
};
struct IsInf {
  template <Floating T>
  static bool apply(T x) {
    return std::isinf(x);
  }
};

template <Unary kFunction>
LaneFunction via_double(ir::Scalar type) {
  return unary<ViaDouble<kFunction>>(type);
}
template <Binary kFunction>
LaneFunction via_double2(ir::Scalar type) {
  return binary<ViaDouble2<kFunction>>(type);
}

}  // namespace

LaneFunction math_function(ir::Op op, ir::Scalar operand) {
  switch (op) {
    case ir::Op::Sqrt:
      return unary<Sqrt>(operand);
    case ir::Op::Rsqrt:
      return via_double<reciprocal_sqrt>(operand);
    case ir::Op::Cbrt:
      return via_double<std::cbrt>(operand);
    case ir::Op::Sin:
      return via_double<std::sin>(operand);
    case ir::Op::Cos:
      return via_double<std::cos>(operand);
    case ir::Op::Tan:
      return via_double<std::tan>(operand);
    case ir::Op::Asin:
      return via_double<std::asin>(operand);
    case ir::Op::Acos:
      return via_double<std::acos>(operand);
    case ir::Op::Atan:
      return via_double<std::atan>(operand);
    case ir::Op::Atan2:
      return via_double2<std::atan2>(operand);
    case ir::Op::Sinh:
      return via_double<std::sinh>(operand);
    case ir::Op::Cosh:
      return via_double<std::cosh>(operand);
    case ir::Op::Tanh:
      return via_double<std::tanh>(operand);
    case ir::Op::Exp:
      return via_double<std::exp>(operand);
    case ir::Op::Exp2:
      return via_double<std::exp2>(operand);
    case ir::Op::Expm1:
      return via_double<std::expm1>(operand);
    case ir::Op::Log:
      return via_double<std::log>(operand);
    case ir::Op::Log2:
      return via_double<std::log2>(operand);
    case ir::Op::Log10:
      return via_double<std::log10>(operand);
    case ir::Op::Log1p:
      return via_double<std::log1p>(operand);
    case ir::Op::Pow:
      return via_double2<std::pow>(operand);
    case ir::Op::Hypot:
      return via_double2<std::hypot>(operand);
    case ir::Op::Floor:
      return unary<Floor>(operand);
    case ir::Op::Ceil:
      return unary<Ceil>(operand);
    case ir::Op::Round:
      return unary<Round>(operand);
    case ir::Op::Trunc:
      return unary<Trunc>(operand);
    case ir::Op::Fmod:
      return binary<Fmod>(operand);
    case ir::Op::Copysign:
      return binary<Copysign>(operand);
    case ir::Op::IsNan:
      return unary<IsNan>(operand);
    case ir::Op::IsInf:
      return unary<IsInf>(operand);
    default:
      return nullptr;
  }
}

}  // namespace salvo::backends::interpreter
