// What simplification folds, merges and drops, what it leaves alone, and that nothing else changes.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/fold.hpp"
#include "passes/lower_returns.hpp"
#include "passes/simplify.hpp"
#include "unit/control_evaluator.hpp"
#include "unit/random_control.hpp"

namespace salvo::passes {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using ::testing::IsEmpty;

std::uint64_t i32(std::int32_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint64_t i64(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> fold2(Op op, Scalar type, std::uint64_t a, std::uint64_t b) {
  const Literal operands[] = {{type, a}, {type, b}};
  const bool compares = ir::is_comparison(op);
  return fold(op, compares ? Scalar::Bool : type, operands);
}

TEST(PassesFold, WrapsAndTruncatesAsTheLanguageSays) {
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMin64 = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(fold2(Op::Add, Scalar::I32, i32(2147483647), i32(1)), i32(kMin));
  EXPECT_EQ(fold2(Op::Sub, Scalar::U32, 0, 1), 0xffffffffU);
  EXPECT_EQ(fold2(Op::Mul, Scalar::I32, i32(65536), i32(-65536)), 0U);
  EXPECT_EQ(fold2(Op::Mul, Scalar::I64, i64(-3), i64(5)), i64(-15));
  EXPECT_EQ(fold2(Op::Div, Scalar::I32, i32(-7), i32(2)), i32(-3));
  EXPECT_EQ(fold2(Op::Rem, Scalar::I32, i32(-7), i32(2)), i32(-1));
  EXPECT_EQ(fold2(Op::Rem, Scalar::I32, i32(7), i32(-2)), i32(1));
  EXPECT_EQ(fold2(Op::Div, Scalar::I32, i32(kMin), i32(-1)), i32(kMin));
  EXPECT_EQ(fold2(Op::Rem, Scalar::I32, i32(kMin), i32(-1)), 0U);
  EXPECT_EQ(fold2(Op::Div, Scalar::I64, i64(kMin64), i64(-1)), i64(kMin64));
  EXPECT_EQ(fold2(Op::Rem, Scalar::I64, i64(kMin64), i64(-1)), 0U);
  EXPECT_EQ(fold2(Op::Div, Scalar::U32, 0xfffffff9, 2), 0x7ffffffcU);
  EXPECT_EQ(fold2(Op::Div, Scalar::I32, i32(-7), 0), 0U);
  EXPECT_EQ(fold2(Op::Rem, Scalar::I32, i32(-7), 0), i32(-7));
  EXPECT_EQ(fold2(Op::Min, Scalar::I32, i32(-1), 1), i32(-1));
  EXPECT_EQ(fold2(Op::Min, Scalar::U32, i32(-1), 1), 1U);
  EXPECT_EQ(fold2(Op::Max, Scalar::I64, i64(-1), 1), 1U);
}

TEST(PassesFold, ShiftsModuloTheWidth) {
  EXPECT_EQ(fold2(Op::Shl, Scalar::I32, 1, 33), 2U);
  EXPECT_EQ(fold2(Op::Shl, Scalar::I32, 1, i32(-1)), 0x80000000U);
  EXPECT_EQ(fold2(Op::Shl, Scalar::I64, 1, 33), std::uint64_t{1} << 33);
  EXPECT_EQ(fold2(Op::Shr, Scalar::I32, i32(-8), 1), i32(-4));
  EXPECT_EQ(fold2(Op::Shr, Scalar::U32, i32(-8), 1), 0x7ffffffcU);
  EXPECT_EQ(fold2(Op::ShrLogical, Scalar::I32, i32(-8), 1), 0x7ffffffcU);
  EXPECT_EQ(fold2(Op::ShrLogical, Scalar::I64, i64(-8), 65), i64(-8) >> 1);
}

TEST(PassesFold, ComparesBySign) {
  EXPECT_EQ(fold2(Op::Lt, Scalar::I32, i32(-1), 0), 1U);
  EXPECT_EQ(fold2(Op::Lt, Scalar::U32, i32(-1), 0), 0U);
  EXPECT_EQ(fold2(Op::Le, Scalar::I64, 4, 4), 1U);
  EXPECT_EQ(fold2(Op::Gt, Scalar::I32, 4, 4), 0U);
  EXPECT_EQ(fold2(Op::Ge, Scalar::U64, 4, 5), 0U);
  EXPECT_EQ(fold2(Op::Eq, Scalar::Bool, 1, 1), 1U);
  EXPECT_EQ(fold2(Op::Ne, Scalar::I32, 1, 1), 0U);
}

TEST(PassesFold, HandlesSingleOperandsAndConversions) {
  const auto fold1 = [](Op op, Scalar to, Literal from) {
    return fold(op, to, std::span<const Literal>(&from, 1));
  };
  EXPECT_EQ(fold1(Op::Neg, Scalar::I32, {Scalar::I32, 1}), i32(-1));
  EXPECT_EQ(fold1(Op::Abs, Scalar::I32, {Scalar::I32, i32(-5)}), 5U);
  EXPECT_EQ(fold1(Op::Abs, Scalar::U32, {Scalar::U32, i32(-5)}), i32(-5));
  EXPECT_EQ(fold1(Op::Not, Scalar::I32, {Scalar::I32, 0}), i32(-1));
  EXPECT_EQ(fold1(Op::Not, Scalar::Bool, {Scalar::Bool, 1}), 0U);
  EXPECT_EQ(fold1(Op::Cast, Scalar::I64, {Scalar::I32, i32(-2)}), i64(-2));
  EXPECT_EQ(fold1(Op::Cast, Scalar::I64, {Scalar::U32, i32(-2)}), 0xfffffffeU);
  EXPECT_EQ(fold1(Op::Cast, Scalar::I32, {Scalar::I64, 0x1'8000'0001}), 0x80000001U);
  EXPECT_EQ(fold1(Op::Cast, Scalar::Bool, {Scalar::I32, 256}), 1U);
  EXPECT_EQ(fold1(Op::Cast, Scalar::F32, {Scalar::I32, 1}), std::nullopt);
  EXPECT_EQ(fold1(Op::Cast, Scalar::I32, {Scalar::F32, 0}), std::nullopt);
}

TEST(PassesFold, LeavesFloatsAlone) {
  EXPECT_EQ(fold2(Op::Add, Scalar::F32, 0, 0), std::nullopt);
  EXPECT_EQ(fold2(Op::Lt, Scalar::F64, 0, 0), std::nullopt);
}

std::string simplified(const ir::Kernel& kernel) {
  EXPECT_THAT(ir::verify(kernel), IsEmpty());
  const ir::Kernel result = simplify(kernel);
  EXPECT_THAT(ir::verify(result), IsEmpty());
  const std::string text = ir::print(result);
  return text.substr(text.find('\n') + 1);
}

TEST(PassesSimplify, ComputesOnceWhatDominates) {
  test::Shapes b("k");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::F32), false);
  const std::uint32_t n = b.scalar_parameter("n", Scalar::I32);
  const auto sum = [&] { return b.op(Op::Add, {b.param(n), b.position(Op::GlobalIdx, 0)}); };
  const auto reversed = [&] { return b.op(Op::Add, {b.position(Op::GlobalIdx, 0), b.param(n)}); };
  const auto square = [&](ValueId i) {
    const ValueId v = b.load(x, i);
    b.store(x, i, b.op(Op::Mul, {v, v}));
  };
  const ValueId inside = b.op(Op::Lt, {sum(), reversed()});
  b.if_else(
      inside, [&] { square(b.op(Op::Neg, {sum()})); }, [&] { square(b.op(Op::Neg, {sum()})); });
  square(sum());
  EXPECT_EQ(simplified(b.kernel()),
            "  %0: i32 = param n\n"
            "  %1: i32 = global_idx.x\n"
            "  %2: i32 = add %0, %1\n"
            "  %3: bool = lt %2, %2\n"
            "  if %3\n"
            "    %5: i32 = neg %2\n"
            "    %6: f32 = load x[%5]\n"
            "    %7: f32 = mul %6, %6\n"
            "    store x[%5] %7\n"
            "  else:\n"
            "    %9: i32 = neg %2\n"
            "    %10: f32 = load x[%9]\n"
            "    %11: f32 = mul %10, %10\n"
            "    store x[%9] %11\n"
            "  %13: f32 = load x[%2]\n"
            "  %14: f32 = mul %13, %13\n"
            "  store x[%2] %14\n"
            "}\n");
}

TEST(PassesSimplify, FoldsIndexArithmeticAndDropsTheUnused) {
  test::Shapes b("k");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::F32), false);
  const std::uint32_t v = b.variable("v", Scalar::I32);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const ValueId three = b.op(Op::Add, {b.constant_i32(1), b.constant_i32(2)});
  const ValueId zero = b.op(Op::Mul, {i, b.op(Op::Sub, {three, b.constant_i32(3)})});
  const ValueId index = b.op(Op::Add, {zero, b.op(Op::Mul, {i, b.constant_i32(1)})});
  b.var_get(v);
  const ValueId loaded = b.load(x, i);  // a read stays a read
  b.op(Op::Sin, {loaded});
  b.store(x, index, b.constant(Scalar::F32, 0));
  EXPECT_EQ(simplified(b.kernel()),
            "  var v: i32\n"
            "  %0: i32 = global_idx.x\n"
            "  %1: f32 = load x[%0]\n"
            "  %2: f32 = constant 0\n"
            "  store x[%0] %2\n"
            "}\n");
}

TEST(PassesSimplify, LeavesFloatsMemoryAndVariablesAsTheyAre) {
  test::Shapes b("k");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::F32), false);
  const std::uint32_t v = b.variable("v", Scalar::F32);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const ValueId zero = b.constant(Scalar::F32, 0);
  const ValueId first = b.load(x, i);
  const ValueId second = b.load(x, i);
  b.var_set(v, b.op(Op::Add, {first, zero}));  // -0 + 0 is 0
  b.var_set(v, b.op(Op::Add, {first, second}));
  b.var_set(v, b.op(Op::Add, {second, first}));
  b.var_set(v, b.op(Op::Sub, {zero, b.constant(Scalar::F32, 0x80000000)}));
  EXPECT_EQ(simplified(b.kernel()),
            ir::print(b.kernel()).substr(ir::print(b.kernel()).find('\n') + 1));
}

TEST(PassesSimplify, SelectsByConstantsWhateverTheirType) {
  test::Shapes b("k");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::F32), false);
  const std::uint32_t p = b.scalar_parameter("p", Scalar::F32);
  const std::uint32_t q = b.scalar_parameter("q", Scalar::F32);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const ValueId never = b.op(Op::Lt, {b.constant_i32(2), b.constant_i32(1)});
  b.store(x, i, b.op(Op::Select, {never, b.param(p), b.param(q)}));
  b.store(x, i, b.op(Op::Select, {b.op(Op::Not, {never}), b.param(p), b.param(q)}));
  EXPECT_EQ(simplified(b.kernel()),
            "  %0: i32 = global_idx.x\n"
            "  %1: f32 = param p\n"
            "  %2: f32 = param q\n"
            "  store x[%0] %2\n"
            "  store x[%0] %1\n"
            "}\n");
}

TEST(PassesSimplify, KeepsAWhileConditionToItsLoop) {
  test::Shapes b("k");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const auto next = [&] { return b.op(Op::Add, {i, i}); };
  b.while_loop(
      [&] {
        return b.op(Op::Lt, {b.load(x, next()), next()});
      },
      [&] { b.store(x, next(), next()); });
  b.store(x, i, next());
  EXPECT_EQ(simplified(b.kernel()),
            "  %0: i32 = global_idx.x\n"
            "  while %4\n"
            "    %2: i32 = add %0, %0\n"
            "    %3: i32 = load x[%2]\n"
            "    %4: bool = lt %3, %2\n"
            "  do:\n"
            "    %5: i32 = add %0, %0\n"
            "    store x[%5] %5\n"
            "  %7: i32 = add %0, %0\n"
            "  store x[%0] %7\n"
            "}\n");
}

TEST(PassesSimplify, RandomKernelsDoTheSameMemoryOperationsInTheSameOrder) {
  std::mt19937 random(3);
  std::size_t before = 0, after = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    const ir::Kernel kernel = test::RandomControl(seed).kernel();
    for (const ir::Kernel& from : {kernel, lower_returns(kernel)}) {
      const ir::Kernel result = simplify(from);
      ASSERT_THAT(ir::verify(result), IsEmpty()) << ir::print(from) << ir::print(result);
      ASSERT_EQ(ir::print(simplify(result)), ir::print(result)) << "seed " << seed;
      before += from.nodes.size();
      after += result.nodes.size();
      for (int run = 0; run < 4; ++run) {
        std::vector<std::int32_t> input(61);
        for (std::int32_t& value : input) value = static_cast<std::int32_t>(random() % 3);
        test::ControlEvaluator original(from, input), reduced(result, input);
        ASSERT_EQ(original.run(), reduced.run()) << "seed " << seed << '\n'
                                                 << ir::print(from) << ir::print(result);
        ASSERT_EQ(original.variables(), reduced.variables()) << "seed " << seed;
      }
    }
  }
  EXPECT_LT(after, before * 9 / 10);
}

}  // namespace
}  // namespace salvo::passes
