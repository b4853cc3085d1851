// One thread that loops over a block does what the block's threads did.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/interpreter/launch.hpp"
#include "ir/verify.hpp"
#include "passes/serialize_block.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::passes {
namespace {

using backends::interpreter::HostArgument;
using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using runtime::LaunchShape;
using test::Shapes;
using testing::IsEmpty;

std::vector<std::int32_t> run(const ir::Kernel& kernel, const LaunchShape& shape, std::size_t count,
                              std::initializer_list<std::uint32_t> scalars) {
  std::vector<std::int32_t> data(count, -1);
  std::vector<HostArgument> arguments{HostArgument::of(std::span(data))};
  for (std::uint32_t bits : scalars) arguments.push_back(HostArgument::scalar(bits));
  backends::interpreter::run(kernel, shape, arguments);
  return data;
}

/// Runs a kernel of one span of `count` ints as it is and serialised.
void expect_same(const ir::Kernel& kernel, const LaunchShape& shape, std::size_t count) {
  const ir::Kernel serial = serialize_block(kernel);
  ASSERT_THAT(ir::verify(serial), IsEmpty());
  const LaunchShape one_thread{shape.grid, {1, 1, 1}, 0};
  EXPECT_EQ(run(serial, one_thread, count, {shape.block[0], shape.block[1], shape.block[2]}),
            run(kernel, shape, count, {}));
}

struct Sample : Shapes {
  explicit Sample(const char* name) : Shapes(name) {}
  ir::MemoryId y = span_parameter("y", Element::scalar(Scalar::I32), false);
  ValueId number(std::int32_t value) { return constant_i32(value); }
};

ir::Node loop_at(const ir::Kernel& kernel, std::size_t n) {
  std::vector<ir::Node> loops;
  std::copy_if(kernel.nodes.begin(), kernel.nodes.end(), std::back_inserter(loops),
               [](const ir::Node& node) { return node.op == Op::For; });
  return loops.at(n);
}

std::size_t loops_in(const ir::Kernel& kernel, ir::BlockId block) {
  const auto& nodes = kernel.block(block).nodes;
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [&](ValueId id) { return kernel.node(id).op == Op::For; }));
}

TEST(PassesSerializeBlock, PositionsAreThoseOfTheThreads) {
  for (const LaunchShape& shape :
       {LaunchShape{{5, 1, 1}, {7, 1, 1}, 0}, LaunchShape{{2, 3, 1}, {4, 3, 1}, 0},
        LaunchShape{{2, 2, 2}, {3, 2, 4}, 0}}) {
    Sample k("positions");
    const auto extent = [&](std::uint8_t axis) {
      return k.op(Op::Mul, {k.position(Op::GridDim, axis), k.position(Op::BlockDim, axis)});
    };
    const ValueId row = k.op(Op::Add, {k.op(Op::Mul, {k.position(Op::GlobalIdx, 2), extent(1)}),
                                       k.position(Op::GlobalIdx, 1)});
    const ValueId thread =
        k.op(Op::Add, {k.op(Op::Mul, {row, extent(0)}), k.position(Op::GlobalIdx, 0)});
    ValueId all = k.number(0);
    for (std::uint8_t axis = 0; axis < 3; ++axis) {
      for (Op op : {Op::ThreadIdx, Op::BlockIdx, Op::BlockDim, Op::GridDim, Op::GlobalIdx}) {
        all = k.op(Op::Add, {k.op(Op::Mul, {all, k.number(7)}), k.position(op, axis)});
      }
    }
    k.store(k.y, thread, all);
    std::size_t threads = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) threads *= shape.grid[axis] * shape.block[axis];
    expect_same(k.finish(), shape, threads);
  }
}

TEST(PassesSerializeBlock, ReturnsEndOneThreadAndNotTheLoop) {
  Sample k("returns");
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId odd = k.op(Op::Eq, {k.op(Op::And, {i, k.number(1)}), k.number(1)});
  k.if_else(odd, [&] { k.statement(Op::Return); });
  k.store(k.y, i, i);
  k.if_else(k.op(Op::Gt, {i, k.number(20)}), [&] { k.statement(Op::Return); });
  k.store(k.y, i, k.number(100));
  expect_same(k.finish(), {{4, 1, 1}, {16, 1, 1}, 0}, 64);
}

TEST(PassesSerializeBlock, VariablesStartAfreshForEachThread) {
  Sample k("variables");
  const auto sum = k.variable("sum", Scalar::I32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.var_set(sum, k.number(0));
  k.for_up(k.number(0), i, k.number(1), [&](ValueId j) {
    k.var_set(sum, k.op(Op::Add, {k.var_get(sum), j}));
    k.if_else(k.op(Op::Gt, {k.var_get(sum), k.number(30)}), [&] { k.statement(Op::Break); });
  });
  k.store(k.y, i, k.var_get(sum));
  expect_same(k.finish(), {{2, 1, 1}, {16, 1, 1}, 0}, 32);
}

/// Three members, selected by the block alone; the second returns early.
ir::Kernel members() {
  Sample k("members");
  const ValueId block = k.position(Op::BlockIdx, 0);
  const ValueId member = k.op(Op::Rem, {block, k.number(3)});
  const ValueId first = k.op(Op::Mul, {block, k.position(Op::BlockDim, 0)});
  const ValueId i = k.op(Op::Add, {first, k.position(Op::ThreadIdx, 0)});
  k.switch_on(member, {0, 1},
              {[&] {
                 k.store(k.y, i, k.op(Op::Mul, {i, i}));
               },
               [&] {
                 k.if_else(k.op(Op::Lt, {i, k.number(25)}), [&] { k.store(k.y, i, k.number(5)); });
               },
               [&] { k.store(k.y, i, k.op(Op::Neg, {i})); }});
  return k.finish();
}

TEST(PassesSerializeBlock, MembersSelectedByTheBlockRunAlike) {
  expect_same(members(), {{6, 1, 1}, {8, 1, 1}, 0}, 48);
}

TEST(PassesSerializeBlock, LoopsAreInsideAUniformBranch) {
  const ir::Kernel serial = serialize_block(members());
  const auto selects = std::find_if(serial.nodes.begin(), serial.nodes.end(),
                                    [](const ir::Node& node) { return node.op == Op::Switch; });
  ASSERT_NE(selects, serial.nodes.end());
  EXPECT_EQ(loops_in(serial, serial.body), 0u);
  for (ir::BlockId arm : selects->blocks) EXPECT_EQ(loops_in(serial, arm), 1u);
}

TEST(PassesSerializeBlock, LoopsAreAroundABranchThatThreadsTakeDifferently) {
  Sample k("varying");
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.if_else(k.op(Op::Lt, {i, k.number(9)}), [&] { k.store(k.y, i, i); });
  const ir::Kernel kernel = k.finish();
  EXPECT_EQ(loops_in(serialize_block(kernel), serialize_block(kernel).body), 1u);
  expect_same(kernel, {{3, 1, 1}, {4, 1, 1}, 0}, 12);
}

TEST(PassesSerializeBlock, ThreadsAreIndependentUnlessTheyKeepAnArray) {
  Sample plain("plain");
  plain.store(plain.y, plain.position(Op::GlobalIdx, 0), plain.number(1));
  EXPECT_EQ(loop_at(serialize_block(plain.finish()), 2).unroll, ir::kIndependent);

  Sample keeps("keeps");
  const auto kept = keeps.local_array("kept", Element::scalar(Scalar::I32), 2);
  const ValueId i = keeps.position(Op::GlobalIdx, 0);
  keeps.store(kept, keeps.number(1), i);
  keeps.store(keeps.y, i, keeps.load(kept, keeps.number(1)));
  const ir::Kernel kernel = keeps.finish();
  EXPECT_EQ(loop_at(serialize_block(kernel), 2).unroll, 0u);
  expect_same(kernel, {{2, 1, 1}, {8, 1, 1}, 0}, 16);
}

TEST(PassesSerializeBlock, KernelsWhoseThreadsMeetAreLeftAlone) {
  Sample meets("meets");
  meets.statement(Op::Barrier);
  EXPECT_FALSE(can_serialize_block(meets.finish()));
  Sample shares("shares");
  shares.shared_array("tile", Element::scalar(Scalar::F32), 4);
  EXPECT_FALSE(can_serialize_block(shares.finish()));
  Sample lanes("lanes");
  lanes.store(lanes.y, lanes.number(0), lanes.position(Op::LaneId, 0));
  EXPECT_FALSE(can_serialize_block(lanes.finish()));
  EXPECT_TRUE(can_serialize_block(members()));
}

}  // namespace
}  // namespace salvo::passes
