// Loops whose rounds are known are written out, do what they did, and others stay.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/interpreter/launch.hpp"
#include "ir/verify.hpp"
#include "passes/unroll.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::passes {
namespace {

using backends::interpreter::HostArgument;
using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;

constexpr std::uint32_t kThreads = 64;

std::vector<std::int32_t> run(const ir::Kernel& kernel) {
  std::vector<std::int32_t> data(kThreads);
  std::iota(data.begin(), data.end(), 1);
  backends::interpreter::run(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                             std::vector{HostArgument::of(std::span(data))});
  return data;
}

std::size_t loops(const ir::Kernel& kernel) {
  return static_cast<std::size_t>(std::ranges::count_if(kernel.nodes, [](const ir::Node& node) {
    return node.op == Op::For || node.op == Op::While;
  }));
}

/// Checks that `kernel` has so many loops left and computes what it did.
void expect_loops(std::size_t count, const ir::Kernel& kernel) {
  const ir::Kernel unrolled = unroll(kernel);
  EXPECT_THAT(ir::verify(unrolled), testing::IsEmpty());
  EXPECT_EQ(loops(unrolled), count);
  EXPECT_EQ(run(unrolled), run(kernel));
}

struct Sample : Shapes {
  Sample() : Shapes("sample") {}
  ir::MemoryId y = span_parameter("y", Element::scalar(Scalar::I32), false);
  std::uint32_t stride = variable("stride", Scalar::I32);
  ValueId thread() { return position(Op::ThreadIdx, 0); }
  ValueId number(std::int32_t value) { return constant_i32(value); }
  void add_to(ValueId index, ValueId value) {
    store(y, index, op(Op::Add, {load(y, index), value}));
  }
  /// while (stride > 0) { fill(); stride = stride / 2; }
  void halving(std::int32_t from, const Fill& fill) {
    var_set(stride, number(from));
    while_loop(
        [&] {
          return op(Op::Gt, {var_get(stride), number(0)});
        },
        [&] {
          fill();
          var_set(stride, op(Op::Div, {var_get(stride), number(2)}));
        });
  }
};

TEST(Unroll, ATreeReductionThatHalvesItsStride) {
  Sample k;
  const auto part = k.shared_array("part", Element::scalar(Scalar::I32), kThreads);
  k.store(part, k.thread(), k.load(k.y, k.thread()));
  k.statement(Op::Barrier);
  k.halving(kThreads / 2, [&] {
    k.if_else(k.op(Op::Lt, {k.thread(), k.var_get(k.stride)}), [&] {
      const ValueId other = k.op(Op::Add, {k.thread(), k.var_get(k.stride)});
      k.store(part, k.thread(), k.op(Op::Add, {k.load(part, k.thread()), k.load(part, other)}));
    });
    k.statement(Op::Barrier);
  });
  k.store(k.y, k.thread(), k.op(Op::Add, {k.load(part, k.number(0)), k.var_get(k.stride)}));
  const ir::Kernel kernel = k.finish();
  expect_loops(0, kernel);
  EXPECT_EQ(run(unroll(kernel))[0], kThreads * (kThreads + 1) / 2);
}

TEST(Unroll, ValuesReadAfterTheStepAreTheNextRounds) {
  Sample k;
  k.var_set(k.stride, k.number(5));
  k.while_loop(
      [&] {
        return k.op(Op::Ne, {k.var_get(k.stride), k.number(0)});
      },
      [&] {
        k.add_to(k.thread(), k.op(Op::Mul, {k.var_get(k.stride), k.number(100)}));
        k.var_set(k.stride, k.op(Op::Sub, {k.var_get(k.stride), k.number(1)}));
        k.add_to(k.thread(), k.var_get(k.stride));
      });
  expect_loops(0, k.finish());
}

TEST(Unroll, NestedCountersAndDownwardOnes) {
  Sample k;
  k.for_up(k.number(0), k.number(5), k.number(2), [&](ValueId i) {
    k.halving(4, [&] { k.add_to(k.thread(), k.op(Op::Mul, {i, k.var_get(k.stride)})); });
  });
  expect_loops(0, k.finish());
}

TEST(Unroll, LoopsThatNobodyCanCountStay) {
  const auto kept = [](const std::function<void(Sample&)>& fill) {
    Sample k;
    fill(k);
    expect_loops(1, k.finish());
  };
  kept([](Sample& k) {  // the start depends on the thread
    k.var_set(k.stride, k.thread());
    k.while_loop(
        [&] {
          return k.op(Op::Gt, {k.var_get(k.stride), k.number(0)});
        },
        [&] {
          k.var_set(k.stride, k.op(Op::Div, {k.var_get(k.stride), k.number(2)}));
        });
  });
  kept([](Sample& k) {  // a step in a branch
    k.var_set(k.stride, k.number(3));
    k.while_loop(
        [&] {
          return k.op(Op::Gt, {k.var_get(k.stride), k.number(0)});
        },
        [&] {
          k.if_else(k.op(Op::Ge, {k.thread(), k.number(0)}), [&] {
            k.var_set(k.stride, k.op(Op::Sub, {k.var_get(k.stride), k.number(1)}));
          });
        });
  });
  kept([](Sample& k) {  // set again in a branch between the constant and the loop
    k.var_set(k.stride, k.number(3));
    k.if_else(k.op(Op::Lt, {k.thread(), k.number(7)}), [&] { k.var_set(k.stride, k.number(1)); });
    k.while_loop(
        [&] {
          return k.op(Op::Gt, {k.var_get(k.stride), k.number(0)});
        },
        [&] {
          k.var_set(k.stride, k.op(Op::Sub, {k.var_get(k.stride), k.number(1)}));
        });
  });
  kept([](Sample& k) { k.halving(8, [&] { k.statement(Op::Break); }); });
  kept([](Sample& k) {  // too many rounds
    k.for_up(k.number(0), k.number(65), k.number(1), [&](ValueId i) { k.add_to(k.thread(), i); });
  });
  kept([](Sample& k) {  // the author's wish
    const ValueId loop = k.for_up(k.number(0), k.number(3), k.number(1),
                                  [&](ValueId i) { k.add_to(k.thread(), i); });
    k.kernel().nodes[loop].unroll = 1;
  });
}

TEST(Unroll, ACounterThatWrapsIsLeftToTheLoop) {
  Sample k;
  const ValueId loop = k.for_up(k.number(0x7fffff00), k.number(0x7ffffff0), k.number(0x40),
                                [&](ValueId) { k.add_to(k.thread(), k.number(1)); });
  static_cast<void>(loop);
  EXPECT_EQ(loops(unroll(k.finish())), 1U);
}

}  // namespace
}  // namespace salvo::passes
