// Logarithms and powers: the exponent's share, and a series in (m - 1) / (m + 1) for the rest.
// SPDX-License-Identifier: MIT
#include <limits>

#include "passes/math/functions.hpp"

namespace salvo::passes::math {
namespace {

using ir::Scalar;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2High =
    0x1.62e42fefa3800p-1;  // the last bits are zero: its multiples are exact
constexpr double kLn2Low = 0x1.ef35793c76730p-45;

/// x = (1 + fraction) * 2^exponent, with 1 + fraction between sqrt(1/2) and sqrt(2).
struct Split {
  Number exponent;  // F64, whole
  Number fraction;
};

Split split(const Number& x) {
  const Number tiny = x < 0x1p-1022;
  const Number normal = select(tiny, x * 0x1p54, x);
  const Number bits = normal.bits(Scalar::I64);
  const Number lost = select(tiny, bits.like(54), bits.like(0));
  const Number biased = (bits >> 52) - 1023.0 - lost;
  const Number mantissa = ((bits & bits.integer(Scalar::I64, 0x000fffffffffffff)) |
                           bits.integer(Scalar::I64, 0x3ff0000000000000))
                              .bits(Scalar::F64);
  const Number upper = mantissa > 1.4142135623730951;
  return {(biased + upper.cast(Scalar::I64)).cast(Scalar::F64),
          select(upper, mantissa * 0.5, mantissa) - 1.0};
}

/// 2 (s^3 / 3 + s^5 / 5 + ...) / s of z = s^2 up to 0.0295.
Number series(const Number& z) {
  return z * polynomial(z, {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
                            2.0 / 17, 2.0 / 19, 2.0 / 21});
}

/// log(1 + f) as f minus something small, so that what f loses is known.
struct Parts {
  Number whole;  // f
  Number minus;
};

Parts parts(const Number& f) {
  const Number s = f / (f + 2.0);
  const Number half_square = 0.5 * f * f;
  return {f, half_square - s * (half_square + series(s * s))};
}

/// What C says of arguments that have no finite logarithm.
Number special(const Number& x, const Number& result) {
  const Number finite = select(equal(x, kInfinity), x, result);
  const Number positive = select(equal(x, 0.0), x.like(-kInfinity), finite);
  return select(is_nan(x), x, select(x < 0.0, x.like(kNan), positive));
}

/// (high + low) * `factor`, a constant in two parts, plus whole powers' share.
Number in_base(const Number& x, double factor, double factor_low, double share_high,
               double share_low) {
  const Split in = split(x);
  const Parts log = parts(in.fraction);
  const Number high = log.whole - log.minus;
  const Number low = (log.whole - high) - log.minus;
  const Number product = high * factor;
  const Number rest =
      fma(high, x.like(factor), -product) + fma(high, x.like(factor_low), low * factor);
  const Number whole = in.exponent * share_high;
  const Number sum = whole + product;
  // The whole powers' share is the larger one, or nothing.
  const Number lost = (whole - sum) + product;
  return special(x, sum + (lost + fma(in.exponent, x.like(share_low), rest)));
}

}  // namespace

Number logarithm(const Number& x) {
  const Split in = split(x);
  const Parts log = parts(in.fraction);
  const Number low = fma(in.exponent, x.like(kLn2Low), -log.minus);
  return special(x, fma(in.exponent, x.like(kLn2High), log.whole + low));
}

Number logarithm_2(const Number& x) {
  return in_base(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0);
}

Number logarithm_10(const Number& x) {
  return in_base(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f7800p-2,
                 0x1.fef311f12b358p-46);
}

Number logarithm_1p(const Number& x) {
  const Number u = x + 1.0;
  // What the sum lost, as a share of it.
  const Number lost = select(x >= 1.0, 1.0 - (u - x), x - (u - 1.0)) / u;
  const Split in = split(u);
  const Parts log = parts(in.fraction);
  const Number low = fma(in.exponent, x.like(kLn2Low), lost - log.minus);
  const Number moderate = special(u, fma(in.exponent, x.like(kLn2High), log.whole + low));
  // Where the sum is 1 the logarithm is x itself, to its last bit.
  return select(absolute(x) < 0x1p-53, x, moderate);
}

Number power(const Number& x, const Number& y) {
  const Number a = absolute(x);
  const Split in = split(a);
  const Number f = in.fraction;
  // log(1 + f) = 2 s + ..., with s = f / (2 + f) to twice the precision.
  const Number sum = f + 2.0;
  const Number sum_low = f - (sum - 2.0);
  const Number s = f / sum;
  const Number s_low = (fma(-s, sum, f) - s * sum_low) / sum;
  const Number z = s * s;
  const Number first = 2.0 * s;
  const Number rest = fma(s, series(z), fma(s_low, 2.0 + 2.0 * z, x.like(0.0)));
  const Number whole = in.exponent * kLn2High;
  const Number partial = whole + first;
  const Number lost = (whole - partial) + first;
  const Number lost_alone = select(equal(in.exponent, 0.0), x.like(0.0), lost);
  const Number tail = rest + fma(in.exponent, x.like(kLn2Low), lost_alone);
  const Number log = partial + tail;
  const Number log_low = (partial - log) + tail;

  const Number product = y * log;
  const Number product_low = fma(y, log, -product) + y * log_low;
  const Number core = exponential_of_sum(product, product_low);

  // Ends of the ranges, then signs, as C has them.
  const Number infinity = x.like(kInfinity);
  const Number zero = x.like(0.0);
  const Number falls = y < 0.0;
  const Number at_ends = select(equal(a, 0.0), select(falls, infinity, zero),
                                select(equal(a, kInfinity), select(falls, zero, infinity), core));
  const Number grows = equal((a > 1.0).cast(Scalar::I32), (y > 0.0).cast(Scalar::I32));
  const Number magnitude =
      select(equal(absolute(y), kInfinity),
             select(equal(a, 1.0), x.like(1.0), select(grows, infinity, zero)), at_ends);
  const Number whole_y = equal(floor(y), y);
  const Number half_y = y * 0.5;
  const Number odd = whole_y & differ(floor(half_y), half_y);
  const Number negative = x.bits(Scalar::I64) < 0.0;
  const Number signed_result = select(negative & odd, -magnitude, magnitude);
  const Number no_result = (x < 0.0) & (a < infinity) & differ(floor(y), y);
  const Number real = select(no_result, x.like(kNan), signed_result);
  const Number known = select(is_nan(x) | is_nan(y), x + y, real);
  return select(equal(y, 0.0) | equal(x, 1.0), x.like(1.0), known);
}

}  // namespace salvo::passes::math
