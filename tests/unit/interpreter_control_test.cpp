// Control flow in lock step: every thread takes its own path and meets the others again.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>

#include "passes/clone.hpp"
#include "unit/control_evaluator.hpp"
#include "unit/interpreter_support.hpp"
#include "unit/random_control.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// out[i] = a value that each thread i computes in a variable, starting from 0.
struct PerThread : test::Shapes {
  PerThread() : Shapes("per_thread") {}

  ir::MemoryId out = span_parameter("out", ir::Element::scalar(Scalar::I32), false);
  std::uint32_t total = variable("total", Scalar::I32);
  ValueId i = position(Op::ThreadIdx, 0);
  ValueId zero = constant_i32(0);
  ValueId one = constant_i32(1);
  ValueId start = var_set(total, zero);

  void add(ValueId value) { var_set(total, op(Op::Add, {var_get(total), value})); }
  void add(int value) { add(constant_i32(value)); }
  ValueId is(ValueId value, int other) { return op(Op::Eq, {value, constant_i32(other)}); }
  ValueId odd(ValueId value) { return is(op(Op::And, {value, one}), 1); }

  std::vector<std::int32_t> results(std::uint32_t threads) {
    store(out, i, var_get(total));
    std::vector<std::int32_t> values(threads);
    run_sound(kernel(), shape(1, threads), {unwritten(values)});
    return values;
  }
};

using Values = std::vector<std::int32_t>;

TEST(InterpreterControl, BranchesSplitAndJoin) {
  PerThread k;
  k.if_else(
      k.odd(k.i), [&] { k.add(100); }, [&] { k.if_else(k.is(k.i, 2), [&] { k.add(10); }); });
  k.add(1);
  EXPECT_EQ(k.results(4), (Values{1, 101, 11, 101}));
}

TEST(InterpreterControl, ForRunsADifferentNumberOfTimesForEachThread) {
  PerThread k;
  k.for_up(k.zero, k.i, k.one, [&](ValueId j) { k.add(k.op(Op::Add, {j, k.one})); });
  k.add(1000);
  EXPECT_EQ(k.results(5), (Values{1000, 1001, 1003, 1006, 1010}));
}

TEST(InterpreterControl, ForCountsDownWhileAboveItsLimit) {
  PerThread k;
  const ValueId loop =
      k.for_up(k.constant_i32(10), k.i, k.constant_i32(3), [&](ValueId j) { k.add(j); });
  k.kernel().nodes[loop].literal = 1;
  // 10 7 4 1 while > 0, ... while > 4: 10 7
  EXPECT_EQ(k.results(5), (Values{22, 21, 21, 21, 17}));
}

TEST(InterpreterControl, UnsignedCountersCompareUnsigned) {
  PerThread k;
  const ValueId first = k.constant(Scalar::U32, 0xffff'fffd);
  const ValueId limit = k.constant(Scalar::U32, 0xffff'ffff);
  k.for_up(first, limit, k.constant(Scalar::U32, 1), [&](ValueId) { k.add(1); });
  EXPECT_EQ(k.results(1), (Values{2}));
}

TEST(InterpreterControl, LimitAndStepAreReadBeforeTheLoop) {
  PerThread k;
  const std::uint32_t bound = k.variable("bound", Scalar::I32);
  k.var_set(bound, k.constant_i32(3));
  k.for_up(k.zero, k.var_get(bound), k.one, [&](ValueId) {
    k.var_set(bound, k.constant_i32(100));
    k.add(1);
  });
  EXPECT_EQ(k.results(1), (Values{3}));
}

TEST(InterpreterControl, BreakEndsTheLoopOfOneThreadOnly) {
  PerThread k;
  k.for_up(k.zero, k.constant_i32(4), k.one, [&](ValueId j) {
    k.if_else(k.op(Op::Eq, {j, k.i}), [&] { k.statement(Op::Break); });
    k.add(1);
  });
  k.add(100);
  EXPECT_EQ(k.results(6), (Values{100, 101, 102, 103, 104, 104}));
}

TEST(InterpreterControl, ContinueSkipsTheRestOfOneRound) {
  PerThread k;
  k.for_up(k.zero, k.constant_i32(6), k.one, [&](ValueId j) {
    k.if_else(k.op(Op::Lt, {j, k.i}), [&] { k.statement(Op::Continue); });
    k.add(1);
  });
  EXPECT_EQ(k.results(4), (Values{6, 5, 4, 3}));
}

TEST(InterpreterControl, BreakLeavesTheInnermostLoop) {
  PerThread k;
  k.for_up(k.zero, k.constant_i32(3), k.one, [&](ValueId) {
    k.for_up(k.zero, k.constant_i32(5), k.one, [&](ValueId j) {
      k.if_else(k.op(Op::Eq, {j, k.i}), [&] { k.statement(Op::Break); });
      k.add(1);
    });
    k.add(100);
  });
  EXPECT_EQ(k.results(3), (Values{300, 303, 306}));
}

TEST(InterpreterControl, ReturnInALoopEndsTheThread) {
  PerThread k;
  k.store(k.out, k.i, k.constant_i32(-1));
  k.for_up(k.zero, k.constant_i32(3), k.one, [&](ValueId j) {
    k.add(1);
    k.if_else(k.op(Op::Eq, {j, k.i}), [&] { k.statement(Op::Return); });
  });
  EXPECT_EQ(k.results(5), (Values{-1, -1, -1, 3, 3}));
}

TEST(InterpreterControl, WhileTestsBeforeEachRound) {
  // Collatz steps of i + 1.
  PerThread k;
  const std::uint32_t n = k.variable("n", Scalar::I32);
  k.var_set(n, k.op(Op::Add, {k.i, k.one}));
  k.while_loop(
      [&] {
        return k.op(Op::Ne, {k.var_get(n), k.one});
      },
      [&] {
        const ValueId value = k.var_get(n);
        k.if_else(
            k.odd(value),
            [&] {
              const ValueId triple = k.op(Op::Mul, {value, k.constant_i32(3)});
              k.var_set(n, k.op(Op::Add, {triple, k.one}));
            },
            [&] {
              k.var_set(n, k.op(Op::Div, {value, k.constant_i32(2)}));
            });
        k.add(1);
      });
  EXPECT_EQ(k.results(9), (Values{0, 1, 7, 2, 5, 8, 16, 3, 19}));
}

TEST(InterpreterControl, WhileWithContinueTestsAgain) {
  PerThread k;
  const std::uint32_t n = k.variable("n", Scalar::I32);
  k.var_set(n, k.i);
  k.while_loop(
      [&] {
        return k.op(Op::Gt, {k.var_get(n), k.zero});
      },
      [&] {
        k.var_set(n, k.op(Op::Sub, {k.var_get(n), k.one}));
        k.if_else(k.is(k.var_get(n), 2), [&] { k.statement(Op::Continue); });
        k.add(1);
      });
  EXPECT_EQ(k.results(5), (Values{0, 1, 2, 2, 3}));
}

TEST(InterpreterControl, SwitchTakesOneBlockWithoutFallThrough) {
  PerThread k;
  k.switch_on(k.op(Op::Sub, {k.i, k.one}), {-1, 1},
              {[&] { k.add(10); }, [&] { k.add(20); }, [&] { k.add(30); }});
  EXPECT_EQ(k.results(4), (Values{10, 30, 20, 30}));
}

TEST(InterpreterControl, BreakInASwitchLeavesTheLoopAroundIt) {
  PerThread k;
  k.for_up(k.zero, k.constant_i32(5), k.one, [&](ValueId j) {
    k.switch_on(j, {2}, {[&] { k.statement(Op::Break); }, [&] { k.add(1); }});
  });
  EXPECT_EQ(k.results(1), (Values{2}));
}

TEST(InterpreterControl, PositionsCoverGridAndBlockInThreeDimensions) {
  test::Shapes b("positions");
  const auto out = b.span_parameter("out", ir::Element::scalar(Scalar::I32), false);
  const auto at = [&](Op op, std::uint8_t axis) { return b.position(op, axis); };
  const auto dot = [&](ValueId x, ValueId size_x, ValueId y, ValueId size_y, ValueId z) {
    return b.op(Op::Add,
                {x, b.op(Op::Mul, {size_x, b.op(Op::Add, {y, b.op(Op::Mul, {size_y, z})})})});
  };
  const auto width = [&](std::uint8_t axis) {
    return b.op(Op::Mul, {at(Op::GridDim, axis), at(Op::BlockDim, axis)});
  };
  const ValueId index =
      dot(at(Op::GlobalIdx, 0), width(0), at(Op::GlobalIdx, 1), width(1), at(Op::GlobalIdx, 2));
  // The same place put together from block and thread, and each digit of it apart.
  const auto join = [&](std::uint8_t axis) {
    return b.op(Op::Add, {b.op(Op::Mul, {at(Op::BlockIdx, axis), at(Op::BlockDim, axis)}),
                          at(Op::ThreadIdx, axis)});
  };
  const ValueId value = dot(join(0), b.constant_i32(100), join(1), b.constant_i32(100), join(2));
  b.store(out, index, value);
  std::vector<std::int32_t> values(4 * 6 * 10);
  run_sound(b.kernel(), {{2, 3, 2}, {2, 2, 5}, 0}, {unwritten(values)});
  for (int z = 0; z < 10; ++z) {
    for (int y = 0; y < 6; ++y) {
      for (int x = 0; x < 4; ++x) {
        ASSERT_EQ(values[static_cast<std::size_t>(x + 4 * (y + 6 * z))], x + 100 * (y + 100 * z));
      }
    }
  }
}

/// Gives each thread of a kernel elements of its own in both of its spans.
ir::Kernel spread(const ir::Kernel& kernel, int elements) {
  ir::Builder b(kernel.name);
  passes::Cloner cloner(kernel, b);
  for (std::size_t m = 0; m < kernel.memories.size(); ++m) {
    const ir::Memory& memory = kernel.memories[m];
    cloner.memories[m] = b.span_parameter(memory.name, memory.element, memory.read_only);
  }
  const ValueId first = b.op(Op::Mul, {b.position(Op::ThreadIdx, 0), b.constant_i32(elements)});
  cloner.replace = [&](passes::Cloner& c, ValueId, const ir::Node& node) -> ValueId {
    // Threads part on their own elements, so that barriers would not meet.
    if (node.op == Op::Barrier) return passes::Cloner::kReplacedStatement;
    if (node.op != Op::Load && node.op != Op::Store) return ir::kNoValue;
    const ValueId index = b.op(Op::Add, {first, c.value(node.operands[0])});
    if (node.op == Op::Load) return b.load(c.memories[node.memory], index);
    b.store(c.memories[node.memory], index, c.value(node.operands[1]));
    return passes::Cloner::kReplacedStatement;
  };
  cloner.block(kernel.body);
  return b.finish();
}

// 32 threads in lock step do what an evaluator of single threads does.
TEST(InterpreterControl, RandomControlFlowMatchesOneThreadAtATime) {
  constexpr std::size_t kThreads = 32;
  constexpr std::size_t kElements = 256;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Kernel kernel = test::RandomControl(seed).kernel();
    std::mt19937 random(seed);
    std::vector<std::int32_t> in(kThreads * kElements);
    for (std::int32_t& value : in) value = static_cast<std::int32_t>(random() % 3);
    std::vector<std::int32_t> out(in.size(), -1);
    run_sound(spread(kernel, kElements), shape(1, kThreads), {on(in), on(out)});

    std::vector<std::int32_t> expected(in.size(), -1);
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      const auto own = in.begin() + static_cast<std::ptrdiff_t>(thread * kElements);
      test::ControlEvaluator evaluator(kernel, {own, own + kElements},
                                       static_cast<std::int32_t>(thread));
      for (const test::Event& event : evaluator.run()) {
        if (event.op != Op::Store) continue;
        expected[thread * kElements + static_cast<std::size_t>(event.index)] = event.value;
      }
    }
    ASSERT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace salvo::backends::interpreter
