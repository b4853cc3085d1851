// Warp operations: lanes, shuffles, votes and reductions, and warps that are not whole.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "backends/interpreter/lanes.hpp"
#include "unit/interpreter_support.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// out[t] = what `make` builds from the thread's position.
template <class T, class Make>
std::vector<T> results(Scalar type, std::uint32_t threads, Make&& make,
                       const Options& options = {}) {
  test::Shapes b = kernel_named("warp");
  const auto out = b.span_parameter("out", Element::scalar(type), false);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.store(out, t, make(b, t));
  std::vector<T> values(threads);
  run_sound(b.kernel(), shape(1, threads), {unwritten(values)}, options);
  return values;
}

using I32 = std::vector<std::int32_t>;

Options warp_of(std::uint32_t size) {
  Options options;
  options.warp_size = size;
  return options;
}

TEST(InterpreterWarp, LanesAreConsecutiveThreads) {
  EXPECT_EQ(
      results<std::int32_t>(
          Scalar::I32, 6,
          [](test::Shapes& b, ValueId) {
            const ValueId ten = b.op(Op::Mul, {b.position(Op::WarpSize, 0), b.constant_i32(10)});
            return b.op(Op::Add, {ten, b.position(Op::LaneId, 0)});
          },
          warp_of(4)),
      (I32{40, 41, 42, 43, 40, 41}));
}

TEST(InterpreterWarp, Shuffles) {
  const auto shuffled = [](Op op, int operand) {
    return results<std::int32_t>(
        Scalar::I32, 8,
        [=](test::Shapes& b, ValueId t) {
          return b.op(op, {b.op(Op::Mul, {t, b.constant_i32(10)}), b.constant_i32(operand)});
        },
        warp_of(4));
  };
  EXPECT_EQ(shuffled(Op::Shuffle, 2), (I32{20, 20, 20, 20, 60, 60, 60, 60}));
  EXPECT_EQ(shuffled(Op::ShuffleUp, 1), (I32{0, 0, 10, 20, 40, 40, 50, 60}));
  EXPECT_EQ(shuffled(Op::ShuffleDown, 3), (I32{30, 10, 20, 30, 70, 50, 60, 70}));
  EXPECT_EQ(shuffled(Op::ShuffleXor, 1), (I32{10, 0, 30, 20, 50, 40, 70, 60}));
  EXPECT_EQ(shuffled(Op::ShuffleDown, 100), (I32{0, 10, 20, 30, 40, 50, 60, 70}));
}

TEST(InterpreterWarp, Votes) {
  const auto vote = [](Op op, int below) {
    return results<std::uint64_t>(Scalar::U64, 40, [=](test::Shapes& b, ValueId t) {
      return b.cast(Scalar::U64, b.op(op, {b.op(Op::Lt, {t, b.constant_i32(below)})}));
    });
  };
  EXPECT_EQ(vote(Op::Any, 1)[31], 1u);
  EXPECT_EQ(vote(Op::Any, 1)[32], 0u);
  EXPECT_EQ(vote(Op::All, 39)[0], 1u);
  EXPECT_EQ(vote(Op::All, 39)[32], 0u);
  EXPECT_EQ(vote(Op::All, 40)[32], 1u);
  EXPECT_EQ(vote(Op::Ballot, 33)[5], 0xffff'ffffu);
  EXPECT_EQ(vote(Op::Ballot, 33)[39], 1u);
}

TEST(InterpreterWarp, Reductions) {
  const auto reduced = [](Op op) {
    return results<std::int32_t>(Scalar::I32, 40, [=](test::Shapes& b, ValueId t) {
      return b.op(op, {b.op(Op::Sub, {t, b.constant_i32(5)})});
    });
  };
  EXPECT_EQ(reduced(Op::WarpAdd)[0], 336);
  EXPECT_EQ(reduced(Op::WarpAdd)[39], 244);
  EXPECT_EQ(reduced(Op::WarpMin)[31], -5);
  EXPECT_EQ(reduced(Op::WarpMin)[32], 27);
  EXPECT_EQ(reduced(Op::WarpMax)[0], 26);
  EXPECT_EQ(reduced(Op::WarpMax)[32], 34);
}

TEST(InterpreterWarp, FloatSumsFoldHalvesOntoEachOther) {
  // 1, e, 1, e with e half an ulp of 2: folded, (1 + 1) + (e + e) keeps what in order is lost.
  const auto sums = results<float>(
      Scalar::F32, 4,
      [](test::Shapes& b, ValueId t) {
        const ValueId odd =
            b.op(Op::Eq, {b.op(Op::And, {t, b.constant_i32(1)}), b.constant_i32(1)});
        const ValueId value = b.op(Op::Select, {odd, b.constant(Scalar::F32, to_slot(0x1p-23f)),
                                                b.constant(Scalar::F32, to_slot(1.0f))});
        return b.op(Op::WarpAdd, {value});
      },
      warp_of(4));
  EXPECT_EQ(sums, std::vector<float>(4, 2.0f + 0x1p-22f));
}

TEST(InterpreterWarp, WholeWarpsMayTakeABranch) {
  test::Shapes b = kernel_named("branch");
  const auto out = b.span_parameter("out", Element::scalar(Scalar::I32), false);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.if_else(b.op(Op::Ge, {t, b.constant_i32(32)}),
            [&] { b.store(out, t, b.op(Op::WarpMin, {t})); });
  std::vector<std::int32_t> values(96, -1);
  run_sound(b.kernel(), shape(1, 96), {on(values)});
  EXPECT_EQ(values[31], -1);
  EXPECT_EQ(values[63], 32);
  EXPECT_EQ(values[64], 64);
}

TEST(InterpreterWarp, PartOfAWarpIsAFault) {
  test::Shapes b = kernel_named("part");
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.if_else(b.op(Op::Ne, {t, b.constant_i32(33)}), [&] {
    b.at("src/demo.cpp", 8);
    b.op(Op::WarpAdd, {t});
  });
  EXPECT_EQ(fault_of(b.kernel(), shape(1, 64), {}),
            "line 8: warp_add reached by 31 of the 32 threads of its warp, not by thread (33,0,0) "
            "of block (0,0,0)");
}

TEST(InterpreterWarp, ShuffleFromALaneThatIsNotThere) {
  const auto fault = [](Op op, int operand) {
    test::Shapes b = kernel_named("absent");
    b.op(op, {b.position(Op::ThreadIdx, 0), b.constant_i32(operand)});
    return fault_of(b.kernel(), shape(1, 48), {});
  };
  EXPECT_EQ(fault(Op::Shuffle, 40),
            "line 1: shuffle from lane 40 of a warp with 32 active lanes, by thread (0,0,0) of "
            "block (0,0,0)");
  EXPECT_EQ(fault(Op::Shuffle, 20),
            "line 1: shuffle from lane 20 of a warp with 16 active lanes, by thread (32,0,0) of "
            "block (0,0,0)");
  EXPECT_EQ(fault(Op::ShuffleXor, 16),
            "line 1: shuffle_xor from lane 16 of a warp with 16 active lanes, by thread (32,0,0) "
            "of block (0,0,0)");
  EXPECT_EQ(fault(Op::ShuffleXor, -1),
            "line 1: shuffle_xor from lane -1 of a warp with 32 active lanes, by thread (0,0,0) of "
            "block (0,0,0)");
  EXPECT_EQ(fault(Op::ShuffleDown, 1),
            "line 1: shuffle_down from lane 16 of a warp with 16 active lanes, by thread (47,0,0) "
            "of block (0,0,0)");
}

}  // namespace
}  // namespace salvo::backends::interpreter
