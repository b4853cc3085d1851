// Roots, the hypotenuse and the remainder of floats.
// SPDX-License-Identifier: MIT
#include <limits>

#include "passes/math/functions.hpp"

namespace salvo::passes::math {
namespace {

using ir::Scalar;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A positive number as mantissa * 2^exponent, the mantissa from 2^52 to 2^53.
struct Split {
  Number mantissa;  // U64
  Number exponent;  // I64
};

Split split(const Number& x) {
  const Number tiny = x < 0x1p-1022;
  const Number bits = select(tiny, x * 0x1p54, x).bits(Scalar::U64);
  const Number lost = select(tiny, x.integer(Scalar::I64, 1075 + 54), x.integer(Scalar::I64, 1075));
  return {(bits & bits.integer(Scalar::U64, 0x000fffffffffffff)) |
              bits.integer(Scalar::U64, 0x0010000000000000),
          (bits >> 52).bits(Scalar::I64) - lost};
}

}  // namespace

Number reciprocal_root(const Number& x) {
  return 1.0 / root(x);
}

Number cube_root(const Number& x) {
  const Number a = absolute(x);
  const Split in = split(a);
  // a = m * 2^(3 third), m from 1 to 8.
  const Number power = in.exponent + 52.0;
  const Number third = (((power + 3000.0) * 21846.0) >> 16) - 1000.0;
  const Number m = in.mantissa.cast(Scalar::F64) * 0x1p-52 * power_of_two(power - third * 3.0);
  Number t = polynomial(m, {0.72, 0.333, -0.0235});
  for (int i = 0; i < 4; ++i) t = t - (t - m / (t * t)) / 3.0;
  // One more step with the residual to twice the precision.
  const Number square = t * t;
  const Number square_low = fma(t, t, -square);
  const Number residual = fma(-square, t, m) - square_low * t;
  const Number result = scale(t + residual / (3.0 * square), third);
  const Number plain = equal(a, 0.0) | equal(a, kInfinity) | is_nan(a);
  return with_sign(select(plain, a, result), x);
}

Number hypotenuse(const Number& x, const Number& y) {
  const Number a = absolute(x);
  const Number b = absolute(y);
  const Number longer = larger(a, b);
  const Number shorter = smaller(a, b);
  // Scaled by a power of two, so that squares neither overflow nor vanish.
  const Number up = longer < 0x1p-500;
  const Number down = longer > 0x1p500;
  const Number one = x.like(1.0);
  const Number factor = select(up, x.like(0x1p600), select(down, x.like(0x1p-600), one));
  const Number back = select(up, x.like(0x1p-600), select(down, x.like(0x1p600), one));
  const Number p = longer * factor;
  const Number q = shorter * factor;
  const Number square = p * p;
  const Number sum = square + q * q;
  const Number h = root(sum);
  // The root of the exact sum: one step with what the sum lost.
  const Number lost = fma(p, p, -square) + (fma(q, q, square - sum));
  const Number residual = fma(-h, h, sum) + lost;
  const Number better = select(equal(h, 0.0), h, h + residual / (2.0 * h)) * back;
  const Number either = equal(a, kInfinity) | equal(b, kInfinity);
  return select(either, x.like(kInfinity), select(is_nan(x) | is_nan(y), x + y, better));
}

Number remainder(const Number& x, const Number& y) {
  const Number a = absolute(x);
  const Number b = absolute(y);
  const Cell result(a);
  // Neither zero nor NaN nor infinite, and something to take away.
  when((a >= b) & (b > 0.0) & (a < kInfinity), [&] {
    const Split of = split(a);
    const Split by = split(b);
    const auto rest = [&](const Number& value) { return value.apply(ir::Op::Rem, {by.mantissa}); };
    const Cell left(rest(of.mantissa));
    const Cell steps(of.exponent - by.exponent);
    // Long division, eleven binary places at a time: what fits 64 bits.
    loop_while(
        x.builder(), [&] { return steps.get() > 0.0; },
        [&] {
          const Number count = smaller(steps.get(), steps.get().like(11));
          left.set(rest(left.get() << count.bits(Scalar::U64)));
          steps.set(steps.get() - count);
        });
    result.set(scale(left.get().cast(Scalar::F64), by.exponent));
  });
  const Number none = equal(b, 0.0) | (a >= kInfinity) | is_nan(x) | is_nan(y);
  return select(none, (x * y) / (x * y), with_sign(result.get(), x));
}

}  // namespace salvo::passes::math
