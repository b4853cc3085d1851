// Which counters of a For may leave the range of their type.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "passes/counters.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::passes {
namespace {

using ir::Scalar;

constexpr std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

bool may_wrap(Scalar type, std::uint64_t limit, std::uint64_t step, bool down = false) {
  test::Shapes k("loop");
  const ir::ValueId loop = k.for_up(k.constant(type, 1), k.constant(type, limit),
                                    k.constant(type, step), [](ir::ValueId) {});
  k.kernel().nodes[loop].literal = down ? 1 : 0;
  return counter_may_wrap(k.kernel(), k.kernel().nodes[loop]);
}

TEST(Counters, AStepOfOneEndsAtTheLimitAtMost) {
  test::Shapes k("loop");
  const auto n = k.scalar_parameter("n", Scalar::I32);
  const auto loop_by = [&](ir::ValueId step) {
    const ir::ValueId loop = k.for_up(k.constant_i32(0), k.param(n), step, [](ir::ValueId) {});
    return counter_may_wrap(k.kernel(), k.kernel().nodes[loop]);
  };
  EXPECT_FALSE(loop_by(k.constant_i32(1)));
  EXPECT_TRUE(loop_by(k.constant_i32(2))) << "the limit is unknown";
  EXPECT_TRUE(loop_by(k.param(n))) << "the step is unknown";
}

TEST(Counters, AKnownLimitLeavesRoomForOneMoreStepOrNot) {
  constexpr std::uint64_t kMost = 0x7fffffff;
  EXPECT_FALSE(may_wrap(Scalar::I32, kMost - 9, 10));
  EXPECT_TRUE(may_wrap(Scalar::I32, kMost - 9, 11));
  EXPECT_FALSE(may_wrap(Scalar::U32, kMost - 9, 11));
  EXPECT_FALSE(may_wrap(Scalar::U32, 0xfffffff0, 16));
  EXPECT_TRUE(may_wrap(Scalar::U32, 0xfffffff0, 17));
  EXPECT_FALSE(may_wrap(Scalar::I64, kMost, 1 << 30));
  EXPECT_TRUE(may_wrap(Scalar::I64, bits(std::numeric_limits<std::int64_t>::max()), 2));
  EXPECT_FALSE(may_wrap(Scalar::U64, bits(-2), 2));
  EXPECT_TRUE(may_wrap(Scalar::U64, bits(-2), 3));
  EXPECT_FALSE(may_wrap(Scalar::I32, 0x80000000, 1u << 31 >> 1)) << "the lowest number";
}

TEST(Counters, CountingDownTheLowestNumberIsTheEnd) {
  EXPECT_FALSE(may_wrap(Scalar::I32, 0x80000009, 10, true));
  EXPECT_TRUE(may_wrap(Scalar::I32, 0x80000009, 11, true));
  EXPECT_FALSE(may_wrap(Scalar::U32, 9, 10, true));
  EXPECT_TRUE(may_wrap(Scalar::U32, 9, 11, true));
  EXPECT_FALSE(may_wrap(Scalar::I64, bits(std::numeric_limits<std::int64_t>::min() + 9), 10, true));
  EXPECT_TRUE(may_wrap(Scalar::I64, bits(std::numeric_limits<std::int64_t>::min() + 9), 11, true));
}

TEST(Counters, AStepThatLeadsAwayFromTheLimitMayGoRound) {
  EXPECT_TRUE(may_wrap(Scalar::I32, 10, 0));
  EXPECT_TRUE(may_wrap(Scalar::I32, 10, 0xffffffff));
  EXPECT_TRUE(may_wrap(Scalar::I64, 10, bits(-1), true));
}

}  // namespace
}  // namespace salvo::passes
