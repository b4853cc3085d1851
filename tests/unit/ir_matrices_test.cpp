// Cooperative matrices in the IR: what is well formed, how it prints, hashes, copies and converges.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "fusion/horizontal.hpp"
#include "ir/hash.hpp"
#include "ir/matrices.hpp"
#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/access.hpp"
#include "passes/clone.hpp"
#include "passes/contract.hpp"
#include "passes/convergence.hpp"
#include "passes/cooperative.hpp"
#include "passes/simplify.hpp"
#include "passes/unroll.hpp"
#include "unit/matrix_kernels.hpp"

namespace salvo::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CooperativeMatrixShape kUsual{16, 16, 16, Scalar::F16, Scalar::F32};

TEST(IrMatrices, ASoundProductPassesAndPrints) {
  const Kernel kernel = test::matrix_product(kUsual, {.b = MatrixLayout::column_major});
  EXPECT_THAT(verify(kernel), IsEmpty());
  EXPECT_EQ(print(kernel),
            "kernel product(a: span<const f16>, b: span<const f16>, c: span<const f32>, "
            "d: span<f32>) {\n"
            "  matrix left: f16 16x16 a\n"
            "  matrix right: f16 16x16 b\n"
            "  matrix sum: f32 16x16 accumulator\n"
            "  %0: i32 = constant 0\n"
            "  %1: i32 = constant 16\n"
            "  matrix_load left, a[%0] row_major %1\n"
            "  %3: i32 = constant 16\n"
            "  matrix_load right, b[%0] column_major %3\n"
            "  %5: i32 = constant 16\n"
            "  matrix_load sum, c[%0] row_major %5\n"
            "  %7: i32 = constant 1\n"
            "  %8: i32 = constant 1\n"
            "  %9 = for %0, %8, %7\n"
            "    %10: i32 = for_index %9\n"
            "    matrix_multiply_add sum, left, right, sum\n"
            "  matrix_store sum, d[%0] row_major %5\n"
            "}\n");
}

// Declarations that one statement each is added to.
struct Base {
  test::Shapes b{"k"};
  MemoryId half = b.span_parameter("half", Element::scalar(Scalar::F16), false);
  MemoryId in = b.span_parameter("in", Element::scalar(Scalar::F32), true);
  MemoryId out = b.span_parameter("out", Element::scalar(Scalar::F32), false);
  MemoryId dynamic = b.shared_array("dynamic", Element::scalar(Scalar::F32), 0);
  MemoryId local = b.local_array("local", Element::scalar(Scalar::F32), 256);
  std::uint32_t left = b.matrix("left", Scalar::F16, 16, 8, MatrixUse::a);
  std::uint32_t right = b.matrix("right", Scalar::F16, 8, 16, MatrixUse::b);
  std::uint32_t brain = b.matrix("brain", Scalar::BF16, 8, 16, MatrixUse::b);
  std::uint32_t sum = b.matrix("sum", Scalar::F32, 16, 16, MatrixUse::accumulator);
  std::uint32_t small = b.matrix("small", Scalar::F32, 8, 8, MatrixUse::accumulator);
  ValueId i = (b.at("k.cpp", 7), b.constant_i32(0));
  ValueId f = b.constant(Scalar::F32, 0);

  void load(std::uint32_t matrix, MemoryId from, MatrixLayout layout = MatrixLayout::row_major) {
    b.matrix_access(Op::MatrixLoad, matrix, from, i, i, layout);
  }
  void store(std::uint32_t matrix, MemoryId to) {
    b.matrix_access(Op::MatrixStore, matrix, to, i, i, MatrixLayout::row_major);
  }
};

std::vector<std::string> faults(const std::function<void(Base&)>& add) {
  Base k;
  add(k);
  return verify(k.b.kernel());
}

TEST(IrMatrices, EachFaultHasItsWordsAndItsLine) {
  EXPECT_THAT(faults([](Base& k) { k.b.matrix_fill(9, k.f); }),
              ElementsAre("%2 matrix_fill names matrix 9 of 5 (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.b.matrix_fill(k.sum, k.i); }),
              ElementsAre("%2 matrix_fill operand 0 is i32 instead of f32 (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.load(k.left, k.in); }),
              ElementsAre("%2 matrix_load moves f16 and 'in' holds f32 (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.load(k.sum, k.local); }),
              ElementsAre("%2 matrix_load on local array 'local' (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.load(k.sum, k.dynamic); }),
              ElementsAre("%2 matrix_load on dynamic shared array 'dynamic', whose "
                          "alignment is not known (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.store(k.sum, k.in); }),
              ElementsAre("%2 matrix_store writes 'in', which is read-only (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.store(k.left, k.half); }),
              ElementsAre("%2 matrix_store of 'left', which is no accumulator (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.b.matrix_multiply_add(k.sum, k.right, k.left, k.sum); }),
              ElementsAre("%2 matrix_multiply_add takes matrices of use b, a and "
                          "accumulator instead of a, b and accumulator (k.cpp:7)",
                          "%2 matrix_multiply_add of 8x16 by 16x8 does not give 16x16 "
                          "(k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.b.matrix_multiply_add(k.sum, k.left, k.brain, k.sum); }),
              ElementsAre("%2 matrix_multiply_add multiplies f16 by bf16 (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.b.matrix_multiply_add(k.small, k.left, k.right, k.sum); }),
              ElementsAre("%2 matrix_multiply_add adds to 'sum' and its result is "
                          "another type of matrix (k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.b.matrix_copy(k.small, k.sum); }),
              ElementsAre("%2 matrix_copy of 'sum', which is another type of matrix "
                          "(k.cpp:7)"));
  EXPECT_THAT(faults([](Base& k) { k.b.matrix("odd", Scalar::F32, 16, 16, MatrixUse::a); }),
              ElementsAre("matrix 'odd', of use a, is f32"));
}

TEST(IrMatrices, AMatrixHasOneLayoutAlsoThroughCopies) {
  EXPECT_THAT(faults([](Base& k) {
                k.load(k.left, k.half);
                const std::uint32_t other = k.b.matrix("other", Scalar::F16, 16, 8, MatrixUse::a);
                k.b.matrix_copy(other, k.left);
                k.b.at("k.cpp", 9);
                k.load(other, k.half, MatrixLayout::column_major);
              }),
              ElementsAre("%4 matrix_load of 'other', which is loaded in the other "
                          "layout too (k.cpp:9)"));
  // An accumulator may come in one and go out in the other.
  EXPECT_THAT(faults([](Base& k) {
                k.load(k.sum, k.in, MatrixLayout::column_major);
                k.load(k.sum, k.in);
                k.store(k.sum, k.out);
              }),
              IsEmpty());
  Base k;
  const std::uint32_t copied = k.b.matrix("copied", Scalar::F16, 16, 8, MatrixUse::a);
  k.b.matrix_copy(copied, k.left);
  k.load(k.left, k.half, MatrixLayout::column_major);
  EXPECT_EQ(matrix_layouts(k.b.kernel())[copied], MatrixLayout::column_major);
}

TEST(IrMatrices, WhatAStatementSaysChangesTheDigest) {
  const Digest plain = hash(test::matrix_product(kUsual));
  const auto changed = [&](const std::function<void(Kernel&)>& change) {
    Kernel kernel = test::matrix_product(kUsual);
    change(kernel);
    return hash(kernel) != plain;
  };
  const auto statement = [](Kernel& kernel, Op op) -> Node& {
    for (Node& node : kernel.nodes) {
      if (node.op == op) return node;
    }
    return kernel.nodes[0];
  };
  EXPECT_FALSE(changed([](Kernel&) {}));
  EXPECT_TRUE(changed([](Kernel& k) { k.matrices[0].rows = 8; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.matrices[0].type = Scalar::BF16; }));
  EXPECT_TRUE(changed([&](Kernel& k) { statement(k, Op::MatrixMultiplyAdd).matrices[1] = 0; }));
  EXPECT_TRUE(changed([&](Kernel& k) { statement(k, Op::MatrixLoad).axis = 1; }));
}

TEST(PassesMatrices, CopiesAndRewritesKeepThem) {
  const Kernel kernel = test::matrix_product(kUsual, {.through_shared = true, .rounds = 3});
  const std::string text = print(kernel);
  EXPECT_EQ(print(passes::copy(kernel)), text);
  const Kernel contracted = passes::contract(kernel);
  EXPECT_EQ(contracted.matrices.size(), 3U);
  for (const Kernel& other : {passes::simplify(kernel), contracted, passes::unroll(kernel)}) {
    EXPECT_THAT(verify(other), IsEmpty());
  }
  const auto count = [](const Kernel& in, Op op) {
    return std::count_if(in.nodes.begin(), in.nodes.end(),
                         [op](const Node& node) { return node.op == op; });
  };
  EXPECT_EQ(count(passes::simplify(kernel), Op::MatrixMultiplyAdd), 1);
  EXPECT_EQ(count(passes::unroll(kernel), Op::MatrixMultiplyAdd), 3);
  EXPECT_EQ(count(passes::unroll(kernel), Op::MatrixLoad), 3);
}

TEST(PassesMatrices, LoadsReadAndStoresWrite) {
  const passes::Summary summary = passes::summarize(test::matrix_product(kUsual));
  ASSERT_EQ(summary.parameters.size(), 4U);
  for (std::size_t p = 0; p < 4; ++p) {
    EXPECT_EQ(summary.parameters[p].reads, p < 3) << p;
    EXPECT_EQ(summary.parameters[p].writes, p == 3) << p;
  }
  EXPECT_TRUE(summary.has_cooperative_matrix);
  EXPECT_TRUE(summary.needs_fp16);
  EXPECT_EQ(fusion::horizontal_refusal(test::matrix_product(kUsual), summary),
            Reason::cooperative_matrix);
}

TEST(PassesMatrices, TheWarpComesTogetherWithEqualOperands) {
  const auto messages = [](const std::function<void(Base&)>& add) {
    Base k;
    add(k);
    EXPECT_THAT(verify(k.b.kernel()), IsEmpty());
    std::vector<std::string> all;
    for (const auto& divergence : passes::check_convergence(k.b.kernel())) {
      all.push_back(divergence.message);
    }
    return all;
  };
  const auto warp_number = [](Base& k) {
    return k.b.op(Op::Div, {k.b.position(Op::ThreadIdx, 0), k.b.position(Op::WarpSize, 0)});
  };
  EXPECT_THAT(messages([&](Base& k) {
                k.b.at("k.cpp", 8);
                const ValueId warp = warp_number(k);
                k.b.at("k.cpp", 9);
                k.b.matrix_access(Op::MatrixLoad, k.sum, k.in, warp, k.i, MatrixLayout::row_major);
              }),
              ElementsAre("matrix_load takes a value that differs between the threads of a warp "
                          "(div at k.cpp:8)"));
  // The first lane's value is the same for all of them.
  EXPECT_THAT(messages([&](Base& k) {
                const ValueId warp = k.b.op(Op::Shuffle, {warp_number(k), k.i});
                k.b.if_else(k.b.op(Op::Gt, {warp, k.i}), [&] {
                  k.b.matrix_access(Op::MatrixLoad, k.sum, k.in, warp, k.i,
                                    MatrixLayout::row_major);
                });
              }),
              IsEmpty());
  EXPECT_THAT(messages([&](Base& k) {
                const ValueId thread = k.b.position(Op::ThreadIdx, 0);
                k.b.at("k.cpp", 8);
                k.b.if_else(k.b.op(Op::Gt, {thread, k.i}), [&] {
                  k.b.at("k.cpp", 9);
                  k.b.matrix_fill(k.sum, k.f);
                });
              }),
              ElementsAre("matrix_fill is reached under a condition that differs "
                          "between threads (k.cpp:8)"));
  // Lanes that name different lanes get different values.
  EXPECT_THAT(messages([&](Base& k) {
                const ValueId thread = k.b.position(Op::ThreadIdx, 0);
                const ValueId other = k.b.op(Op::Shuffle, {k.i, thread});
                k.b.matrix_access(Op::MatrixLoad, k.sum, k.in, other, k.i, MatrixLayout::row_major);
              }),
              testing::SizeIs(1));
}

TEST(PassesMatrices, WhatADeviceLacksIsNamedOnce) {
  const Kernel kernel = test::filled_product(kUsual);
  EXPECT_THAT(passes::missing_matrices(kernel, {}),
              ElementsAre("cooperative matrices 16x16x16 (m x n x k) of f16 with f32"));
  const CooperativeMatrixShape other{16, 16, 16, Scalar::F16, Scalar::F16};
  EXPECT_THAT(passes::missing_matrices(kernel, std::span(&other, 1)), testing::SizeIs(1));
  EXPECT_THAT(passes::missing_matrices(kernel, std::span(&kUsual, 1)), IsEmpty());
  test::Shapes b("lone");
  b.matrix("lone", Scalar::F16, 8, 8, MatrixUse::b);
  EXPECT_THAT(passes::missing_matrices(b.kernel(), std::span(&kUsual, 1)),
              ElementsAre("a cooperative matrix b 8x8 of f16"));
}

}  // namespace
}  // namespace salvo::ir
