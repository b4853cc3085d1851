// Inverse trigonometric functions: fitted polynomials on a short range, and identities.
// SPDX-License-Identifier: MIT
#include <limits>

#include "passes/math/functions.hpp"

namespace salvo::passes::math {
namespace {

using ir::Scalar;

constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kPiLow = 0x1.1a62633145c07p-53;
constexpr double kHalfPi = kPi / 2;
constexpr double kHalfPiLow = kPiLow / 2;
constexpr double kQuarterPi = kPi / 4;
constexpr double kQuarterPiLow = kPiLow / 4;

/// atan(t) for t from 0 to 1.
Number arc_tangent_of_unit(const Number& t) {
  const Number upper = t > 0.41421356237309503;
  const Number r = select(upper, (t - 1.0) / (t + 1.0), t);
  const Number z = r * r;
  // (atan(sqrt z) / sqrt z - 1) / z on [0, tan(pi/8)^2]; a Chebyshev fit, off by 5e-20.
  const Number tail =
      r * z *
      polynomial(
          z, {-0.3333333333333333, 0.19999999999999993, -0.14285714285711498, 0.11111111110752325,
              -0.09090909066866446, 0.07692306730961795, -0.06666641908302051, 0.05881923626133301,
              -0.052580257920073425, 0.04719294405473837, -0.04104029750501821,
              0.030626287828475894, -0.013908703447288225});
  return select(upper, kQuarterPi + (r + (tail + kQuarterPiLow)), r + tail);
}

/// (asin(sqrt z) / sqrt z - 1) for z from 0 to 1/4; a Chebyshev fit, off by 4e-18.
Number arc_sine_series(const Number& z) {
  return z * polynomial(z, {0.16666666666666669, 0.07499999999998425, 0.04464285714637338,
                            0.030381944137085216, 0.022372173002005596, 0.017352391265909227,
                            0.013971235301124539, 0.011478952690257387, 0.010324318288744113,
                            0.00545087818772055, 0.017419357964884856, -0.014881409392818066,
                            0.02877844261259304});
}

/// Twice the arc sine of sqrt((1 - a) / 2): the arc cosine of a, for a from 1/2 to 1.
Number arc_cosine_near_one(const Number& a) {
  const Number w = (1.0 - a) * 0.5;
  const Number s = root(w);
  // What the root lost; there is none to find at 0.
  const Number lost = select(equal(w, 0.0), w, fma(-s, s, w) / (2.0 * s));
  return 2.0 * (s + fma(s, arc_sine_series(w), lost));
}

}  // namespace

Number arc_sine(const Number& x) {
  const Number a = absolute(x);
  const Number small = fma(a, arc_sine_series(a * a), a);
  const Number large = (kHalfPi - arc_cosine_near_one(a)) + kHalfPiLow;
  return with_sign(select(a < 0.5, small, large), x);
}

Number arc_cosine(const Number& x) {
  const Number a = absolute(x);
  const Number small = (kHalfPi - x) + (kHalfPiLow - x * arc_sine_series(a * a));
  const Number large = arc_cosine_near_one(a);
  const Number mirrored = select(x < 0.0, (kPi - large) + kPiLow, large);
  return select(a < 0.5, small, mirrored);
}

Number arc_tangent(const Number& x) {
  const Number a = absolute(x);
  const Number inverse = a > 1.0;
  const Number r = arc_tangent_of_unit(select(inverse, 1.0 / a, a));
  return with_sign(select(inverse, (kHalfPi - r) + kHalfPiLow, r), x);
}

Number arc_tangent_2(const Number& y, const Number& x) {
  const Number a = absolute(y);
  const Number b = absolute(x);
  const Number steep = a > b;
  const Number above = select(steep, b, a);
  const Number below = select(steep, a, b);
  // The origin and the corners at infinity have directions too.
  const Number infinity = x.like(std::numeric_limits<double>::infinity());
  const Number ratio =
      select(equal(below, 0.0), below, select(equal(above, infinity), x.like(1.0), above / below));
  const Number r = arc_tangent_of_unit(ratio);
  const Number quadrant = select(steep, (kHalfPi - r) + kHalfPiLow, r);
  const Number left = x.bits(Scalar::I64) < 0.0;
  const Number half_turn = select(left, (kPi - quadrant) + kPiLow, quadrant);
  return select(is_nan(x) | is_nan(y), x + y, with_sign(half_turn, y));
}

}  // namespace salvo::passes::math
