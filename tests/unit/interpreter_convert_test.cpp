// Casts at the edges of every type, and rounding to f16 and bf16 from their definition.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/convert.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/interpreter/arithmetic.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Scalar;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class To, class From>
To cast(Scalar to, Scalar from, From value) {
  return from_slot<To>(evaluate(cast_function(to, from), to_slot(value)));
}

TEST(InterpreterConvert, FloatToIntegerTruncatesAndSaturates) {
  const auto i32 = [](float x) { return cast<std::int32_t>(Scalar::I32, Scalar::F32, x); };
  EXPECT_EQ(i32(1.9f), 1);
  EXPECT_EQ(i32(-1.9f), -1);
  EXPECT_EQ(i32(2147483648.0f), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(i32(2147483520.0f), 2147483520);
  EXPECT_EQ(i32(-2147483648.0f), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(i32(-2147483904.0f), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(i32(kInf), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(i32(-kInf), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(i32(kNan), 0);

  const auto u32 = [](float x) { return cast<std::uint32_t>(Scalar::U32, Scalar::F32, x); };
  EXPECT_EQ(u32(-1.0f), 0u);
  EXPECT_EQ(u32(-0.5f), 0u);
  EXPECT_EQ(u32(4294967040.0f), 4294967040u);
  EXPECT_EQ(u32(4294967296.0f), 0xffff'ffffu);
  EXPECT_EQ(u32(kNan), 0u);

  const auto i64 = [](double x) { return cast<std::int64_t>(Scalar::I64, Scalar::F64, x); };
  EXPECT_EQ(i64(0x1p63), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(i64(-0x1p63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(i64(-1e300), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(i64(0x1.fffffffffffffp62), 9223372036854774784);

  const auto u64 = [](double x) { return cast<std::uint64_t>(Scalar::U64, Scalar::F64, x); };
  EXPECT_EQ(u64(0x1p64), ~std::uint64_t{0});
  EXPECT_EQ(u64(0x1p63), std::uint64_t{1} << 63);
  EXPECT_EQ(u64(-3.0), 0u);
}

TEST(InterpreterConvert, IntegerToFloatRoundsToNearestEven) {
  EXPECT_EQ(cast<float>(Scalar::F32, Scalar::I32, std::int32_t{16777217}), 16777216.0f);
  EXPECT_EQ(cast<float>(Scalar::F32, Scalar::I32, std::int32_t{16777219}), 16777220.0f);
  EXPECT_EQ(cast<float>(Scalar::F32, Scalar::U64, ~std::uint64_t{0}), 0x1p64f);
  EXPECT_EQ(cast<double>(Scalar::F64, Scalar::I64, (std::int64_t{1} << 53) + 1), 0x1p53);
  // Just above a tie. Through double it would round twice: to the tie, and then to even.
  EXPECT_EQ(
      cast<float>(Scalar::F32, Scalar::I64, (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1),
      0x1p60f + 0x1p37f);
}

TEST(InterpreterConvert, IntegersKeepTheirLowBits) {
  EXPECT_EQ(cast<std::int64_t>(Scalar::I64, Scalar::I32, std::int32_t{-1}), -1);
  EXPECT_EQ(cast<std::int64_t>(Scalar::I64, Scalar::U32, ~std::uint32_t{0}), 0xffff'ffff);
  EXPECT_EQ(cast<std::int32_t>(Scalar::I32, Scalar::U64, std::uint64_t{0x1'8000'0000}),
            std::numeric_limits<std::int32_t>::min());
}

TEST(InterpreterConvert, BoolIsZeroOrOne) {
  EXPECT_EQ(cast<float>(Scalar::F32, Scalar::Bool, true), 1.0f);
  EXPECT_EQ(cast<std::int32_t>(Scalar::I32, Scalar::Bool, true), 1);
  EXPECT_FALSE(cast<bool>(Scalar::Bool, Scalar::F32, -0.0f));
  EXPECT_TRUE(cast<bool>(Scalar::Bool, Scalar::F32, kNan));
  EXPECT_TRUE(cast<bool>(Scalar::Bool, Scalar::I64, std::int64_t{1} << 40));
}

TEST(InterpreterConvert, DoubleToFloatRounds) {
  const auto f32 = [](double x) { return cast<float>(Scalar::F32, Scalar::F64, x); };
  EXPECT_EQ(f32(1.0 + 0x1p-24), 1.0f);
  EXPECT_EQ(f32(1.0 + 0x1p-24 + 0x1p-50), 1.0f + 0x1p-23f);
  EXPECT_EQ(f32(1e39), kInf);
  EXPECT_EQ(f32(0x1p-149), 0x1p-149f);
}

/// Value of a finite binary16, from its definition.
double half_value(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const double fraction = bits & 0x3ff;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(InterpreterConvert, EveryHalfSurvivesTheRoundTrip) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_f16(half);
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_GT(to_f16(value) & 0x7fffu, 0x7c00u);
      continue;
    }
    if ((bits & 0x7fff) != 0x7c00) {
      ASSERT_EQ(static_cast<double>(value), half_value(bits));
    }
    ASSERT_EQ(to_f16(value), half);
  }
}

TEST(InterpreterConvert, HalvesRoundToTheNearestAndTiesToEven) {
  // Midpoints of neighbours are floats, so both sides of each and the tie itself can be tried.
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    const auto middle = static_cast<float>((half_value(bits) + half_value(bits + 1)) / 2);
    const unsigned even = (bits & 1) == 0 ? bits : bits + 1;
    ASSERT_EQ(to_f16(middle), even);
    ASSERT_EQ(to_f16(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(to_f16(std::nextafter(middle, kInf)), bits + 1);
    ASSERT_EQ(to_f16(-middle), even | 0x8000);
  }
}

TEST(InterpreterConvert, HalvesOverflowToInfinityAndUnderflowToZero) {
  EXPECT_EQ(to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(to_f16(1e38f), 0x7c00);
  EXPECT_EQ(to_f16(-kInf), 0xfc00);
  EXPECT_EQ(to_f16(0x1p-25f), 0);
  EXPECT_EQ(to_f16(std::nextafter(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(to_f16(-0x1p-149f), 0x8000);
  EXPECT_EQ(to_f16(-0.0f), 0x8000);
}

TEST(InterpreterConvert, Bfloat16RoundsToTheNearestAndTiesToEven) {
  for (unsigned bits = 0; bits < 0x7f80; ++bits) {
    const auto b = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(to_bf16(from_bf16(b)), bits);
    const float middle = std::bit_cast<float>(bits << 16 | 0x8000u);
    const unsigned even = (bits & 1) == 0 ? bits : bits + 1;
    ASSERT_EQ(to_bf16(middle), even);
    ASSERT_EQ(to_bf16(std::bit_cast<float>(bits << 16 | 0x7fffu)), bits);
    ASSERT_EQ(to_bf16(-std::bit_cast<float>(bits << 16 | 0x8001u)), (bits + 1) | 0x8000);
  }
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(-kInf), 0xff80);
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(0x7f80'0001u)))));
}

TEST(InterpreterConvert, NarrowElementsWidenWithTheirSign) {
  EXPECT_EQ(from_slot<std::int32_t>(evaluate(widen_function(Scalar::I8), 0x80)), -128);
  EXPECT_EQ(from_slot<std::int32_t>(evaluate(widen_function(Scalar::I16), 0xffff)), -1);
  EXPECT_EQ(evaluate(widen_function(Scalar::Bool), 2), 1u);
  EXPECT_EQ(from_slot<float>(evaluate(widen_function(Scalar::BF16), 0xbf80)), -1.0f);
  EXPECT_EQ(from_slot<float>(evaluate(widen_function(Scalar::F16), 0x3c00)), 1.0f);
  EXPECT_EQ(widen_function(Scalar::U8), nullptr);
  EXPECT_EQ(widen_function(Scalar::U16), nullptr);
}

}  // namespace
}  // namespace salvo::backends::interpreter
