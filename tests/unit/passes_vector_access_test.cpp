// Which loads and stores are found to be neighbours, and which must not be moved to each other.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/interpreter/launch.hpp"
#include "passes/vector_access.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::passes {
namespace {

using ir::Element;
using ir::MemoryId;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kApart = 0;
constexpr std::uint64_t kMayAlias = ~std::uint64_t{0};

/// A record of leaves of one type each, without padding.
Element record(std::initializer_list<Scalar> types) {
  Element element{"leaves", 0, 1, {}};
  for (const Scalar type : types) {
    const auto bytes = static_cast<std::uint32_t>(ir::size_of(type));
    element.fields.push_back(
        {std::string(1, static_cast<char>('a' + element.fields.size())), type, element.size});
    element.size += bytes;
    element.align = std::max(element.align, bytes);
  }
  return element;
}
const Element kFour = record({Scalar::F32, Scalar::F32, Scalar::F32, Scalar::F32});

/// The bytes of what is found, in the order in which it is.
std::vector<std::uint32_t> found(const ir::Kernel& kernel, std::uint64_t may_alias = kApart) {
  std::vector<std::uint32_t> bytes;
  for (const VectorAccess& access : find_vector_accesses(kernel, may_alias).accesses) {
    bytes.push_back(access.bytes);
  }
  return bytes;
}

/// y[i] = x[i] of records, leaf by leaf: a load and a store in turn.
ir::Kernel copied(const Element& element) {
  Shapes k("copied");
  const MemoryId x = k.span_parameter("x", element, true);
  const MemoryId y = k.span_parameter("y", element, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  for (std::uint32_t field = 0; field < element.fields.size(); ++field) {
    k.store(y, i, k.load(x, i, field), field);
  }
  return k.finish();
}

TEST(VectorAccess, ARecordIsLoadedAndStoredWhole) {
  const ir::Kernel kernel = copied(kFour);
  const VectorAccesses all = find_vector_accesses(kernel, kApart);
  ASSERT_EQ(all.accesses.size(), 2U);
  EXPECT_THAT(all.alignments, ElementsAre(16U, 16U));
  EXPECT_TRUE(all.rests_on_alignment());
  const VectorAccess& loads = all.accesses[0];
  EXPECT_EQ(kernel.node(loads.leader).op, Op::Load);
  EXPECT_EQ(loads.leader, loads.nodes.front());  // where the first was
  EXPECT_EQ(loads.leader_offset, 0);
  const VectorAccess& stores = all.accesses[1];
  EXPECT_EQ(stores.leader, stores.nodes.back());  // where the last was
  EXPECT_EQ(stores.leader_offset, 12);
  for (const ValueId node : stores.nodes) EXPECT_EQ(all.of(node), &stores);
  EXPECT_EQ(all.of(0), nullptr);
}

TEST(VectorAccess, SpansThatMayOverlapKeepLoadsAndStoresInTurn) {
  EXPECT_THAT(found(copied(kFour), kMayAlias), IsEmpty());
  // The one that is written says nothing of the one that is read.
  EXPECT_THAT(found(copied(kFour), 1), IsEmpty());
  EXPECT_THAT(found(copied(kFour), 2), ElementsAre(16U, 16U));
}

TEST(VectorAccess, SizesAndTypes) {
  EXPECT_THAT(found(copied(record({Scalar::F32, Scalar::F32}))), ElementsAre(8U, 8U));
  EXPECT_THAT(found(copied(record({Scalar::F64, Scalar::F64}))), ElementsAre(16U, 16U));
  EXPECT_THAT(found(copied(record({Scalar::F64, Scalar::F64, Scalar::F64, Scalar::F64}))),
              ElementsAre(16U, 16U, 16U, 16U));
  EXPECT_THAT(found(copied(record({Scalar::U8, Scalar::U8, Scalar::U8, Scalar::U8}))),
              ElementsAre(4U, 4U));
  // Of one size is enough where the bits are not widened.
  EXPECT_THAT(found(copied(record({Scalar::F32, Scalar::F32, Scalar::F32, Scalar::I32}))),
              ElementsAre(16U, 16U));
  EXPECT_THAT(found(copied(record({Scalar::U8, Scalar::I8}))), IsEmpty());
  EXPECT_THAT(found(copied(record({Scalar::F32, Scalar::F64}))), IsEmpty());
  // The second of two such records does not lie at a multiple of 8.
  EXPECT_THAT(found(copied(record({Scalar::F32, Scalar::F32, Scalar::F32}))), IsEmpty());
  // The first four bytes of each lie at a multiple of 8, and so do two leaves from the third on.
  EXPECT_THAT(found(copied(record({Scalar::F32, Scalar::I16, Scalar::I16, Scalar::F32, Scalar::F32,
                                   Scalar::F32, Scalar::F32}))),
              ElementsAre(4U, 8U, 8U, 4U, 8U, 8U));
}

/// y[factor * i + k] = 2 for k = first .. first + 3
ir::Kernel spread(std::int32_t factor, std::int32_t first, bool shifted = false) {
  Shapes k("spread");
  const MemoryId y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId value = k.constant(Scalar::F32, 0x40000000);
  for (std::int32_t n = first; n < first + 4; ++n) {
    // Each time anew, as a program may write it.
    const ValueId i = k.position(Op::GlobalIdx, 0);
    const ValueId base = shifted ? k.op(Op::Shl, {i, k.constant_i32(factor)})
                                 : k.op(Op::Mul, {k.constant_i32(factor), i});
    k.store(y, k.op(Op::Add, {base, k.constant_i32(n)}), value);
  }
  return k.finish();
}

TEST(VectorAccess, NeighboursAreElementsThatConstantsTellApart) {
  EXPECT_THAT(found(spread(4, 0)), ElementsAre(16U));
  EXPECT_THAT(found(spread(2, 0, true)), ElementsAre(16U));
  EXPECT_THAT(found(spread(4, 4)), ElementsAre(16U));
  EXPECT_THAT(found(spread(4, 2)), ElementsAre(8U, 8U));
  EXPECT_THAT(found(spread(2, 0)), ElementsAre(8U, 8U));
  EXPECT_THAT(found(spread(4, 1)), ElementsAre(8U));  // the two in the middle
  EXPECT_THAT(found(spread(1, 0)), IsEmpty());
  EXPECT_THAT(found(spread(3, 0)), IsEmpty());
}

TEST(VectorAccess, NothingIsMovedPastWhatMayTouchItsBytes) {
  const auto kernel = [](auto between) {
    Shapes k("between");
    const MemoryId x = k.span_parameter("x", kFour, false);
    const MemoryId n = k.span_parameter("n", Element::scalar(Scalar::I32), true);
    const ValueId i = k.position(Op::GlobalIdx, 0);
    const ValueId a = k.load(x, i, 0);
    const ValueId b = k.load(x, i, 1);
    between(k, x, n, i);
    const ValueId c = k.load(x, i, 2);
    const ValueId d = k.load(x, i, 3);
    k.store(x, i, k.op(Op::Add, {k.op(Op::Add, {a, b}), k.op(Op::Add, {c, d})}), 0);
    return k.finish();
  };
  const auto nothing = [](Shapes&, MemoryId, MemoryId, ValueId) {};
  EXPECT_THAT(found(kernel(nothing)), ElementsAre(16U));
  // Another leaf of the same element is apart from it; one of an unknown element may be it.
  EXPECT_THAT(found(kernel([&](Shapes& k, MemoryId x, MemoryId, ValueId i) {
                k.store(x, i, k.load(x, i, 1), 0);
              })),
              ElementsAre(16U));
  EXPECT_THAT(found(kernel([&](Shapes& k, MemoryId x, MemoryId, ValueId i) {
                k.store(x, i, k.load(x, i, 1), 2);
              })),
              ElementsAre(8U, 8U));
  EXPECT_THAT(found(kernel([&](Shapes& k, MemoryId x, MemoryId n, ValueId i) {
                k.store(x, k.load(n, i), k.load(x, i, 0), 0);
              })),
              ElementsAre(8U, 8U));
  EXPECT_THAT(
      found(kernel([&](Shapes& k, MemoryId, MemoryId, ValueId) { k.statement(Op::Barrier); })),
      ElementsAre(8U, 8U));
  EXPECT_THAT(found(kernel([&](Shapes& k, MemoryId, MemoryId, ValueId i) {
                k.if_else(k.op(Op::Lt, {i, k.constant_i32(7)}), [&] { k.statement(Op::Return); });
              })),
              ElementsAre(8U, 8U));
}

TEST(VectorAccess, ALoadMovedUpAndAStoreMovedDownDoNotPassEachOther) {
  // The load of .b goes up to that of .a, past a store of other bytes; the store of .b, which it
  // reads, must then not go down to that of .a, though it passed only other bytes as they were.
  Shapes k("cross");
  const MemoryId x = k.span_parameter("x", kFour, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId value = k.constant(Scalar::F32, 0);
  k.store(x, i, value, 1);
  const ValueId a = k.load(x, i, 0);
  k.store(x, i, value, 0);
  const ValueId b = k.load(x, i, 1);
  k.store(x, i, k.op(Op::Add, {a, b}), 3);
  const ir::Kernel kernel = k.finish();
  const VectorAccesses all = find_vector_accesses(kernel, kApart);
  ASSERT_EQ(all.accesses.size(), 1U);
  EXPECT_THAT(all.accesses[0].nodes, ElementsAre(a, b));
}

TEST(VectorAccess, SharedArraysNeedNoAlignmentOfSpans) {
  Shapes k("shared");
  const MemoryId tile = k.shared_array("tile", Element::scalar(Scalar::F32), 64);
  const MemoryId y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  const ValueId row = k.op(Op::Mul, {t, k.constant_i32(16)});
  ValueId sum = k.constant(Scalar::F32, 0);
  for (std::int32_t n = 0; n < 8; ++n) {
    sum = k.op(Op::Add, {sum, k.load(tile, k.op(Op::Add, {row, k.constant_i32(n)}))});
  }
  k.store(y, t, sum);
  const ir::Kernel kernel = k.finish();
  const VectorAccesses all = find_vector_accesses(kernel, kApart, {.spans = false});
  EXPECT_EQ(all.accesses.size(), 2U);
  EXPECT_FALSE(all.rests_on_alignment());
}

TEST(VectorAccess, WhatATargetDoesNotDoIsNotFound) {
  EXPECT_THAT(find_vector_accesses(copied(kFour), kApart, {.spans = false}).accesses, IsEmpty());
  const ir::Kernel mixed = copied(record({Scalar::F32, Scalar::I32}));
  EXPECT_THAT(find_vector_accesses(mixed, kApart, {.mixed = false}).accesses, IsEmpty());
  EXPECT_EQ(find_vector_accesses(mixed, kApart).accesses.size(), 2U);
}

/// Straight-line kernels that load and store at random elements and leaves near each other, with
/// what they work on given and with accesses moved to their leaders.
class RandomAccesses {
 public:
  explicit RandomAccesses(unsigned seed) : random_(seed) {}

  ir::Kernel kernel() {
    Shapes k("random");
    const std::array memories{k.span_parameter("x", Element::scalar(Scalar::I32), false),
                              k.span_parameter("y", Element::scalar(Scalar::I32), false)};
    const ValueId thread = k.position(Op::GlobalIdx, 0);
    const ValueId base = k.op(Op::Mul, {thread, k.constant_i32(kStride)});
    const ValueId other = k.op(Op::Add, {base, k.cast(Scalar::I32, k.op(Op::Gt, {base, thread}))});
    std::vector<ValueId> indexes;
    for (std::int32_t n = 0; n < 8; ++n) {
      indexes.push_back(k.op(Op::Add, {base, k.constant_i32(n)}));
    }
    indexes.push_back(other);
    ValueId sum = thread;
    for (int step = 0; step < 24; ++step) {
      const MemoryId memory = memories[random_() % 2];
      // Mostly onwards, as programs go.
      const ValueId index = random_() % 8 == 0 ? other : indexes[random_() % 4 + random_() % 5];
      if (random_() % 2 == 0) {
        sum = k.op(Op::Add, {k.op(Op::Mul, {sum, k.constant_i32(3)}), k.load(memory, index)});
      } else {
        k.store(memory, index, sum);
      }
    }
    k.store(memories[0], indexes[0], sum);
    return k.finish();
  }

  static constexpr std::int32_t kStride = 16;

 private:
  std::mt19937 random_;
};

/// The same kernel in the order in which a target does its accesses.
ir::Kernel moved(ir::Kernel kernel, const VectorAccesses& all) {
  std::vector<ValueId> order;
  for (const ValueId node : kernel.block(kernel.body).nodes) {
    const VectorAccess* access = all.of(node);
    if (!access) {
      order.push_back(node);
    } else if (access->leader == node) {
      order.insert(order.end(), access->nodes.begin(), access->nodes.end());
    }
  }
  kernel.blocks[kernel.body].nodes = order;
  return kernel;
}

TEST(VectorAccess, MovedAccessesLeaveWhatAKernelDoes) {
  using backends::interpreter::HostArgument;
  constexpr std::uint32_t kThreads = 3;
  std::size_t apart = 0;
  std::size_t overlapping = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const ir::Kernel kernel = RandomAccesses(seed).kernel();
    for (const bool overlaps : {false, true}) {
      const VectorAccesses all = find_vector_accesses(kernel, overlaps ? kMayAlias : kApart);
      (overlaps ? overlapping : apart) += all.accesses.size();
      const auto run = [&](const ir::Kernel& what) {
        std::vector<std::int32_t> data(2 * RandomAccesses::kStride * kThreads + 4);
        std::iota(data.begin(), data.end(), 1);
        const std::span<std::int32_t> whole(data);
        const std::span<std::int32_t> y = whole.subspan(overlaps ? 2 : data.size() / 2);
        backends::interpreter::run(what, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                   std::vector{HostArgument::of(whole), HostArgument::of(y)});
        return data;
      };
      ASSERT_EQ(run(moved(kernel, all)), run(kernel)) << "seed " << seed << ", " << overlaps;
    }
  }
  EXPECT_GT(apart, 400U);
  EXPECT_GT(overlapping, 100U);
}

}  // namespace
}  // namespace salvo::passes
