// Data races between threads of a launch: which accesses are ordered, and which are not.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "unit/interpreter_support.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// A kernel on one span (or shared array) of I32, with the thread's position at hand.
struct RaceKernel : test::Shapes {
  explicit RaceKernel(bool shared = false) : Shapes("race") {
    at("src/demo.cpp", 1);
    x = shared ? shared_array("x", Element::scalar(Scalar::I32), 64)
               : span_parameter("x", Element::scalar(Scalar::I32), false);
    t = position(Op::ThreadIdx, 0);
    block_index = position(Op::BlockIdx, 0);
    zero = constant_i32(0);
    one = constant_i32(1);
  }

  ir::MemoryId x = 0;
  ValueId t = 0, block_index = 0, zero = 0, one = 0;

  ValueId next() { return op(Op::Rem, {op(Op::Add, {t, one}), position(Op::BlockDim, 0)}); }
  void write(ValueId index) { store(x, index, zero); }
  void barrier() { statement(Op::Barrier); }
  void only_thread(int thread, const Fill& fill) {
    if_else(op(Op::Eq, {t, constant_i32(thread)}), fill);
  }
  void only_block(int number, const Fill& fill) {
    if_else(op(Op::Eq, {block_index, constant_i32(number)}), fill);
  }

  std::string fault(std::uint32_t blocks, std::uint32_t threads, const Options& options = {}) {
    std::vector<std::int32_t> values(64);
    std::vector<HostArgument> arguments;
    if (!kernel().parameters.empty()) arguments.push_back(on(values));
    return fault_of(kernel(), shape(blocks, threads), arguments, options);
  }
};

TEST(InterpreterRaces, TwoWritesOfOneBlock) {
  RaceKernel k;
  k.write(k.zero);
  EXPECT_EQ(k.fault(1, 4),
            "line 1: race on x[0] (of 64 elements): write by thread (0,0,0) of block (0,0,0) and, "
            "with no barrier between, write by thread (1,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, ReadThenWriteByANeighbour) {
  RaceKernel k;
  k.load(k.x, k.next());
  k.at("src/demo.cpp", 2);
  k.write(k.t);
  EXPECT_EQ(k.fault(1, 4),
            "line 2: race on x[0] (of 64 elements): read by thread (3,0,0) of block (0,0,0) and, "
            "with no barrier between, write by thread (0,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, WriteThenReadByANeighbour) {
  RaceKernel k;
  k.write(k.t);
  k.at("src/demo.cpp", 2);
  k.load(k.x, k.next());
  EXPECT_EQ(k.fault(1, 4),
            "line 2: race on x[1] (of 64 elements): write by thread (1,0,0) of block (0,0,0) and, "
            "with no barrier between, read by thread (0,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, WriteOfWhatSeveralThreadsRead) {
  RaceKernel k;
  k.load(k.x, k.zero);
  k.only_thread(3, [&] { k.write(k.zero); });
  EXPECT_EQ(k.fault(1, 4),
            "line 1: race on x[0] (of 64 elements): read by other threads of the block and, with "
            "no barrier between, write by thread (3,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, SharedMemoryRacesToo) {
  RaceKernel k(true);
  k.write(k.t);
  k.load(k.x, k.next());
  EXPECT_EQ(k.fault(1, 4),
            "line 1: race on x[1] (of 64 elements): write by thread (1,0,0) of block (0,0,0) and, "
            "with no barrier between, read by thread (0,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, BarriersOrderTheThreadsOfABlock) {
  for (const bool shared : {false, true}) {
    RaceKernel k(shared);
    k.write(k.t);
    k.barrier();
    k.load(k.x, k.next());
    k.load(k.x, k.zero);
    k.barrier();
    k.write(k.next());
    EXPECT_EQ(k.fault(1, 4), "no fault");
  }
}

TEST(InterpreterRaces, SharedMemoryOfTwoBlocksIsNotTheSame) {
  RaceKernel k(true);
  k.write(k.t);
  EXPECT_EQ(k.fault(3, 4), "no fault");
}

TEST(InterpreterRaces, AThreadDoesNotRaceWithItself) {
  RaceKernel k;
  k.load(k.x, k.t);
  k.write(k.t);
  k.atomic(Op::AtomicAdd, k.x, {k.t, k.one});
  k.write(k.t);
  k.load(k.x, k.t);
  EXPECT_EQ(k.fault(1, 4), "no fault");
}

TEST(InterpreterRaces, ReadsDoNotRace) {
  RaceKernel k;
  k.load(k.x, k.zero);
  k.write(k.op(Op::Add, {k.position(Op::GlobalIdx, 0), k.one}));
  EXPECT_EQ(k.fault(4, 8), "no fault");
}

TEST(InterpreterRaces, NoBarrierOrdersTwoBlocks) {
  RaceKernel k;
  k.only_block(2, [&] { k.only_thread(1, [&] { k.write(k.one); }); });
  k.barrier();
  k.at("src/demo.cpp", 9);
  k.only_block(5, [&] { k.only_thread(3, [&] { k.load(k.x, k.one); }); });
  EXPECT_EQ(k.fault(8, 4),
            "line 9: race on x[1] (of 64 elements): write by thread (1,0,0) of block (2,0,0) and "
            "read by thread (3,0,0) of block (5,0,0)");
}

TEST(InterpreterRaces, AnEarlierReaderIsNotForgotten) {
  // Block 0 reads, then block 1 reads and, after a barrier, writes: only block 0 is in its way.
  RaceKernel k;
  k.load(k.x, k.zero);
  k.barrier();
  k.only_block(1, [&] { k.only_thread(0, [&] { k.write(k.zero); }); });
  EXPECT_EQ(k.fault(2, 4),
            "line 1: race on x[0] (of 64 elements): read by another block and write by thread "
            "(0,0,0) of block (1,0,0)");
}

TEST(InterpreterRaces, AtomicsDoNotRaceWithEachOther) {
  RaceKernel k;
  k.atomic(Op::AtomicAdd, k.x, {k.zero, k.one});
  k.atomic(Op::AtomicMax, k.x, {k.zero, k.one});
  EXPECT_EQ(k.fault(4, 8), "no fault");
}

TEST(InterpreterRaces, AnAtomicRacesWithAPlainRead) {
  RaceKernel k;
  k.atomic(Op::AtomicAdd, k.x, {k.zero, k.one});
  k.only_thread(0, [&] { k.load(k.x, k.zero); });
  EXPECT_EQ(k.fault(1, 4),
            "line 1: race on x[0] (of 64 elements): atomic by thread (3,0,0) of block (0,0,0) and, "
            "with no barrier between, read by thread (0,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, AnAtomicRacesWithAPlainWriteOfAnotherBlock) {
  RaceKernel k;
  k.only_block(0, [&] { k.only_thread(0, [&] { k.write(k.zero); }); });
  k.only_block(1, [&] { k.only_thread(2, [&] { k.atomic(Op::AtomicOr, k.x, {k.zero, k.one}); }); });
  EXPECT_EQ(k.fault(2, 4),
            "line 1: race on x[0] (of 64 elements): write by thread (0,0,0) of block (0,0,0) and "
            "atomic_or by thread (2,0,0) of block (1,0,0)");
}

TEST(InterpreterRaces, AReadRacesWithALaterAtomicOfAnotherThread) {
  RaceKernel k(true);
  k.only_thread(0, [&] { k.write(k.zero); });
  k.barrier();
  k.only_thread(1, [&] { k.load(k.x, k.zero); });
  k.atomic(Op::AtomicAdd, k.x, {k.zero, k.one});
  EXPECT_EQ(k.fault(1, 4),
            "line 1: race on x[0] (of 64 elements): read by thread (1,0,0) of block (0,0,0) and, "
            "with no barrier between, atomic_add by thread (0,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, NarrowNeighboursAreApart) {
  // Four threads store the four bytes of one word, and others the halves of another.
  test::Shapes b = kernel_named("bytes");
  const auto bytes = b.span_parameter("bytes", Element::scalar(Scalar::U8), false);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.store(bytes, t, b.cast(Scalar::U32, t));
  std::vector<std::uint8_t> values(8);
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 8), {on(values)}), "no fault");
}

TEST(InterpreterRaces, AByteRacesWithTheWordAroundIt) {
  test::Shapes b = kernel_named("mixed");
  const auto bytes = b.span_parameter("bytes", Element::scalar(Scalar::U8), false);
  const auto words = b.span_parameter("words", Element::scalar(Scalar::U32), false);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  const ValueId first = b.op(Op::Eq, {t, b.constant_i32(0)});
  const ValueId one = b.constant(Scalar::U32, 1);
  b.if_else(
      first, [&] { b.store(bytes, b.constant_i32(7), one); },
      [&] { b.store(words, b.constant_i32(1), one); });
  std::vector<std::uint32_t> values(2);
  const HostArgument whole = on(values);
  HostArgument as_bytes = whole;
  as_bytes.length = 8;
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 2), {as_bytes, whole}),
            "line 1: race on words[1] (of 2 elements): write by thread (0,0,0) of block (0,0,0) "
            "and, with no barrier between, write by thread (1,0,0) of block (0,0,0)");
}

TEST(InterpreterRaces, OverlappingViewsAreOneMemory) {
  test::Shapes b = kernel_named("views");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), true);
  const auto y = b.span_parameter("y", Element::scalar(Scalar::I32), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.store(y, i, b.load(x, i));
  std::vector<std::int32_t> values(9);
  const std::span<std::int32_t> all(values);
  EXPECT_EQ(fault_of(b.kernel(), shape(4, 2),
                     {HostArgument::of(all.first(8)), HostArgument::of(all.last(8))}),
            "line 1: race on y[0] (of 8 elements): read by thread (1,0,0) of block (0,0,0) and, "
            "with no barrier between, write by thread (0,0,0) of block (0,0,0)");
  EXPECT_EQ(fault_of(b.kernel(), shape(4, 2),
                     {HostArgument::of(all.first(8)), HostArgument::of(all.first(8))}),
            "no fault");
}

TEST(InterpreterRaces, FieldsOfOneRecordAreApart) {
  test::Shapes b = kernel_named("fields");
  const Element pair{"Pair", 8, 4, {{"first", Scalar::F32, 0}, {"second", Scalar::F32, 4}}};
  const auto p = b.span_parameter("p", pair, false);
  const ValueId zero = b.constant_i32(0);
  const ValueId one = b.constant(Scalar::F32, 0x3f80'0000);
  const ValueId first = b.op(Op::Eq, {b.position(Op::ThreadIdx, 0), zero});
  b.if_else(
      first, [&] { b.store(p, zero, one, 0); }, [&] { b.store(p, zero, one, 1); });
  std::vector<float> values(2);
  HostArgument argument = on(values);
  argument.length = 1;
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 2), {argument}), "no fault");
}

TEST(InterpreterRaces, ADeviceFenceLeavesTheOrderOfBlocksToTheKernel) {
  // The last block to take a ticket adds up what all the others stored.
  test::Shapes b = kernel_named("last_block");
  const auto parts = b.span_parameter("parts", Element::scalar(Scalar::I32), false);
  const auto ticket = b.span_parameter("ticket", Element::scalar(Scalar::I32), false);
  const auto sum = b.span_parameter("sum", Element::scalar(Scalar::I32), false);
  const auto total = b.variable("total", Scalar::I32);
  const ValueId zero = b.constant_i32(0);
  const ValueId one = b.constant_i32(1);
  const ValueId own = b.position(Op::BlockIdx, 0);
  const ValueId blocks = b.position(Op::GridDim, 0);
  b.store(parts, own, own);
  b.statement(Op::Fence, 1);
  const ValueId taken = b.atomic(Op::AtomicAdd, ticket, {zero, one});
  b.if_else(b.op(Op::Eq, {taken, b.op(Op::Sub, {blocks, one})}), [&] {
    b.var_set(total, zero);
    b.for_up(zero, blocks, one, [&](ValueId i) {
      b.var_set(total, b.op(Op::Add, {b.var_get(total), b.load(parts, i)}));
    });
    b.store(sum, zero, b.var_get(total));
  });
  std::vector<std::int32_t> p(10), count(1), result(1);
  for (const std::uint32_t workers : {1u, 4u}) {
    count[0] = 0;
    Options options;
    options.workers = workers;
    run_sound(b.kernel(), shape(10, 1), {unwritten(p), on(count), unwritten(result)}, options);
    EXPECT_EQ(result[0], 45);
  }
}

TEST(InterpreterRaces, SeveralWorkersReportWhatOneReports) {
  RaceKernel k;
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.write(k.op(Op::Div, {i, k.constant_i32(5)}));
  Options several;
  several.workers = 4;
  const std::string expected = k.fault(32, 1);
  EXPECT_EQ(expected,
            "line 1: race on x[0] (of 64 elements): write by thread (0,0,0) of block (0,0,0) and "
            "write by thread (0,0,0) of block (1,0,0)");
  for (int round = 0; round < 20; ++round) EXPECT_EQ(k.fault(32, 1, several), expected);
}

}  // namespace
}  // namespace salvo::backends::interpreter
