// The LLVM IR that kernels become, and the plan behind it: what is spilled, hoisted and rounded.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "codegen/llvm/emitter.hpp"
#include "codegen/llvm/plan.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::codegen::llvm {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const ir::Kernel& kernel, const EmitOptions& options = {}) {
  return emit(lower(kernel, options), options).code;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

/// Bytes that each vector of threads keeps from region to region, as the module's facts say.
std::uint64_t scratch_bytes(const std::string& text) {
  std::smatch found;
  if (!std::regex_search(text, found,
                         std::regex("_facts = constant \\[2 x i64\\] \\[i64 ([0-9]+)"))) {
    ADD_FAILURE() << "no facts in\n" << text;
    return 0;
  }
  return std::stoull(found[1]);
}

/// Threads load two elements each; one of them is used on both sides of a barrier.
struct AcrossABarrier {
  explicit AcrossABarrier(bool uses_both = false) {
    Shapes k("across");
    const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), true);
    const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
    const ValueId i = k.position(Op::GlobalIdx, 0);
    near = k.op(Op::Add, {i, k.constant_i32(1)});
    crosses = k.load(x, i);
    stays = k.load(x, near);
    k.store(y, i, k.op(Op::Mul, {crosses, stays}));
    k.statement(Op::Barrier);
    k.store(y, near, uses_both ? k.op(Op::Sub, {crosses, stays}) : crosses);
    kernel = k.finish();
  }
  ir::Kernel kernel;
  ValueId near, crosses, stays;
};

TEST(LlvmPlan, OnlyWhatLivesAcrossABarrierIsSpilled) {
  const AcrossABarrier one;
  const Plan plan(one.kernel);
  EXPECT_EQ(plan.regions(), 2U);
  EXPECT_TRUE(plan.spilled(one.crosses));
  EXPECT_FALSE(plan.spilled(one.stays));
  EXPECT_FALSE(plan.spilled(one.near)) << "an addition is cheaper to make again than to keep";
  EXPECT_EQ(scratch_bytes(text_of(one.kernel)), 16 * sizeof(float));
  EXPECT_EQ(scratch_bytes(text_of(AcrossABarrier(true).kernel)), 2 * 16 * sizeof(float));
}

TEST(LlvmPlan, AVariableIsSpilledWhereItOutlivesARegion) {
  const auto kernel_with = [](bool barrier) {
    Shapes k("sum");
    const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), false);
    const std::uint32_t sum = k.variable("sum", Scalar::F32);
    const ValueId i = k.position(Op::GlobalIdx, 0);
    k.var_set(sum, k.load(x, i));
    if (barrier) k.statement(Op::Barrier);
    k.store(x, i, k.op(Op::Add, {k.var_get(sum), k.var_get(sum)}));
    return k.finish();
  };
  EXPECT_EQ(Plan(kernel_with(true)).storage(0), Storage::Spilled);
  EXPECT_EQ(Plan(kernel_with(false)).storage(0), Storage::Region);
  EXPECT_EQ(scratch_bytes(text_of(kernel_with(false))), 0U);
}

TEST(LlvmPlan, WhatABlockAgreesOnIsComputedOnceAheadOfItsThreads) {
  Shapes k("scaled");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), false);
  const auto a = k.scalar_parameter("a", Scalar::F32);
  const auto b = k.scalar_parameter("b", Scalar::F32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId product = k.op(Op::Mul, {k.param(a), k.param(b)});
  const ValueId element = k.load(x, i);
  const ValueId sum = k.op(Op::Add, {element, product});
  k.store(x, i, sum);
  const ir::Kernel kernel = k.finish();
  const Plan plan(kernel);
  EXPECT_TRUE(plan.once(product));
  EXPECT_FALSE(plan.once(element));
  EXPECT_FALSE(plan.once(sum));
  const std::string text = text_of(kernel);
  EXPECT_EQ(count(text, "fmul float"), 1U) << text;
  EXPECT_EQ(count(text, "fmul <16 x float>"), 0U) << text;
  EXPECT_LT(text.find("fmul float"), text.find("fadd <16 x float>")) << text;
}

TEST(LlvmPlan, ALoadIsNotHoistedPastAStoreThatMayChangeIt) {
  const auto hoisted = [](bool store_first) {
    Shapes k("first");
    const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), false);
    const ValueId i = k.position(Op::GlobalIdx, 0);
    if (store_first) k.store(x, i, k.op(Op::Neg, {k.load(x, i)}));
    const ValueId first = k.load(x, k.constant_i32(0));
    k.store(x, i, first);
    const ir::Kernel kernel = k.finish();
    return Plan(kernel).once(first);
  };
  EXPECT_TRUE(hoisted(false));
  EXPECT_FALSE(hoisted(true));
}

ir::Kernel products(bool fused) {
  Shapes k("products");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId v = k.load(y, i);
  k.store(y, i, fused ? k.op(Op::Fma, {v, v, v}) : k.op(Op::Add, {k.op(Op::Mul, {v, v}), v}));
  return k.finish();
}

TEST(LlvmText, NoInstructionMayBeContractedOrReordered) {
  for (const bool fused : {false, true}) {
    const std::string text = text_of(products(fused));
    for (const char* word : {" fast ", " contract ", " reassoc ", " nnan ", " afn ", " arcp ",
                             "fmuladd", "unsafe-fp-math"}) {
      EXPECT_THAT(text, Not(HasSubstr(word)));
    }
  }
  const std::string apart = text_of(products(false));
  EXPECT_THAT(apart, HasSubstr("fmul <16 x float>"));
  EXPECT_THAT(apart, Not(HasSubstr("llvm.fma")));
  const std::string together = text_of(products(true));
  EXPECT_THAT(together, HasSubstr("@llvm.fma.v16f32"));
  EXPECT_THAT(together, Not(HasSubstr("fmul <16 x float>")));
}

TEST(LlvmText, NeighbouringThreadsTouchMemoryAsVectors) {
  const std::string text = text_of(products(false), {.lanes = 8});
  EXPECT_THAT(text, HasSubstr("load <8 x float>"));
  EXPECT_THAT(text, HasSubstr("store <8 x float>"));
  EXPECT_THAT(text, Not(HasSubstr("gather")));
}

TEST(LlvmText, SharedMemoryIsOnTheStackOfTheBlock) {
  const auto text_with = [](std::uint32_t elements) {
    Shapes k("tile");
    const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
    const auto tile = k.shared_array("tile", Element::scalar(Scalar::F32), elements);
    const ValueId t = k.position(Op::ThreadIdx, 0);
    k.store(tile, t, k.load(y, t));
    k.statement(Op::Barrier);
    k.store(y, t, k.load(tile, t));
    return text_of(k.finish());
  };
  EXPECT_THAT(text_with(256), HasSubstr("alloca [1024 x i8], align 64"));
  const std::string dynamic = text_with(0);
  EXPECT_THAT(dynamic, ContainsRegex("alloca i8, i32 %[a-z0-9]+, align 64"));
  EXPECT_EQ(scratch_bytes(dynamic), 0U) << "nothing of a thread lives across the barrier";
}

TEST(LlvmText, PointersAreTypedForOldVersionsOnly) {
  EXPECT_THAT(text_of(products(false)), Not(HasSubstr("*")));
  EXPECT_THAT(text_of(products(false), {.typed_pointers = true}), Not(HasSubstr(" ptr ")));
}

TEST(LlvmText, BoundsAreCheckedOnRequest) {
  EXPECT_THAT(text_of(products(false)), Not(HasSubstr("atomicrmw xchg")));
  // The load's and the store's first fault is the launch's.
  EXPECT_GE(count(text_of(products(false), {.bounds_checks = true}), "atomicrmw xchg"), 2U);
}

TEST(LlvmText, LinesAreNamedOnRequest) {
  Shapes k("placed");
  k.at("/home/user/placed.cpp", 17);
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.load(y, i));
  const ir::Kernel kernel = k.finish();
  EXPECT_THAT(text_of(kernel), Not(HasSubstr("!DILocation")));
  const std::string text = text_of(kernel, {.line_tables = true});
  EXPECT_THAT(text, HasSubstr("!DISubprogram(name: \"placed\""));
  EXPECT_THAT(text, HasSubstr("!DIFile(filename: \"placed.cpp\", directory: \"/home/user\")"));
  EXPECT_THAT(text, HasSubstr("!DILocation(line: 17"));
}

TEST(LlvmText, FunctionsOfF64KeepTheirFusedOperationsWithoutTheInstruction) {
  Shapes k("sine");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F64), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.op(Op::Sin, {k.load(y, i)}));
  const ir::Kernel kernel = k.finish();
  EXPECT_THAT(text_of(kernel, {.fma = false}), HasSubstr("@llvm.fma.v16f64"));
}

TEST(LlvmText, FunctionsOfF32NeedNoFusedOperation) {
  Shapes k("sine");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.op(Op::Sin, {k.load(y, i)}));
  EXPECT_THAT(text_of(k.finish(), {.fma = false}), Not(HasSubstr("llvm.fma")));
}

}  // namespace
}  // namespace salvo::codegen::llvm
