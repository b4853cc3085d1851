// Cooperative matrices on the interpreter: values, rounding, and every fault it can name.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "salvo/types.hpp"
#include "unit/interpreter_support.hpp"
#include "unit/matrix_kernels.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::MatrixLayout;
using ir::MatrixUse;
using ir::Op;
using ir::Scalar;
using ::testing::Each;
using ::testing::HasSubstr;

template <class T>
std::vector<T> ramp(std::size_t count, int modulus) {
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(T(static_cast<float>(static_cast<int>(i) % modulus - modulus / 2)));
  }
  return values;
}

/// The product of whole matrices, each in its layout, in double.
template <class In, class Sum>
std::vector<double> expected(const CooperativeMatrixShape& s, const test::Moves& moves,
                             const std::vector<In>& a, const std::vector<In>& b,
                             const std::vector<Sum>& c) {
  const auto at = [](MatrixLayout layout, std::uint32_t rows, std::uint32_t columns,
                     std::uint32_t r, std::uint32_t column) {
    return layout == MatrixLayout::row_major ? r * columns + column : column * rows + r;
  };
  std::vector<double> d(c.size());
  for (std::uint32_t r = 0; r < s.m; ++r) {
    for (std::uint32_t column = 0; column < s.n; ++column) {
      const std::uint32_t here = at(moves.sum, s.m, s.n, r, column);
      double sum = 0;
      for (std::uint32_t k = 0; k < s.k; ++k) {
        sum += static_cast<double>(float(a[at(moves.a, s.m, s.k, r, k)])) *
               static_cast<double>(float(b[at(moves.b, s.k, s.n, k, column)]));
      }
      d[here] = moves.rounds * sum + static_cast<double>(float(c[here]));
    }
  }
  return d;
}

template <class In, class Sum>
void check_product(const CooperativeMatrixShape& shape, const test::Moves& moves) {
  auto a = ramp<In>(shape.m * shape.k, 7), b = ramp<In>(shape.k * shape.n, 5);
  auto c = ramp<Sum>(shape.m * shape.n, 11);
  std::vector<Sum> d(shape.m * shape.n);
  run_sound(test::matrix_product(shape, moves), interpreter::shape(1, 32),
            {on(a), on(b), on(c), unwritten(d)});
  const std::vector<double> want = expected(shape, moves, a, b, c);
  for (std::size_t i = 0; i < d.size(); ++i) {
    ASSERT_EQ(static_cast<double>(float(d[i])), want[i]) << "element " << i;
  }
}

TEST(InterpreterMatrix, ProductsOfSmallNumbersAreExactInEveryLayout) {
  constexpr auto kRows = MatrixLayout::row_major, kColumns = MatrixLayout::column_major;
  for (const MatrixLayout a : {kRows, kColumns}) {
    for (const MatrixLayout b : {kRows, kColumns}) {
      for (const MatrixLayout sum : {kRows, kColumns}) {
        const test::Moves moves{a, b, sum, a == kColumns, 2};
        check_product<half, float>({16, 16, 16, Scalar::F16, Scalar::F32}, moves);
        check_product<half, half>({16, 8, 8, Scalar::F16, Scalar::F16}, moves);
        check_product<bfloat16, float>({16, 16, 16, Scalar::BF16, Scalar::F32}, moves);
        check_product<half, float>({8, 8, 16, Scalar::F16, Scalar::F32}, moves);
      }
    }
  }
}

TEST(InterpreterMatrix, FillsAndCopies) {
  std::vector<float> d(256);
  run_sound(test::filled_product({16, 16, 16, Scalar::F16, Scalar::F32}), shape(1, 32),
            {unwritten(d)});
  EXPECT_THAT(d, Each(192.0f));
}

TEST(InterpreterMatrix, AnAccumulatorOfHalvesIsRoundedOnceAMultiplyAdd) {
  // 2048 + 16 * (1/16 * 8) = 2056; added one by one to halves, each 1/2 would be lost.
  std::vector<half> a(256, half(0.0625f)), b(256, half(8.0f)), c(256, half(2048.0f)), d(256);
  run_sound(test::matrix_product({16, 16, 16, Scalar::F16, Scalar::F16}), shape(1, 32),
            {on(a), on(b), on(c), unwritten(d)});
  EXPECT_THAT(d, Each(half(2056.0f)));
}

// One statement on a 16x16 accumulator of two warps.
struct Sample {
  test::Shapes b = kernel_named("k");
  ir::MemoryId x = b.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
  std::uint32_t sum = b.matrix("sum", Scalar::F32, 16, 16, MatrixUse::accumulator);
  std::vector<float> values = std::vector<float>(512);

  void access(Op op, ir::ValueId offset, int stride) {
    b.at("src/demo.cpp", 5);
    b.matrix_access(op, sum, x, offset, b.constant_i32(stride), MatrixLayout::row_major);
  }
  std::string fault(std::uint32_t threads = 32) {
    return fault_of(b.kernel(), shape(1, threads), {on(values)});
  }
};

TEST(InterpreterMatrix, FaultsNameTheElementAndTheLine) {
  Sample past;
  past.access(Op::MatrixLoad, past.b.constant_i32(0), 40);
  EXPECT_EQ(past.fault(),
            "line 5: read of x[520] past its 512 elements, by thread (16,0,0) of block (0,0,0)");
  Sample before;
  before.access(Op::MatrixLoad, before.b.constant_i32(-8), 16);
  EXPECT_EQ(before.fault(),
            "line 5: read of x[-8] before its 512 elements, by thread (0,0,0) of block (0,0,0)");
  Sample odd;
  odd.access(Op::MatrixLoad, odd.b.constant_i32(4), 16);
  EXPECT_EQ(odd.fault(),
            "line 5: matrix_load of x at offset 4 and stride 16: its lines do not start at "
            "multiples of 32 bytes, by the warp of thread (0,0,0) of block (0,0,0)");
  Sample unset;
  unset.access(Op::MatrixStore, unset.b.constant_i32(0), 16);
  EXPECT_EQ(unset.fault(),
            "line 5: uninitialised read of matrix sum, by the warp of thread (0,0,0) of block "
            "(0,0,0)");
}

TEST(InterpreterMatrix, FaultsOfWarpsThatAreNotWholeOrDoNotAgree) {
  Sample partial;
  partial.access(Op::MatrixLoad, partial.b.constant_i32(0), 16);
  EXPECT_EQ(partial.fault(40), "line 5: the last warp of the block has 8 threads instead of 32");
  Sample differs;
  differs.access(Op::MatrixLoad, differs.b.position(Op::ThreadIdx, 0), 16);
  EXPECT_EQ(differs.fault(),
            "line 5: matrix_load: operand 0 differs between the threads of a warp, that of thread "
            "(0,0,0) of block (0,0,0)");
  Sample diverged;
  const ir::ValueId low =
      diverged.b.op(Op::Lt, {diverged.b.position(Op::ThreadIdx, 0), diverged.b.constant_i32(7)});
  diverged.b.if_else(low, [&] { diverged.access(Op::MatrixLoad, diverged.b.constant_i32(0), 16); });
  EXPECT_THAT(diverged.fault(), HasSubstr("matrix_load"));
}

TEST(InterpreterMatrix, TwoWarpsThatStoreTheSameElementsRace) {
  Sample both;
  both.b.matrix_fill(both.sum, both.b.constant(Scalar::F32, 0));
  both.access(Op::MatrixStore, both.b.constant_i32(0), 16);
  EXPECT_THAT(both.fault(64), HasSubstr("race on x[0]"));
  EXPECT_EQ(both.fault(32), "no fault");
}

}  // namespace
}  // namespace salvo::backends::interpreter
