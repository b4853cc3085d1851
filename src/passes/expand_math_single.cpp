// Writes out the F32 functions that shading languages lack, for targets without F64.
// SPDX-License-Identifier: MIT
#include "passes/expand_math_single.hpp"

#include <limits>

#include "passes/clone.hpp"
#include "passes/math/number.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;
using math::Number;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Number cube_root(const Number& x) {
  const Number size = absolute(x);
  const Number tiny = size < 0x1p-126;
  const Number a = select(tiny, size * 0x1p24, size);
  // A third of the exponent, and of the mantissa as if it were more exponent: off by 4% at most.
  // Each step of Newton's squares that.
  Number t = (a.bits(Scalar::U32).apply(Op::Div, {a.integer(Scalar::U32, 3)}) +
              a.integer(Scalar::U32, 709'921'077))
                 .bits(Scalar::F32);
  for (int i = 0; i < 4; ++i) t = t - (t - a / (t * t)) / 3.0;
  const Number result = select(tiny, t * 0x1p-8, t);
  const Number plain = equal(size, 0.0) | equal(size, kInfinity) | is_nan(size);
  return with_sign(select(plain, size, result), x);
}

Number exponential_m1(const Number& x) {
  // x = k ln 2 + r, and ln 2 in two parts of which the first times k is exact.
  const Number k = floor(x * 1.44269504088896341 + 0.5);
  const Number r = fma(-k, x.like(0x1.7f7d1cp-20), fma(-k, x.like(0x1.62e4p-1), x));
  Number q = x.like(1.0 / 40320);
  for (const double factor : {1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5}) {
    q = fma(q, r, x.like(factor));
  }
  const Number p = fma(r * r, q, r);  // e^r - 1
  // By half of 2^k, which does not overflow where the result does not.
  const Number half = ((k.cast(Scalar::I32) + 126.0) << 23).bits(Scalar::F32);
  const Number result = fma(p, half, half - 0.5) * 2.0;
  const Number special = select(x > 0.0, x.like(kInfinity), x.like(-1.0));
  const Number far = (x > 88.7228393) | (x < -17.5);
  // So near to zero it is x, and half of it may be flushed.
  const Number plain = (absolute(x) < 0x1p-25) | is_nan(x);
  return select(plain, x, select(far, special, result));
}

Number logarithm_1p(const Number& x) {
  const Number u = x + 1.0;
  const Number log = u.apply(Op::Log, {});
  // What u has lost of 1 + x, over the slope there.
  const Number lost = x - (u - 1.0);
  const Number inside = (u > 0.0) & (u < kInfinity);
  return select(equal(u, 1.0), x, select(inside, log + lost / u, log));
}

Number hypotenuse(const Number& x, const Number& y) {
  const Number a = absolute(x);
  const Number b = absolute(y);
  const Number longer = larger(a, b);
  // Scaled by a power of two, so that squares neither overflow nor vanish.
  const Number up = longer < 0x1p-40;
  const Number down = longer > 0x1p62;
  const Number scale = select(up, x.like(0x1p96), select(down, x.like(0x1p-66), x.like(1.0)));
  const Number back = select(up, x.like(0x1p-96), select(down, x.like(0x1p66), x.like(1.0)));
  const Number p = longer * scale;
  const Number q = smaller(a, b) * scale;
  const Number result = root(fma(p, p, q * q)) * back;
  const Number endless = equal(a, kInfinity) | equal(b, kInfinity);
  return select(endless, x.like(kInfinity), select(is_nan(x) | is_nan(y), a + b, result));
}

}  // namespace

ir::Kernel expand_math_single(const ir::Kernel& kernel) {
  return copy(kernel, [](Cloner& cloner, ir::ValueId, const ir::Node& node) -> ir::ValueId {
    if (node.type != Scalar::F32) return ir::kNoValue;
    const auto operand = [&](std::size_t i) {
      return Number(cloner.builder(), cloner.value(node.operands[i]));
    };
    switch (node.op) {
      case Op::Cbrt:
        return cube_root(operand(0)).id();
      case Op::Expm1:
        return exponential_m1(operand(0)).id();
      case Op::Log1p:
        return logarithm_1p(operand(0)).id();
      case Op::Hypot:
        return hypotenuse(operand(0), operand(1)).id();
      default:
        return ir::kNoValue;
    }
  });
}

double single_math_ulps(Op function, double log_ulps) {
  // The sum in Log1p rounds once more, and its second term is within a unit of the first's last.
  return function == Op::Log1p ? log_ulps + 1 : 2;
}

}  // namespace salvo::passes
