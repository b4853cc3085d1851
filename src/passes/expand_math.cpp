// Writes math functions out as exactly rounded operations, for targets without a library of them.
// SPDX-License-Identifier: MIT
#include "passes/expand_math.hpp"

#include "passes/clone.hpp"
#include "passes/math/functions.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;
using math::Number;

using Unary = Number (*)(const Number&);
using Binary = Number (*)(const Number&, const Number&);

Unary unary(Op op) {
  switch (op) {
    case Op::Rsqrt:
      return math::reciprocal_root;
    case Op::Cbrt:
      return math::cube_root;
    case Op::Sin:
      return math::sine;
    case Op::Cos:
      return math::cosine;
    case Op::Tan:
      return math::tangent;
    case Op::Asin:
      return math::arc_sine;
    case Op::Acos:
      return math::arc_cosine;
    case Op::Atan:
      return math::arc_tangent;
    case Op::Sinh:
      return math::hyperbolic_sine;
    case Op::Cosh:
      return math::hyperbolic_cosine;
    case Op::Tanh:
      return math::hyperbolic_tangent;
    case Op::Exp:
      return math::exponential;
    case Op::Exp2:
      return math::exponential_2;
    case Op::Expm1:
      return math::exponential_m1;
    case Op::Log:
      return math::logarithm;
    case Op::Log2:
      return math::logarithm_2;
    case Op::Log10:
      return math::logarithm_10;
    case Op::Log1p:
      return math::logarithm_1p;
    default:
      return nullptr;
  }
}

Binary binary(Op op) {
  switch (op) {
    case Op::Atan2:
      return math::arc_tangent_2;
    case Op::Pow:
      return math::power;
    case Op::Hypot:
      return math::hypotenuse;
    case Op::Fmod:
      return math::remainder;
    default:
      return nullptr;
  }
}

}  // namespace

ir::Kernel expand_math(const ir::Kernel& kernel) {
  return copy(kernel, [](Cloner& cloner, ir::ValueId, const ir::Node& node) -> ir::ValueId {
    const Unary one = unary(node.op);
    const Binary two = binary(node.op);
    if (!one && !two) return ir::kNoValue;
    if (node.op == Op::Exp && node.type == Scalar::F32) {
      return math::exponential_single({cloner.builder(), cloner.value(node.operands[0])}).id();
    }
    const auto operand = [&](std::size_t i) {
      const Number value(cloner.builder(), cloner.value(node.operands[i]));
      return node.type == Scalar::F64 ? value : value.cast(Scalar::F64);
    };
    const Number result = one ? one(operand(0)) : two(operand(0), operand(1));
    return (node.type == Scalar::F64 ? result : result.cast(Scalar::F32)).id();
  });
}

double math_ulps(Op function, Scalar type) {
  // The F64 result is rounded once more: that moves it by half a unit, and rarely by a whole one.
  if (type == Scalar::F32) return function == Op::Fmod ? 0 : 1;
  switch (function) {
    case Op::Fmod:
      return 0;
    case Op::Pow:
      return 10;
    default:
      return 3;
  }
}

}  // namespace salvo::passes
