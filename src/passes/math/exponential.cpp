// Exponential and hyperbolic functions: powers of two times a Taylor series near zero.
// SPDX-License-Identifier: MIT
#include <limits>

#include "passes/math/functions.hpp"

namespace salvo::passes::math {
namespace {

using ir::Scalar;

constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2High =
    0x1.62e42fefa3800p-1;  // the last bits are zero: its multiples are exact
constexpr double kLn2Low = 0x1.ef35793c76730p-45;

/// (exp(r) - 1 - r) / r^2 for |r| up to ln(2) / 2.
Number series(const Number& r) {
  return polynomial(
      r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880,
          1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800});
}

struct Reduced {
  Number power;  // of two, I64
  Number high;   // what is left
  Number low;
};

Reduced reduce(const Number& x, const Number& low) {
  const Number k = floor(fma(x, x.like(kLog2E), x.like(0.5)));
  const Number near = fma(-k, x.like(kLn2High), x);
  const Number far = low - k * kLn2Low;
  const Number high = near + far;
  return {k.cast(Scalar::I64), high, (near - high) + far};
}

/// exp(x + low) for x from -746 to 710.
Number in_range(const Number& x, const Number& low) {
  const Reduced r = reduce(x, low);
  const Number tail = fma(r.high * r.high, series(r.high), fma(r.low, r.high, r.low));
  return scale((r.high + tail) + 1.0, r.power);
}

Number clamped(const Number& x, double low, double high) {
  // Comparisons, not Min and Max: NaN must pass.
  const Number above = select(x < low, x.like(low), x);
  return select(above > high, x.like(high), above);
}

}  // namespace

Number exponential(const Number& x) {
  return in_range(clamped(x, -746, 710), x.like(0.0));
}

Number exponential_of_sum(const Number& high, const Number& low) {
  const Number x = clamped(high, -746, 710);
  return in_range(x, select(equal(x, high), low, x.like(0.0)));
}

Number exponential_single(const Number& x) {
  const Number in = clamped(x, -104, 89);
  const Number k = floor(fma(in, x.like(kLog2E), x.like(0.5)));
  // The first product is exact: its constant has 15 bits.
  const Number r = fma(-k, x.like(0x1.7f7d1cp-20), fma(-k, x.like(0x1.62e4p-1), in));
  const Number tail =
      fma(r * r, polynomial(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040}), r);
  const Number power = k.cast(Scalar::I32);
  const Number half = power >> 1;
  const auto factor = [](const Number& exponent) {
    return ((exponent + 127) << 23).bits(Scalar::F32);
  };
  // In steps that a factor can express; only the last may round.
  return (tail + 1.0) * factor(half) * factor(power - half);
}

Number exponential_2(const Number& x) {
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  constexpr double kLn2Rest = 0x1.abc9e3b39803fp-56;
  const Number in = clamped(x, -1080, 1025);
  const Number k = floor(in + 0.5);
  const Number fraction = in - k;
  const Number r = fraction * kLn2;
  const Number low = fma(fraction, x.like(kLn2), -r) + fraction * kLn2Rest;
  const Number tail = fma(r * r, series(r), low);
  return scale((r + tail) + 1.0, k.cast(Scalar::I64));
}

Number exponential_m1(const Number& x) {
  // Below -60 the result is -1; above, what is subtracted is out of reach.
  const Number in = clamped(x, -60, 60);
  const Reduced r = reduce(in, x.like(0.0));
  const Number near_zero = fma(r.high * r.high, series(r.high), r.low);
  const Number factor = power_of_two(r.power);
  // factor * (r + near_zero + 1) - 1, in the order of size.
  const Number shifted = factor - 1.0;
  const Number scaled = factor * r.high;
  const Number sum = shifted + scaled;
  const Number larger_first = absolute(shifted) >= absolute(scaled);
  const Number lost = select(larger_first, (shifted - sum) + scaled, (scaled - sum) + shifted);
  const Number moderate = sum + fma(factor, near_zero, lost);
  const Number result = select(x > 60.0, exponential(x), moderate);
  return select(equal(x, 0.0), x, result);
}

Number hyperbolic_sine(const Number& x) {
  const Number a = absolute(x);
  const Number t = exponential_m1(smaller(a, a.like(40.0)));
  const Number moderate = 0.5 * (t + t / (t + 1.0));
  const Number half = exponential(a * 0.5);
  const Number large = (0.5 * half) * half;
  // exp of the whole is closer where it does not overflow.
  const Number middle = 0.5 * exponential(a);
  const Number result = select(a > 709.0, large, select(a > 40.0, middle, moderate));
  return with_sign(select(is_nan(x), x, result), x);
}

Number hyperbolic_cosine(const Number& x) {
  const Number a = absolute(x);
  const Number e = exponential(a);
  const Number half = exponential(a * 0.5);
  return select(a > 709.0, (0.5 * half) * half, fma(e, x.like(0.5), 0.5 / e));
}

Number hyperbolic_tangent(const Number& x) {
  const Number a = absolute(x);
  const Number t = exponential_m1(smaller(a, a.like(30.0)) * 2.0);
  return with_sign(select(is_nan(x), x, t / (t + 2.0)), x);
}

}  // namespace salvo::passes::math
