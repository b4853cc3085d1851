// Transcendental functions of F32 as F64 arithmetic.
// SPDX-License-Identifier: MIT
#include "passes/expand_functions.hpp"

#include <array>
#include <limits>
#include <numbers>

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;

// Every argument is an F32 value held in an F64: its square, its exponent and the products below
// are exact or far inside the range. A relative error of 2^-34 leaves the rounded result within
// one unit in the last place; series are cut where they reach 2^-36.

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Exponentials.

/// 2^t. Beyond 200 an F32 has over- or underflowed, so t stops there; NaN stays NaN.
Value exp2_of(Value t) {
  t = choose(t < -200.0, t.number(-200), choose(t > 200.0, t.number(200), t));
  const Value whole = apply(Op::Floor, t + 0.5);
  const Value part = (t - whole) * std::numbers::ln2;
  const Value power = polynomial(part, {1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720,
                                        1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  const Value exponent = whole.cast(Scalar::I64) + 1023.0;
  return power * (exponent << exponent.number(52)).as(Scalar::F64);
}

Value exp_of(Value x) {
  return exp2_of(x * std::numbers::log2e);
}

Value expm1_of(Value x) {
  const Value series =
      x * polynomial(x, {1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                         1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800});
  return choose(absolute(x) < 0.5, series, exp_of(x) - 1.0);
}

Value sinh_of(Value x) {
  const Value e = expm1_of(absolute(x));
  return apply(Op::Copysign, (e + e / (e + 1.0)) * 0.5, x);
}

Value cosh_of(Value x) {
  const Value e = exp_of(absolute(x));
  return (e + 1.0 / e) * 0.5;
}

Value tanh_of(Value x) {
  const Value e = expm1_of(x + x);
  return e / (e + 2.0);
}

// Logarithms.

/// A positive finite number as m * 2^e with m between sqrt(1/2) and sqrt(2): e, and ln(m).
struct Split {
  Value exponent;
  Value log;
};

Split split(Value v) {
  const Value bits = v.bits();
  const Value mantissa = (bits & bits.constant(Scalar::U64, (std::uint64_t{1} << 52) - 1)) |
                         bits.constant(Scalar::U64, std::uint64_t{1023} << 52);
  const Value m = mantissa.as(Scalar::F64);
  const Value high = m > std::numbers::sqrt2;
  const Value exponent = (bits >> bits.number(52)).cast(Scalar::F64) - 1023.0;
  const Value reduced = choose(high, m * 0.5, m);
  const Value f = (reduced - 1.0) / (reduced + 1.0);
  const Value log =
      2.0 * f * polynomial(f * f, {1, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13});
  return {choose(high, exponent + 1.0, exponent), log};
}

/// What logarithms of any base have in common outside of the positive finite numbers.
Value log_edges(Value x, Value result) {
  result = choose(x == 0.0, x.number(-kInfinity), result);
  result = choose(x < 0.0, x.number(kNan), result);
  // Infinity and NaN are their own logarithms.
  return choose(apply(Op::Or, x == kInfinity, x != x), x, result);
}

Value log_of(Value x) {
  const Split s = split(x);
  return log_edges(x, s.exponent * std::numbers::ln2 + s.log);
}
Value log2_of(Value x) {
  const Split s = split(x);
  return log_edges(x, s.exponent + s.log * std::numbers::log2e);
}
Value log10_of(Value x) {
  constexpr double kLog10Of2 = std::numbers::ln2 * std::numbers::log10e;
  const Split s = split(x);
  return log_edges(x, s.exponent * kLog10Of2 + s.log * std::numbers::log10e);
}

Value log1p_of(Value x) {
  // Where 1 + x would be rounded, three terms are enough.
  const Value series = x * polynomial(x, {1, -1.0 / 2, 1.0 / 3});
  return choose(absolute(x) < 0x1p-20, series, log_of(x + 1.0));
}

Value cbrt_of(Value x) {
  return apply(Op::Copysign, exp2_of(log2_of(absolute(x)) * (1.0 / 3)), x);
}

Value pow_of(Value x, Value y) {
  const auto whole = [](Value v) { return apply(Op::Trunc, v) == v; };
  const Value odd = apply(Op::And, whole(y), apply(Op::Not, whole(y * 0.5)));
  Value result = exp2_of(y * log2_of(absolute(x)));
  // A size of 1 keeps it under an infinite exponent, which the product above cannot know.
  result =
      choose(apply(Op::And, absolute(x) == 1.0, absolute(y) == kInfinity), x.number(1), result);
  result = choose(odd, apply(Op::Copysign, result, x), result);
  const Value no_root =
      apply(Op::And, apply(Op::And, x < 0.0, x != -kInfinity), apply(Op::Not, whole(y)));
  result = choose(no_root, x.number(kNan), result);
  return choose(apply(Op::Or, x == 1.0, y == 0.0), x.number(1), result);
}

// Trigonometry.

/// An angle as quadrant * pi/2 + rest, with the rest at most about pi/4 in size.
struct Angle {
  Value quadrant;  // I64, modulo 4
  Value rest;
};

/// pi/2 in three parts; the first two are short, so that their products with the quadrant are
/// exact.
Angle reduce_small(Value x) {
  const Value quadrant = apply(Op::Floor, x * (2 / std::numbers::pi) + 0.5);
  const Value rest = ((x - quadrant * 0x1.921fb54p+0) - quadrant * 0x1.10b461p-30) -
                     quadrant * 0x1.a62633145c06ep-58;
  return {quadrant.cast(Scalar::I64), rest};
}

/// Payne and Hanek's way: the mantissa times those 96 bits of 2/pi that matter for its exponent.
Angle reduce_large(Value x) {
  constexpr std::array<std::uint32_t, 7> kTwoOverPi{0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                                    0xdb629599, 0x3c439041, 0xfe5163ab};
  const Value bits = absolute(x).cast(Scalar::F32).bits();
  const Value mantissa = ((bits & bits.number(0x7fffff)) | bits.number(0x800000)).cast(Scalar::U64);
  // x is the mantissa times 2^(first + 2): the bits of 2/pi before `first` give multiples of 4.
  const Value first = (bits >> bits.number(23)) - 152.0;
  const Value index = first >> first.number(5);
  const auto word = [&](std::size_t offset) {
    Value chosen = mantissa.constant(Scalar::U64, kTwoOverPi[offset + 3]);
    for (std::size_t i = 3; i-- > 0;) {
      chosen = choose(index == static_cast<double>(i),
                      mantissa.constant(Scalar::U64, kTwoOverPi[offset + i]), chosen);
    }
    return chosen;
  };
  const Value n32 = mantissa.number(32);
  const Value shift = (first & first.number(31)).cast(Scalar::U64);
  const Value upper = (word(0) << n32) | word(1);
  const Value lower = (word(2) << n32) | word(3);
  // In two steps, because a shift by all 64 bits is one by none.
  const Value high = (upper << shift) | ((lower >> lower.number(1)) >> (shift.number(63) - shift));
  const Value low = (lower << shift) >> n32;
  const Value product = mantissa * high + ((mantissa * low) >> n32);  // turns by pi/2, times 2^62
  const Value quadrant =
      (product + product.constant(Scalar::U64, std::uint64_t{1} << 61)) >> product.number(62);
  const Value rest = (product - (quadrant << quadrant.number(62))).as(Scalar::I64);
  const Value radians = rest.cast(Scalar::F64) * (0x1p-62 * std::numbers::pi / 2);
  const Value negative = x < 0.0;
  const Value turns = quadrant.as(Scalar::I64);
  return {choose(negative, -turns, turns), choose(negative, -radians, radians)};
}

Angle reduce(Value x) {
  const Angle small = reduce_small(x);
  const Angle large = reduce_large(x);
  const Value is_small = absolute(x) < 0x1p26;
  return {choose(is_small, small.quadrant, large.quadrant),
          choose(is_small, small.rest, large.rest)};
}

/// Sine and cosine of the rest.
struct Circle {
  Value sine;
  Value cosine;
};

Circle circle(Value r) {
  const Value square = r * r;
  return {r * polynomial(square, {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                  -1.0 / 39916800, 1.0 / 6227020800}),
          polynomial(square, {1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800,
                              1.0 / 479001600})};
}

Value bit_of(Value quadrant, double bit) {
  return (quadrant & quadrant.number(bit)) != 0.0;
}

/// Infinities have no angle.
Value finite_only(Value x, Value result) {
  return choose(absolute(x) < kInfinity, result, x - x);
}

Value sin_of(Value x) {
  const Angle angle = reduce(x);
  const Circle at = circle(angle.rest);
  const Value size = choose(bit_of(angle.quadrant, 1), at.cosine, at.sine);
  return finite_only(x, choose(bit_of(angle.quadrant, 2), -size, size));
}

Value cos_of(Value x) {
  const Angle angle = reduce(x);
  const Circle at = circle(angle.rest);
  const Value size = choose(bit_of(angle.quadrant, 1), at.sine, at.cosine);
  return finite_only(x, choose(bit_of(angle.quadrant + 1.0, 2), -size, size));
}

Value tan_of(Value x) {
  const Angle angle = reduce(x);
  const Circle at = circle(angle.rest);
  const Value turned = bit_of(angle.quadrant, 1);
  return finite_only(x, choose(turned, -at.cosine, at.sine) / choose(turned, at.sine, at.cosine));
}

Value atan2_of(Value y, Value x) {
  const Value ay = absolute(y);
  const Value ax = absolute(x);
  const Value steep = ay > ax;
  const Value above = choose(steep, ax, ay);
  const Value below = choose(steep, ay, ax);
  Value t = above / below;
  t = choose(below == 0.0, t.number(0), t);
  t = choose(above == kInfinity, t.number(1), t);
  // Past tan(pi/8) by the angle that is left to pi/4.
  const Value far = t > std::numbers::sqrt2 - 1;
  const Value near = choose(far, (t - 1.0) / (t + 1.0), t);
  const Value series = near * polynomial(near * near, {1, -1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9,
                                                       -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17,
                                                       -1.0 / 19, 1.0 / 21, -1.0 / 23, 1.0 / 25});
  Value angle = choose(far, series + std::numbers::pi / 4, series);
  angle = choose(steep, std::numbers::pi / 2 - angle, angle);
  const Value left = apply(Op::Copysign, x.number(1), x) < 0.0;  // -0 is left, too
  angle = apply(Op::Copysign, choose(left, std::numbers::pi - angle, angle), y);
  return choose(apply(Op::Or, x != x, y != y), x + y, angle);
}

Value cathetus(Value x) {
  return apply(Op::Sqrt, (1.0 - x) * (x + 1.0));
}

Value hypot_of(Value x, Value y) {
  const Value infinite = apply(Op::Or, absolute(x) == kInfinity, absolute(y) == kInfinity);
  return choose(infinite, x.number(kInfinity), apply(Op::Sqrt, x * x + y * y));
}

}  // namespace

std::optional<Value> function_in_f64(Op op, Value x) {
  switch (op) {
    case Op::Rsqrt:
      return 1.0 / apply(Op::Sqrt, x);
    case Op::Cbrt:
      return cbrt_of(x);
    case Op::Sin:
      return sin_of(x);
    case Op::Cos:
      return cos_of(x);
    case Op::Tan:
      return tan_of(x);
    case Op::Asin:
      return atan2_of(x, cathetus(x));
    case Op::Acos:
      return atan2_of(cathetus(x), x);
    case Op::Atan:
      return atan2_of(x, x.number(1));
    case Op::Sinh:
      return sinh_of(x);
    case Op::Cosh:
      return cosh_of(x);
    case Op::Tanh:
      return tanh_of(x);
    case Op::Exp:
      return exp_of(x);
    case Op::Exp2:
      return exp2_of(x);
    case Op::Expm1:
      return expm1_of(x);
    case Op::Log:
      return log_of(x);
    case Op::Log2:
      return log2_of(x);
    case Op::Log10:
      return log10_of(x);
    case Op::Log1p:
      return log1p_of(x);
    default:
      return std::nullopt;
  }
}

std::optional<Value> function_in_f64(Op op, Value x, Value y) {
  switch (op) {
    case Op::Atan2:
      return atan2_of(x, y);
    case Op::Pow:
      return pow_of(x, y);
    case Op::Hypot:
      return hypot_of(x, y);
    default:
      return std::nullopt;
  }
}

}  // namespace salvo::passes
