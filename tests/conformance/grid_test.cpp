// Grids and blocks of one to three dimensions, and what is shared in a block.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

class Grids : public OnDevice {};
SALVO_ON_DEVICES(Grids);

/// Stores every position along every axis, 15 numbers a thread.
ir::Kernel positions(bool with_barrier) {
  Shapes k("positions");
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
  const auto global = [&](std::uint8_t axis) { return k.position(Op::GlobalIdx, axis); };
  const auto extent = [&](std::uint8_t axis) {
    return k.op(Op::Mul, {k.position(Op::GridDim, axis), k.position(Op::BlockDim, axis)});
  };
  const ValueId row = k.op(Op::Add, {k.op(Op::Mul, {global(2), extent(1)}), global(1)});
  const ValueId thread = k.op(Op::Add, {k.op(Op::Mul, {row, extent(0)}), global(0)});
  const ValueId first = k.op(Op::Mul, {thread, k.constant_i32(15)});
  if (with_barrier) k.statement(Op::Barrier);
  std::int32_t field = 0;
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    for (Op op : {Op::ThreadIdx, Op::BlockIdx, Op::BlockDim, Op::GridDim, Op::GlobalIdx}) {
      k.store(y, k.op(Op::Add, {first, k.constant_i32(field++)}), k.position(op, axis));
    }
  }
  return k.finish();
}

constexpr runtime::LaunchShape kShapes[] = {
    {{5, 1, 1}, {1, 1, 1}, 0},  {{3, 1, 1}, {32, 1, 1}, 0}, {{3, 4, 1}, {8, 2, 1}, 0},
    {{2, 3, 4}, {4, 3, 2}, 0},  {{1, 1, 7}, {1, 1, 5}, 0},  {{1, 6, 1}, {1, 7, 1}, 0},
    {{2, 1, 1}, {17, 3, 1}, 0},
};

TEST_P(Grids, EveryPositionOnEveryAxis) {
  for (bool with_barrier : {false, true}) {
    for (const runtime::LaunchShape& shape : kShapes) {
      std::size_t threads = 1;
      for (int axis = 0; axis < 3; ++axis) threads *= shape.grid[axis] * shape.block[axis];
      check({.kernel = positions(with_barrier),
             .shape = shape,
             .arguments = {zeros(threads * 15, 4)},
             .options = {}});
    }
  }
}

TEST_P(Grids, SharedMemoryAndBarriersMirrorATile) {
  Shapes k("mirror");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  const auto tile = k.shared_array("local", ir::Element::scalar(Scalar::F32), 64);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.store(tile, t, k.load(x, k.position(Op::GlobalIdx, 0)));
  k.statement(Op::Barrier);
  const ValueId other = k.op(Op::Sub, {k.constant_i32(63), t});
  k.store(y, k.position(Op::GlobalIdx, 0), k.load(tile, other));
  std::vector<float> data(256);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) * 0.5f;
  check({.kernel = k.finish(),
         .shape = over(256),
         .arguments = {span(data), zeros(256, 4)},
         .options = {}});
}

/// A tree of sums over a block; with `dynamic`, in shared memory whose size the launch says.
Case tree_sum(bool dynamic) {
  Shapes k("tree_sum");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  const auto partial =
      k.shared_array("partial", ir::Element::scalar(Scalar::F32), dynamic ? 0 : 64);
  const auto width = k.variable("width", Scalar::I32);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.store(partial, t, k.load(x, k.position(Op::GlobalIdx, 0)));
  k.statement(Op::Barrier);
  k.var_set(width, k.constant_i32(32));
  k.while_loop(
      [&] {
        return k.op(Op::Gt, {k.var_get(width), k.constant_i32(0)});
      },
      [&] {
        k.if_else(k.op(Op::Lt, {t, k.var_get(width)}), [&] {
          const ValueId other = k.op(Op::Add, {t, k.var_get(width)});
          k.store(partial, t, k.op(Op::Add, {k.load(partial, t), k.load(partial, other)}));
        });
        k.statement(Op::Barrier);
        k.var_set(width, k.op(Op::Shr, {k.var_get(width), k.constant_i32(1)}));
      });
  k.if_else(k.op(Op::Eq, {t, k.constant_i32(0)}),
            [&] { k.store(y, k.position(Op::BlockIdx, 0), k.load(partial, k.constant_i32(0))); });
  std::vector<float> data(512);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * 37 % 100) * 0.1f;
  runtime::LaunchShape shape = over(512);
  if (dynamic) shape.dynamic_shared_bytes = 64 * sizeof(float);
  return {
      .kernel = k.finish(), .shape = shape, .arguments = {span(data), zeros(8, 4)}, .options = {}};
}

TEST_P(Grids, TreeReductionWithBarriersInALoop) {
  check(tree_sum(false));
}
TEST_P(Grids, DynamicSharedMemoryTakesItsSizeFromTheLaunch) {
  check(tree_sum(true));
}

TEST_P(Grids, BarriersInUniformLoopsAndBranches) {
  Shapes k("neighbours");
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
  const auto rounds = k.scalar_parameter("rounds", Scalar::I32);
  const auto tile = k.shared_array("tile", ir::Element::scalar(Scalar::I32), 32);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.store(tile, t, k.position(Op::GlobalIdx, 0));
  k.statement(Op::Barrier);
  k.for_up(k.constant_i32(0), k.param(rounds), k.constant_i32(1), [&](ValueId round) {
    const ValueId next = k.op(Op::And, {k.op(Op::Add, {t, k.constant_i32(1)}), k.constant_i32(31)});
    const ValueId seen = k.load(tile, next);
    k.statement(Op::Barrier);
    const ValueId even =
        k.op(Op::Eq, {k.op(Op::And, {round, k.constant_i32(1)}), k.constant_i32(0)});
    k.if_else(
        even,
        [&] {
          k.store(tile, t, k.op(Op::Add, {seen, round}));
          k.statement(Op::Barrier);
        },
        [&] {
          k.store(tile, t, k.op(Op::Mul, {seen, k.constant_i32(3)}));
          k.statement(Op::Barrier);
        });
  });
  k.store(y, k.position(Op::GlobalIdx, 0), k.load(tile, t));
  check({.kernel = k.finish(),
         .shape = over(128, 32),
         .arguments = {zeros(128, 4), scalar(std::int32_t{7})},
         .options = {}});
}

TEST_P(Grids, MembersSelectedByBlockRunUnchanged) {
  // The shape of a fused kernel: the block decides, then each member tests its own bound.
  Shapes k("fused");
  const auto a = k.span_parameter("a", ir::Element::scalar(Scalar::F32), false);
  const auto b = k.span_parameter("b", ir::Element::scalar(Scalar::I32), false);
  const auto n = k.scalar_parameter("n", Scalar::I32);
  const auto m = k.scalar_parameter("m", Scalar::I32);
  const ValueId block = k.position(Op::BlockIdx, 0);
  const ValueId second = k.op(Op::Ge, {block, k.constant_i32(3)});
  const ValueId member = k.op(Op::Select, {second, k.constant_i32(1), k.constant_i32(0)});
  const auto own_index = [&](std::int32_t first_block) {
    const ValueId own = k.op(Op::Sub, {block, k.constant_i32(first_block)});
    const ValueId first = k.op(Op::Mul, {own, k.position(Op::BlockDim, 0)});
    return k.op(Op::Add, {first, k.position(Op::ThreadIdx, 0)});
  };
  k.switch_on(member, {0},
              {[&] {
                 const ValueId i = own_index(0);
                 k.if_else(k.op(Op::Lt, {i, k.param(n)}), [&] {
                   k.store(a, i, k.op(Op::Mul, {k.load(a, i), k.load(a, i)}));
                 });
               },
               [&] {
                 const ValueId i = own_index(3);
                 k.if_else(k.op(Op::Lt, {i, k.param(m)}), [&] {
                   k.store(b, i, k.op(Op::Add, {k.load(b, i), k.position(Op::BlockDim, 0)}));
                 });
               }});
  std::vector<float> floats(170);
  std::vector<std::int32_t> ints(100);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) * 0.1f;
  for (std::size_t i = 0; i < ints.size(); ++i) ints[i] = static_cast<std::int32_t>(i);
  check({.kernel = k.finish(),
         .shape = {{5, 1, 1}, {64, 1, 1}, 0},
         .arguments = {span(floats), span(ints), scalar(std::int32_t{170}),
                       scalar(std::int32_t{100})},
         .options = {}});
}

TEST_P(Grids, FencesOrderNothingElse) {
  Shapes k("fences");
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, i);
  k.statement(Op::Fence, 0);
  k.store(y, i, k.op(Op::Add, {k.load(y, i), i}));
  k.statement(Op::Fence, 1);
  check({.kernel = k.finish(), .shape = over(64), .arguments = {zeros(64, 4)}, .options = {}});
}

}  // namespace
}  // namespace salvo::conformance
