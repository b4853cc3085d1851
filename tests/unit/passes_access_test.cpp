// Access sets and features that kernels are summarised to.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "passes/access.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::passes {
namespace {

using ir::Element;
using ir::MemoryId;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

TEST(PassesAccess, TellsReadsWritesAndAtomicsApart) {
  test::Shapes b("k");
  const MemoryId read = b.span_parameter("read", Element::scalar(Scalar::F32), true);
  b.scalar_parameter("n", Scalar::I32);
  const MemoryId written = b.span_parameter("written", Element::scalar(Scalar::F32), false);
  const MemoryId counted = b.span_parameter("counted", Element::scalar(Scalar::U32), false);
  const MemoryId measured = b.span_parameter("measured", Element::scalar(Scalar::F32), false);
  const MemoryId both = b.span_parameter("both", Element::scalar(Scalar::F32), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.load(read, i);  // its value is used by nothing, and yet it is a read
  b.if_else(b.constant_bool(true), [&] {
    b.store(written, i, b.constant(Scalar::F32, 0));
    b.atomic(Op::AtomicAdd, counted, {i, b.constant(Scalar::U32, 1)});
    b.store(both, i, b.load(both, i));
  });
  b.length(measured);

  const Summary s = summarize(b.kernel());
  ASSERT_EQ(s.parameters.size(), 6U);
  const auto expect = [&](std::size_t p, bool reads, bool writes, bool atomics) {
    EXPECT_EQ(s.parameters[p].reads, reads) << p;
    EXPECT_EQ(s.parameters[p].writes, writes) << p;
    EXPECT_EQ(s.parameters[p].atomics, atomics) << p;
  };
  expect(0, true, false, false);
  expect(1, false, false, false);
  expect(2, false, true, false);
  expect(3, true, true, true);
  expect(4, false, false, false);
  expect(5, true, true, false);
  EXPECT_TRUE(s.has_atomic);
  EXPECT_FALSE(s.needs_atomics_i64 || s.needs_atomics_f32 || s.needs_atomics_f64);
}

TEST(PassesAccess, OfAPlainKernelClaimsNothing) {
  test::Shapes b("plain");
  const MemoryId x = b.span_parameter("x", Element::scalar(Scalar::BF16), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.position(Op::GridDim, 1);
  b.length(x);  // 64 bits wide, and there on every target
  b.store(x, i, b.load(x, i));
  const Summary s = summarize(b.kernel());
  EXPECT_FALSE(s.has_barrier || s.has_warp_operation || s.has_atomic || s.has_fence);
  EXPECT_FALSE(s.uses_lanes);
  EXPECT_FALSE(s.has_shared || s.has_dynamic_shared || s.has_local_array);
  EXPECT_FALSE(s.reads_grid_dim_x || s.has_loop || s.has_return);
  EXPECT_FALSE(s.needs_fp64 || s.needs_fp16 || s.needs_int64);
}

TEST(PassesAccess, SeesEveryTraitInNestedBlocks) {
  test::Shapes b("k");
  b.shared_array("fixed", Element::scalar(Scalar::F32), 8);
  const MemoryId dynamic = b.shared_array("dynamic", Element::scalar(Scalar::F64), 0);
  b.local_array("local", Element::scalar(Scalar::F32), 8);
  const ValueId yes = b.constant_bool(true);
  b.while_loop([&] { return b.op(Op::Any, {yes}); },
               [&] {
                 b.position(Op::GridDim, 0);
                 b.statement(Op::Barrier);
                 b.statement(Op::Fence);
                 b.atomic(Op::AtomicAdd, dynamic, {b.constant_i32(0), b.constant(Scalar::F64, 0)});
                 b.statement(Op::Return);
               });
  const Summary s = summarize(b.kernel());
  EXPECT_TRUE(s.has_barrier && s.has_warp_operation && s.has_atomic && s.has_fence);
  EXPECT_TRUE(s.has_shared && s.has_dynamic_shared && s.has_local_array);
  EXPECT_TRUE(s.reads_grid_dim_x && s.has_loop && s.has_return);
  EXPECT_TRUE(s.needs_fp64 && s.needs_atomics_f64 && s.uses_lanes);
  EXPECT_FALSE(s.needs_int64 || s.needs_fp16 || s.needs_atomics_f32);
}

TEST(PassesAccess, TheLanesNumberAndTheWarpsSizeAreNoWarpOperationsButUseLanes) {
  for (const Op op : {Op::LaneId, Op::WarpSize}) {
    test::Shapes b("lanes");
    const MemoryId x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
    b.store(x, b.constant_i32(0), b.position(op, 0));
    const Summary s = summarize(b.kernel());
    EXPECT_TRUE(s.uses_lanes && !s.has_warp_operation) << name(op);
  }
}

TEST(PassesAccess, FindsTypesInFieldsScalarsVariablesAndValues) {
  test::Shapes field("field");
  field.span_parameter("r", {"R", 4, 2, {{"a", Scalar::I16, 0}, {"b", Scalar::F16, 2}}}, true);
  EXPECT_TRUE(summarize(field.kernel()).needs_fp16);

  test::Shapes scalar("scalar");
  scalar.scalar_parameter("n", Scalar::U64);
  EXPECT_TRUE(summarize(scalar.kernel()).needs_int64);

  test::Shapes variable("variable");
  variable.variable("v", Scalar::F64);
  EXPECT_TRUE(summarize(variable.kernel()).needs_fp64);

  test::Shapes value("value");
  value.cast(Scalar::I64, value.position(Op::ThreadIdx, 0));
  EXPECT_TRUE(summarize(value.kernel()).needs_int64);

  test::Shapes atomic("atomic");
  const MemoryId x = atomic.span_parameter("x", Element::scalar(Scalar::F32), false);
  const MemoryId y = atomic.span_parameter("y", Element::scalar(Scalar::I64), false);
  const ValueId zero = atomic.constant_i32(0);
  atomic.atomic(Op::AtomicAdd, x, {zero, atomic.constant(Scalar::F32, 0)});
  atomic.atomic(Op::AtomicMax, y, {zero, atomic.constant(Scalar::I64, 0)});
  EXPECT_TRUE(summarize(atomic.kernel()).needs_atomics_f32);
  EXPECT_TRUE(summarize(atomic.kernel()).needs_atomics_i64);
}

}  // namespace
}  // namespace salvo::passes
