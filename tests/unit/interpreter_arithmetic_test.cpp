// Every pure operation on edge values, against values worked out by hand.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/arithmetic.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

namespace salvo::backends::interpreter {
namespace {

using ir::Op;
using ir::Scalar;

constexpr std::int32_t kMin32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfF = std::numeric_limits<float>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
constexpr Scalar kScalarOf = Scalar::Bool;
template <>
constexpr Scalar kScalarOf<std::int32_t> = Scalar::I32;
template <>
constexpr Scalar kScalarOf<std::uint32_t> = Scalar::U32;
template <>
constexpr Scalar kScalarOf<std::int64_t> = Scalar::I64;
template <>
constexpr Scalar kScalarOf<std::uint64_t> = Scalar::U64;
template <>
constexpr Scalar kScalarOf<float> = Scalar::F32;
template <>
constexpr Scalar kScalarOf<double> = Scalar::F64;

template <class Result, class T, class... Rest>
Result compute(Op op, T a, Rest... rest) {
  const LaneFunction function = lane_function(op, kScalarOf<Result>, kScalarOf<T>);
  EXPECT_NE(function, nullptr) << ir::name(op);
  return function == nullptr ? Result{}
                             : from_slot<Result>(evaluate(function, to_slot(a), to_slot(rest)...));
}

template <class T, class... Rest>
T same(Op op, T a, Rest... rest) {
  return compute<T>(op, a, rest...);
}

template <class T>
bool test(Op op, T a, T b) {
  return compute<bool>(op, a, b);
}

/// Equality of bits, so that -0 and +0 differ.
void expect_bits(float actual, float expected) {
  EXPECT_EQ(to_slot(actual), to_slot(expected)) << actual << " instead of " << expected;
}

TEST(InterpreterArithmetic, IntegersWrap) {
  EXPECT_EQ(same(Op::Add, kMax32, 1), kMin32);
  EXPECT_EQ(same(Op::Sub, kMin32, 1), kMax32);
  EXPECT_EQ(same(Op::Mul, std::int32_t{65536}, 65536), 0);
  EXPECT_EQ(same(Op::Mul, kMax32, kMax32), 1);
  EXPECT_EQ(same(Op::Neg, kMin32), kMin32);
  EXPECT_EQ(same(Op::Abs, kMin32), kMin32);
  EXPECT_EQ(same(Op::Abs, -5), 5);
  EXPECT_EQ(same(Op::Add, kMax64, std::int64_t{1}), kMin64);
  EXPECT_EQ(same(Op::Mul, kMin64, std::int64_t{-1}), kMin64);
  EXPECT_EQ(same(Op::Neg, kMin64), kMin64);
  EXPECT_EQ(same(Op::Sub, 0u, 1u), 0xffff'ffffu);
  EXPECT_EQ(same(Op::Neg, 1u), 0xffff'ffffu);
  EXPECT_EQ(same(Op::Abs, 0x8000'0000u), 0x8000'0000u);
  EXPECT_EQ(same(Op::Add, ~std::uint64_t{0}, std::uint64_t{2}), 1u);
}

TEST(InterpreterArithmetic, DivisionTruncatesTowardZero) {
  EXPECT_EQ(same(Op::Div, 7, 2), 3);
  EXPECT_EQ(same(Op::Div, -7, 2), -3);
  EXPECT_EQ(same(Op::Div, 7, -2), -3);
  EXPECT_EQ(same(Op::Rem, 7, -2), 1);
  EXPECT_EQ(same(Op::Rem, -7, 2), -1);
  EXPECT_EQ(same(Op::Rem, std::int64_t{-7}, std::int64_t{-2}), -1);
  EXPECT_EQ(same(Op::Div, 0xffff'fffeu, 2u), 0x7fff'ffffu);
}

TEST(InterpreterArithmetic, DivisionByZeroGivesZeroAndTheDividend) {
  EXPECT_EQ(same(Op::Div, 7, 0), 0);
  EXPECT_EQ(same(Op::Rem, -7, 0), -7);
  EXPECT_EQ(same(Op::Div, 7u, 0u), 0u);
  EXPECT_EQ(same(Op::Rem, 7u, 0u), 7u);
  EXPECT_EQ(same(Op::Div, kMin64, std::int64_t{0}), 0);
  EXPECT_EQ(same(Op::Rem, kMin64, std::int64_t{0}), kMin64);
}

TEST(InterpreterArithmetic, LowestIntegerDividedByMinusOneWraps) {
  EXPECT_EQ(same(Op::Div, kMin32, -1), kMin32);
  EXPECT_EQ(same(Op::Rem, kMin32, -1), 0);
  EXPECT_EQ(same(Op::Div, kMin64, std::int64_t{-1}), kMin64);
  EXPECT_EQ(same(Op::Rem, kMin64, std::int64_t{-1}), 0);
}

TEST(InterpreterArithmetic, IntegerMinAndMaxFollowTheSign) {
  EXPECT_EQ(same(Op::Min, -1, 1), -1);
  EXPECT_EQ(same(Op::Max, -1, 1), 1);
  EXPECT_EQ(same(Op::Min, 0xffff'ffffu, 1u), 1u);
  EXPECT_EQ(same(Op::Max, 0xffff'ffffu, 1u), 0xffff'ffffu);
}

TEST(InterpreterArithmetic, FloatMinAndMaxSkipNanAndOrderZeros) {
  expect_bits(same(Op::Min, kNanF, 1.0f), 1.0f);
  expect_bits(same(Op::Min, 1.0f, kNanF), 1.0f);
  expect_bits(same(Op::Max, kNanF, -1.0f), -1.0f);
  expect_bits(same(Op::Max, -1.0f, kNanF), -1.0f);
  EXPECT_TRUE(std::isnan(same(Op::Min, kNanF, kNanF)));
  expect_bits(same(Op::Min, 0.0f, -0.0f), -0.0f);
  expect_bits(same(Op::Min, -0.0f, 0.0f), -0.0f);
  expect_bits(same(Op::Max, 0.0f, -0.0f), 0.0f);
  expect_bits(same(Op::Max, -0.0f, 0.0f), 0.0f);
  expect_bits(same(Op::Min, -kInfF, 3.0f), -kInfF);
  EXPECT_EQ(same(Op::Max, kNan, 2.0), 2.0);
}

TEST(InterpreterArithmetic, FloatsRoundOncePerOperation) {
  // 2^24 + 1 is no float; the product below is exact only before it is rounded.
  expect_bits(same(Op::Add, 16777216.0f, 1.0f), 16777216.0f);
  const float a = 1.0f + 0x1p-12f;
  expect_bits(same(Op::Mul, a, a), 1.0f + 0x1p-11f);
  expect_bits(same(Op::Fma, a, a, -(1.0f + 0x1p-11f)), 0x1p-24f);
  EXPECT_EQ(same(Op::Fma, 1.0 + 0x1p-27, 1.0 + 0x1p-27, -(1.0 + 0x1p-26)), 0x1p-54);
  expect_bits(same(Op::Div, 1.0f, 3.0f), 0x1.555556p-2f);
  expect_bits(same(Op::Div, 1.0f, -0.0f), -kInfF);
  expect_bits(same(Op::Neg, 0.0f), -0.0f);
  expect_bits(same(Op::Abs, -0.0f), 0.0f);
  expect_bits(same(Op::Sub, 1.0f, 1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(same(Op::Sub, kInfF, kInfF)));
}

TEST(InterpreterArithmetic, DenormalsAreKept) {
  expect_bits(same(Op::Mul, 0x1p-126f, 0.5f), 0x1p-127f);
  expect_bits(same(Op::Add, 0x1p-149f, 0x1p-149f), 0x1p-148f);
}

TEST(InterpreterArithmetic, BitsOfEveryWidth) {
  EXPECT_EQ(same(Op::And, 0b1100, 0b1010), 0b1000);
  EXPECT_EQ(same(Op::Or, 0b1100u, 0b1010u), 0b1110u);
  EXPECT_EQ(same(Op::Xor, std::int64_t{-1}, std::int64_t{1}), -2);
  EXPECT_EQ(same(Op::Not, 0), -1);
  EXPECT_EQ(same(Op::Not, std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(same(Op::Not, true), false);
  EXPECT_EQ(same(Op::And, true, false), false);
  EXPECT_EQ(same(Op::Xor, true, false), true);
  EXPECT_EQ(same(Op::Clz, 1), 31);
  EXPECT_EQ(same(Op::Clz, 0), 32);
  EXPECT_EQ(same(Op::Clz, -1), 0);
  EXPECT_EQ(same(Op::Clz, std::uint64_t{0}), 64u);
  EXPECT_EQ(same(Op::Popcount, -1), 32);
  EXPECT_EQ(same(Op::Popcount, kMin64), 1);
}

TEST(InterpreterArithmetic, ShiftCountsAreTakenModuloTheWidth) {
  EXPECT_EQ(same(Op::Shl, 1, 33), 2);
  EXPECT_EQ(same(Op::Shl, 1, 31), kMin32);
  EXPECT_EQ(same(Op::Shl, 3, -1), kMin32);
  EXPECT_EQ(same(Op::Shr, -8, 1), -4);
  EXPECT_EQ(same(Op::Shr, -8, 32), -8);
  EXPECT_EQ(same(Op::Shr, 0x8000'0000u, 31u), 1u);
  EXPECT_EQ(same(Op::ShrLogical, -8, 1), 0x7fff'fffc);
  EXPECT_EQ(same(Op::ShrLogical, std::int64_t{-1}, std::int64_t{63}), 1);
  EXPECT_EQ(same(Op::Shl, std::uint64_t{1}, std::uint64_t{64}), 1u);
  // The count may be of another type than the value.
  EXPECT_EQ(same(Op::Shl, std::int64_t{1}, std::int32_t{-1}), kMin64);
}

TEST(InterpreterArithmetic, ComparisonsFollowSignAndIeee) {
  EXPECT_TRUE(test(Op::Lt, -1, 1));
  EXPECT_FALSE(test(Op::Lt, 0xffff'ffffu, 1u));
  EXPECT_TRUE(test(Op::Le, 1, 1));
  EXPECT_TRUE(test(Op::Gt, kMax64, kMin64));
  EXPECT_TRUE(test(Op::Ge, 2.0, 2.0));
  EXPECT_TRUE(test(Op::Eq, 0.0f, -0.0f));
  EXPECT_TRUE(test(Op::Ne, true, false));
  for (const Op op : {Op::Eq, Op::Lt, Op::Le, Op::Gt, Op::Ge}) {
    EXPECT_FALSE(test(op, kNanF, kNanF)) << ir::name(op);
    EXPECT_FALSE(test(op, 1.0f, kNanF)) << ir::name(op);
  }
  EXPECT_TRUE(test(Op::Ne, kNanF, kNanF));
}

TEST(InterpreterArithmetic, SelectAndBitcastCopyBits) {
  const LaneFunction select = lane_function(Op::Select, Scalar::F32, Scalar::F32);
  EXPECT_EQ(evaluate(select, 1, 0x7fc0'0001, 5), 0x7fc0'0001u);
  EXPECT_EQ(evaluate(select, 0, 0x7fc0'0001, 5), 5u);
  EXPECT_EQ(compute<std::uint32_t>(Op::Bitcast, -0.0f), 0x8000'0000u);
  EXPECT_EQ(compute<double>(Op::Bitcast, std::uint64_t{0x3ff0'0000'0000'0000}), 1.0);
  EXPECT_EQ(lane_function(Op::Bitcast, Scalar::F64, Scalar::I32), nullptr);
}

TEST(InterpreterArithmetic, RoundingFunctions) {
  expect_bits(same(Op::Round, 0.5f), 1.0f);
  expect_bits(same(Op::Round, 2.5f), 3.0f);
  expect_bits(same(Op::Round, -2.5f), -3.0f);
  expect_bits(same(Op::Round, 0x1.fffffep-2f), 0.0f);
  expect_bits(same(Op::Round, -0.25f), -0.0f);
  expect_bits(same(Op::Floor, -0.5f), -1.0f);
  expect_bits(same(Op::Ceil, -0.5f), -0.0f);
  expect_bits(same(Op::Trunc, -1.75f), -1.0f);
  EXPECT_EQ(same(Op::Floor, 1e300), 1e300);
}

TEST(InterpreterArithmetic, ExactFunctions) {
  expect_bits(same(Op::Sqrt, 2.0f), 0x1.6a09e6p+0f);
  EXPECT_TRUE(std::isnan(same(Op::Sqrt, -1.0f)));
  expect_bits(same(Op::Sqrt, -0.0f), -0.0f);
  expect_bits(same(Op::Fmod, 5.5f, -2.0f), 1.5f);
  expect_bits(same(Op::Fmod, -6.0f, 3.0f), -0.0f);
  expect_bits(same(Op::Fmod, 0x1p100f, 3.0f), 1.0f);
  expect_bits(same(Op::Copysign, 3.0f, -0.0f), -3.0f);
  EXPECT_TRUE(compute<bool>(Op::IsNan, kNanF));
  EXPECT_FALSE(compute<bool>(Op::IsNan, kInfF));
  EXPECT_TRUE(compute<bool>(Op::IsInf, -kInfF));
  EXPECT_FALSE(compute<bool>(Op::IsInf, 0x1.fffffep+127f));
}

/// A point, and the value there to more digits than a double holds.
struct Known {
  Op op;
  double x;
  std::optional<double> y;
  double value;
};

TEST(InterpreterArithmetic, MathFunctionsAtKnownPoints) {
  const Known known[] = {
      {Op::Rsqrt, 2, {}, 0.70710678118654752440},     {Op::Cbrt, 2, {}, 1.25992104989487316477},
      {Op::Sin, 1, {}, 0.84147098480789650665},       {Op::Cos, 1, {}, 0.54030230586813971740},
      {Op::Tan, 1, {}, 1.55740772465490223051},       {Op::Asin, 0.5, {}, 0.52359877559829887308},
      {Op::Acos, 0.5, {}, 1.04719755119659774615},    {Op::Atan, 2, {}, 1.10714871779409050302},
      {Op::Atan2, 1.0, -1.0, 2.35619449019234492885}, {Op::Sinh, 1, {}, 1.17520119364380145688},
      {Op::Cosh, 1, {}, 1.54308063481524377848},      {Op::Tanh, 1, {}, 0.76159415595576488812},
      {Op::Exp, 1, {}, 2.71828182845904523536},       {Op::Exp2, 0.5, {}, 1.41421356237309504880},
      {Op::Expm1, 1, {}, 1.71828182845904523536},     {Op::Log, 10, {}, 2.30258509299404568402},
      {Op::Log2, 10, {}, 3.32192809488736234787},     {Op::Log10, 2, {}, 0.30102999566398119521},
      {Op::Log1p, 1, {}, 0.69314718055994530942},     {Op::Pow, 2, 0.5, 1.41421356237309504880},
      {Op::Hypot, 1, 1.0, 1.41421356237309504880},
  };
  for (const Known& k : known) {
    SCOPED_TRACE(ir::name(k.op));
    const double y = k.y.value_or(0);
    expect_bits(same(k.op, static_cast<float>(k.x), static_cast<float>(y)),
                static_cast<float>(k.value));
    EXPECT_DOUBLE_EQ(same(k.op, k.x, y), k.value);
  }
}

TEST(InterpreterArithmetic, MathFunctionsAtTheirEdges) {
  expect_bits(same(Op::Exp, 89.0f), kInfF);
  expect_bits(same(Op::Exp, -104.0f), 0.0f);
  expect_bits(same(Op::Log, 0.0f), -kInfF);
  EXPECT_TRUE(std::isnan(same(Op::Log, -1.0f)));
  expect_bits(same(Op::Pow, 0.0f, 0.0f), 1.0f);
  expect_bits(same(Op::Rsqrt, 0.0f), kInfF);
  expect_bits(same(Op::Hypot, 0x1.8p+127f, 0x1p+127f), 0x1.cd82b4p+127f);
  expect_bits(same(Op::Hypot, 0x1.8p+127f, 0x1.8p+127f), kInfF);
  expect_bits(same(Op::Atan2, -0.0f, -1.0f), -0x1.921fb6p+1f);
}

TEST(InterpreterArithmetic, OperationsRefuseTypesTheyAreNotDefinedOn) {
  EXPECT_EQ(lane_function(Op::Add, Scalar::Bool, Scalar::Bool), nullptr);
  EXPECT_EQ(lane_function(Op::Fma, Scalar::I32, Scalar::I32), nullptr);
  EXPECT_EQ(lane_function(Op::And, Scalar::F32, Scalar::F32), nullptr);
  EXPECT_EQ(lane_function(Op::Shl, Scalar::F64, Scalar::F64), nullptr);
  EXPECT_EQ(lane_function(Op::Rem, Scalar::F32, Scalar::F32), nullptr);
  EXPECT_EQ(lane_function(Op::Sin, Scalar::I32, Scalar::I32), nullptr);
  EXPECT_EQ(lane_function(Op::Add, Scalar::F16, Scalar::F16), nullptr);
  EXPECT_EQ(lane_function(Op::Load, Scalar::F32, Scalar::I32), nullptr);
}

TEST(InterpreterArithmetic, OnlyActiveLanesAreComputed) {
  const std::uint64_t a[] = {1, 2, 3, 4};
  std::uint64_t out[] = {9, 9, 9, 9};
  const std::uint32_t active[] = {1, 3};
  lane_function(Op::Neg, Scalar::U32, Scalar::U32)(a, a, a, out, Lanes{active, 2});
  EXPECT_EQ(out[0], 9u);
  EXPECT_EQ(out[1], 0xffff'fffeu);
  EXPECT_EQ(out[2], 9u);
  EXPECT_EQ(out[3], 0xffff'fffcu);
}

}  // namespace
}  // namespace salvo::backends::interpreter
