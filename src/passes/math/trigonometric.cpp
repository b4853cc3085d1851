// Sine, cosine and tangent: a reduction to an eighth of a turn, and Taylor series.
// SPDX-License-Identifier: MIT
#include <array>
#include <limits>

#include "passes/math/functions.hpp"

namespace salvo::passes::math {
namespace {

using ir::Op;
using ir::Scalar;

constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiMiddle = 0x1.1a62633145c07p-54;
constexpr double kHalfPiLow = -0x1.f1976b7ed8fbcp-110;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

/// 2 / pi in binary, after a word of zeros.
constexpr std::array<std::uint64_t, 20> kTwoOverPiWords{
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// An angle less a whole number of quarter turns.
struct Reduced {
  Number quarter;  // I64; only its last two bits count
  Number high;
  Number low;
};

Number shift_right(const Number& a, double count) {
  return a.apply(Op::ShrLogical, {a.like(count)});
}

struct Product {
  Number high;
  Number low;
};

/// The 128 bits of a product of two U64.
Product multiply(const Number& a, const Number& b) {
  const Number mask = a.integer(Scalar::U64, 0xffffffff);
  const Number a_low = a & mask;
  const Number b_low = b & mask;
  const Number a_high = a >> 32;
  const Number b_high = b >> 32;
  const Number low = a_low * b_low;
  const Number first = a_high * b_low + (low >> 32);
  const Number second = a_low * b_high + (first & mask);
  return {a_high * b_high + (first >> 32) + (second >> 32), a * b};
}

Number carry(const Number& sum, const Number& part) {
  return (sum < part).cast(Scalar::U64);
}

/// Up to 2^20 turns: pi in three parts.
Reduced reduce_small(const Number& x) {
  const Number n = floor(fma(x, x.like(kTwoOverPi), x.like(0.5)));
  const Number first = fma(-n, x.like(kHalfPi), x);
  const Number high = fma(-n, x.like(kHalfPiMiddle), first);
  const Number low = fma(-n, x.like(kHalfPiMiddle), first - high) - n * kHalfPiLow;
  return {n.cast(Scalar::I64), high, low};
}

/// Any size: x times the bits of 2 / pi that matter, in integers.
Reduced reduce_large(const Number& x) {
  const Number bits = x.bits(Scalar::U64);
  const Number mantissa = (bits & bits.integer(Scalar::U64, 0x000fffffffffffff)) |
                          bits.integer(Scalar::U64, 0x0010000000000000);
  // x = mantissa * 2^(exponent - 1075). Bits of 2 / pi before `first` give whole turns.
  const Number first = (bits >> 52).cast(Scalar::I32) - (1075 - 62);
  const Number word = first >> 6;
  const Number shift = (first & first.like(63)).cast(Scalar::U64);
  const auto table = [&](std::size_t offset) {
    Number chosen = bits.integer(Scalar::U64, kTwoOverPiWords[offset]);
    for (std::size_t i = 1; i + offset < kTwoOverPiWords.size(); ++i) {
      chosen = select(equal(word, static_cast<double>(i)),
                      bits.integer(Scalar::U64, kTwoOverPiWords[i + offset]), chosen);
    }
    return chosen;
  };
  const std::array<Number, 4> words{table(0), table(1), table(2), table(3)};
  const auto window = [&](std::size_t i) {
    // A shift by 64 would be one by none.
    return (words[i] << shift) | ((words[i + 1] >> 1) >> (63.0 - shift));
  };
  // The product modulo four quarters: two bits, then 190 of fraction.
  const Product last = multiply(mantissa, window(2));
  const Product middle = multiply(mantissa, window(1));
  const Number second = last.high + middle.low;
  const Number top = mantissa * window(0) + middle.high + carry(second, middle.low);
  const Number fraction = ((top << 2) | shift_right(second, 62)).bits(Scalar::I64);
  const Number below = (second << 2) | shift_right(last.low, 62);
  // To the nearest quarter: a fraction of a half and more counts down from the next.
  const Number quarter = shift_right(top, 62) + (shift_right(top, 61) & top.like(1));

  // The top part is exact as F64; what follows it is not negative.
  const Number lower_bits = fraction & fraction.like(4095);
  const Number coarse = (fraction - lower_bits).cast(Scalar::F64);
  const Number fine = lower_bits.cast(Scalar::F64) + below.cast(Scalar::F64) * 0x1p-64;
  const Number sum = coarse + fine;
  const Number lost = fine - (sum - coarse);
  const Number high = sum * kHalfPi;
  const Number low =
      fma(sum, x.like(kHalfPi), -high) + fma(sum, x.like(kHalfPiMiddle), lost * kHalfPi);
  return {quarter.bits(Scalar::I64), high * 0x1p-64, low * 0x1p-64};
}

Reduced reduce(const Number& x) {
  const Reduced small = reduce_small(x);
  const Cell quarter(small.quarter);
  const Cell high(small.high);
  const Cell low(small.low);
  when(x > 0x1p20, [&] {
    const Reduced large = reduce_large(x);
    quarter.set(large.quarter);
    high.set(large.high);
    low.set(large.low);
  });
  return {quarter.get(), high.get(), low.get()};
}

Number sine_near_zero(const Reduced& r) {
  const Number z = r.high * r.high;
  const Number tail =
      r.high * z *
      polynomial(z, {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800,
                     1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000});
  return r.high + (tail + fma(z * -0.5, r.low, r.low));
}

Number cosine_near_zero(const Reduced& r) {
  const Number z = r.high * r.high;
  const Number half = 0.5 * z;
  const Number whole = 1.0 - half;
  const Number tail =
      z * z *
      polynomial(z, {1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600,
                     -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000});
  return whole + (((1.0 - whole) - half) + (tail - r.high * r.low));
}

Number bit(const Number& value, std::uint64_t mask) {
  return differ(value & value.integer(Scalar::I64, mask), value.integer(Scalar::I64, 0));
}

/// NaN for infinities and NaN.
Number defined(const Number& x, const Number& result) {
  const Number finite = absolute(x) < std::numeric_limits<double>::infinity();
  return select(finite, result, x - x);
}

}  // namespace

Number sine(const Number& x) {
  const Reduced r = reduce(absolute(x));
  const Number value = select(bit(r.quarter, 1), cosine_near_zero(r), sine_near_zero(r));
  const Number turned = select(bit(r.quarter, 2), -value, value);
  return defined(x, select(x.bits(Scalar::I64) < 0.0, -turned, turned));
}

Number cosine(const Number& x) {
  const Reduced r = reduce(absolute(x));
  const Number value = select(bit(r.quarter, 1), sine_near_zero(r), cosine_near_zero(r));
  return defined(x, select(bit(r.quarter + 1.0, 2), -value, value));
}

Number tangent(const Number& x) {
  const Reduced r = reduce(absolute(x));
  const Number sine_value = sine_near_zero(r);
  const Number cosine_value = cosine_near_zero(r);
  const Number odd = bit(r.quarter, 1);
  const Number value =
      select(odd, -cosine_value, sine_value) / select(odd, sine_value, cosine_value);
  return defined(x, select(x.bits(Scalar::I64) < 0.0, -value, value));
}

}  // namespace salvo::passes::math
