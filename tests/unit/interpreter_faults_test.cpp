// Each kind of fault, with its exact message; and what must not be taken for one.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "unit/interpreter_support.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

const Element kI32 = Element::scalar(Scalar::I32);

TEST(InterpreterFaults, ReadPastTheEnd) {
  test::Shapes b = kernel_named("stencil");
  const auto x = b.span_parameter("x", kI32, true);
  const auto y = b.span_parameter("y", kI32, false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.at("src/demo.cpp", 12);
  b.store(y, i, b.load(x, b.op(Op::Add, {i, b.constant_i32(1)})));
  std::vector<std::int32_t> from(1024), to(1024);
  EXPECT_EQ(
      fault_of(b.kernel(), shape(8, 128), {on(from), unwritten(to)}),
      "line 12: read of x[1024] past its 1024 elements, by thread (127,0,0) of block (7,0,0)");
}

TEST(InterpreterFaults, TheWholeErrorNamesKernelAndLine) {
  test::Shapes b = kernel_named("stencil");
  const auto x = b.span_parameter("x", kI32, false);
  b.store(x, b.constant_i32(3), b.constant_i32(0));
  std::vector<std::int32_t> values(3);
  try {
    run(b.kernel(), shape(1, 1), std::vector<HostArgument>{on(values)});
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("stencil"), std::string::npos) << text;
    EXPECT_NE(text.find("src/demo.cpp:1"), std::string::npos) << text;
    EXPECT_NE(text.find(error.message()), std::string::npos) << text;
  }
}

TEST(InterpreterFaults, WriteBeforeTheStart) {
  test::Shapes b = kernel_named("shift");
  const auto x = b.span_parameter("x", kI32, false);
  const ValueId i = b.position(Op::ThreadIdx, 1);
  b.store(x, b.op(Op::Sub, {b.constant_i32(1), i}), i);
  std::vector<std::int32_t> values(9);
  EXPECT_EQ(fault_of(b.kernel(), {{1, 1, 1}, {1, 3, 1}, 0}, {on(values)}),
            "line 1: write of x[-1] before its 9 elements, by thread (0,2,0) of block (0,0,0)");
}

TEST(InterpreterFaults, HugeUnsignedIndex) {
  test::Shapes b = kernel_named("huge");
  const auto x = b.span_parameter("x", kI32, false);
  b.store(x, b.constant(Scalar::U64, ~std::uint64_t{0}), b.constant_i32(0));
  std::vector<std::int32_t> values(2);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 1), {on(values)}),
            "line 1: write of x[18446744073709551615] past its 2 elements, by thread (0,0,0) of "
            "block (0,0,0)");
}

TEST(InterpreterFaults, BoundsAreThoseOfTheView) {
  test::Shapes b = kernel_named("view");
  const auto x = b.span_parameter("x", kI32, false);
  b.store(x, b.constant_i32(2), b.constant_i32(0));
  std::vector<std::int32_t> values(4);
  // Two elements in the middle of four.
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 1), {HostArgument::of(std::span(values).subspan(1, 2))}),
            "line 1: write of x[2] past its 2 elements, by thread (0,0,0) of block (0,0,0)");
}

TEST(InterpreterFaults, AtomicPastTheEndOfARecordArray) {
  test::Shapes b = kernel_named("records");
  const Element pair{"Pair", 8, 4, {{"first", Scalar::I32, 0}, {"second", Scalar::I32, 4}}};
  const auto p = b.span_parameter("p", pair, false);
  b.atomic(Op::AtomicMax, p, {b.constant_i32(1), b.constant_i32(0)}, 1);
  std::vector<std::int64_t> values(1);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 1), {on(values)}),
            "line 1: atomic_max of p[1].second past its 1 elements, by thread (0,0,0) of block "
            "(0,0,0)");
}

TEST(InterpreterFaults, SharedAndLocalArraysHaveBounds) {
  test::Shapes b = kernel_named("arrays");
  const auto tile = b.shared_array("tile", kI32, 4);
  b.store(tile, b.position(Op::ThreadIdx, 0), b.constant_i32(0));
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 5), {}),
            "line 1: write of tile[4] past its 4 elements, by thread (4,0,0) of block (0,0,0)");

  test::Shapes c = kernel_named("arrays");
  const auto local = c.local_array("stack", kI32, 2);
  c.store(local, c.constant_i32(-1), c.constant_i32(0));
  EXPECT_EQ(fault_of(c.kernel(), shape(1, 2), {}),
            "line 1: write of stack[-1] before its 2 elements, by thread (0,0,0) of block (0,0,0)");

  test::Shapes d = kernel_named("arrays");
  const auto dynamic = d.shared_array("dynamic", kI32, 0);
  d.store(dynamic, d.position(Op::ThreadIdx, 0), d.constant_i32(0));
  EXPECT_EQ(fault_of(d.kernel(), {{1, 1, 1}, {8, 1, 1}, 30}, {}),
            "line 1: write of dynamic[7] past its 7 elements, by thread (7,0,0) of block (0,0,0)");
}

TEST(InterpreterFaults, ReadOfABufferThatWasNeverWritten) {
  test::Shapes b = kernel_named("sum");
  const auto x = b.span_parameter("x", kI32, false);
  const ValueId i = b.position(Op::ThreadIdx, 0);
  b.if_else(b.op(Op::Ne, {i, b.constant_i32(2)}), [&] { b.store(x, i, i); });
  b.at("src/demo.cpp", 7);
  b.load(x, i);
  std::vector<std::int32_t> values(4);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 4), {unwritten(values)}),
            "line 7: uninitialised read of x[2] (of 4 elements), by thread (2,0,0) of block "
            "(0,0,0)");
}

TEST(InterpreterFaults, AnAtomicReadsWhatItChanges) {
  test::Shapes b = kernel_named("count");
  const auto x = b.span_parameter("x", kI32, false);
  b.atomic(Op::AtomicAdd, x, {b.constant_i32(0), b.constant_i32(1)});
  std::vector<std::int32_t> values(1);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 1), {unwritten(values)}),
            "line 1: uninitialised atomic_add of x[0] (of 1 elements), by thread (0,0,0) of block "
            "(0,0,0)");
}

TEST(InterpreterFaults, HalfAnElementWrittenIsNotEnough) {
  test::Shapes b = kernel_named("halves");
  const auto narrow = b.span_parameter("narrow", Element::scalar(Scalar::U16), false);
  const auto wide = b.span_parameter("wide", Element::scalar(Scalar::U32), true);
  const ValueId zero = b.constant_i32(0);
  b.store(narrow, zero, b.constant(Scalar::U32, 1));
  b.load(wide, zero);
  std::uint32_t word = 0;
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 1),
                     {HostArgument{&word, 4, 2, 0, false}, HostArgument{&word, 4, 1, 0, true}}),
            "line 1: uninitialised read of wide[0] (of 1 elements), by thread (0,0,0) of block "
            "(0,0,0)");
}

TEST(InterpreterFaults, SharedMemoryStartsUnwrittenInEachBlock) {
  test::Shapes b = kernel_named("stale");
  const auto tile = b.shared_array("tile", kI32, 1);
  const ValueId zero = b.constant_i32(0);
  const ValueId first = b.op(Op::Eq, {b.position(Op::BlockIdx, 0), zero});
  b.if_else(first, [&] { b.store(tile, zero, zero); });
  b.load(tile, zero);
  EXPECT_EQ(fault_of(b.kernel(), shape(2, 1), {}),
            "line 1: uninitialised read of tile[0] (of 1 elements), by thread (0,0,0) of block "
            "(1,0,0)");
}

TEST(InterpreterFaults, LocalArrayReadBeforeItIsWritten) {
  test::Shapes b = kernel_named("local");
  const auto stack = b.local_array("stack", kI32, 2);
  b.store(stack, b.constant_i32(0), b.constant_i32(0));
  b.load(stack, b.position(Op::ThreadIdx, 0));
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 2), {}),
            "line 1: uninitialised read of stack[1] (of 2 elements), by thread (1,0,0) of block "
            "(0,0,0)");
}

TEST(InterpreterFaults, VariableReadBeforeItIsSet) {
  test::Shapes b = kernel_named("variables");
  const auto sum = b.variable("sum", Scalar::I32);
  const ValueId odd = b.op(Op::And, {b.position(Op::ThreadIdx, 0), b.constant_i32(1)});
  b.if_else(b.op(Op::Eq, {odd, b.constant_i32(0)}), [&] { b.var_set(sum, odd); });
  b.var_get(sum);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 4), {}),
            "line 1: uninitialised read of variable sum, by thread (1,0,0) of block (0,0,0)");
}

TEST(InterpreterFaults, BarrierThatSomeThreadsDoNotReach) {
  test::Shapes b = kernel_named("diverge");
  const ValueId few = b.op(Op::Lt, {b.position(Op::ThreadIdx, 0), b.constant_i32(3)});
  b.if_else(few, [&] {
    b.at("src/demo.cpp", 5);
    b.statement(Op::Barrier);
  });
  EXPECT_EQ(fault_of(b.kernel(), shape(2, 8), {}),
            "line 5: barrier reached by 3 of the 8 threads of its block, not by thread (3,0,0) of "
            "block (0,0,0)");
}

TEST(InterpreterFaults, BarrierAfterSomeThreadsReturned) {
  test::Shapes b = kernel_named("early");
  const ValueId second = b.op(Op::Eq, {b.position(Op::ThreadIdx, 0), b.constant_i32(1)});
  b.if_else(second, [&] { b.statement(Op::Return); });
  b.statement(Op::Barrier);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 4), {}),
            "line 1: barrier reached by 3 of the 4 threads of its block, not by thread (1,0,0) of "
            "block (0,0,0)");
}

TEST(InterpreterFaults, BarrierInALoopOfUnlikeLength) {
  test::Shapes b = kernel_named("loop");
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.for_up(b.constant_i32(0), b.op(Op::Add, {t, b.constant_i32(1)}), b.constant_i32(1),
           [&](ValueId) { b.statement(Op::Barrier); });
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 4), {}),
            "line 1: barrier reached by 3 of the 4 threads of its block, not by thread (0,0,0) of "
            "block (0,0,0)");
}

TEST(InterpreterFaults, EndlessLoopEndsAtTheStepLimit) {
  test::Shapes b = kernel_named("hang");
  const ValueId one = b.constant_i32(1);
  b.at("src/demo.cpp", 3);
  b.for_up(b.constant_i32(0), one, b.constant_i32(0), [](ValueId) {});
  Options options;
  options.max_steps = 1000;
  EXPECT_EQ(fault_of(b.kernel(), shape(2, 4), {}, options),
            "line 3: more than 1000 steps in block (0,0,0)");
}

TEST(InterpreterFaults, StepLimitCountsEachBlockAnew) {
  test::Shapes b = kernel_named("long");
  b.for_up(b.constant_i32(0), b.constant_i32(100), b.constant_i32(1), [](ValueId) {});
  Options options;
  options.max_steps = 200;
  run_sound(b.kernel(), shape(1000, 1), {}, options);
}

TEST(InterpreterFaults, LaunchesThatNoDeviceCouldRun) {
  test::Shapes b = kernel_named("shape");
  const auto x = b.span_parameter("x", kI32, false);
  b.shared_array("tile", kI32, 1024);
  const ir::Kernel kernel = b.finish();
  std::vector<std::int32_t> values(4);
  const auto message = [&](const runtime::LaunchShape& launch_shape,
                           const std::vector<HostArgument>& arguments) -> std::string {
    try {
      run(kernel, launch_shape, arguments);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::launch_failed);
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(message({{1, 1, 1}, {1025, 1, 1}, 0}, {on(values)}),
            "a block of 1025x1x1 threads; 1 to 1024 are possible");
  EXPECT_EQ(message({{1, 1, 1}, {65536, 65536, 65536}, 0}, {on(values)}),
            "a block of 65536x65536x65536 threads; 1 to 1024 are possible");
  EXPECT_EQ(message({{1, 1, 1}, {1, 1, 1}, 65536}, {on(values)}),
            "69632 bytes of shared memory a block; 65536 are possible");
  EXPECT_EQ(message(shape(1, 1), {}), "0 arguments for a kernel that takes 1");
  EXPECT_EQ(message(shape(1, 1), {HostArgument{values.data(), 16, 5, 0, true}}),
            "x: 5 elements of 4 bytes from byte 0 on, in a buffer of 16 bytes");
  EXPECT_EQ(x, 0u);
}

}  // namespace
}  // namespace salvo::backends::interpreter
