// The proof that a producer stores each element once and all that its consumer writes: closed
// forms, enumeration, and that the two never contradict each other.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "fusion/epilogue_proof.hpp"
#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::fusion {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using Grid = std::array<std::uint32_t, 3>;

/// A kernel with a vector `v` and two i32 parameters, n and m.
struct Storing : test::Shapes {
  Storing() : test::Shapes("k") {}
  ir::MemoryId v = span_parameter("v", Element::scalar(Scalar::F32), false);
  std::uint32_t n = scalar_parameter("n", Scalar::I32);
  std::uint32_t m = scalar_parameter("m", Scalar::I32);

  ValueId gid(std::uint8_t axis = 0) { return position(Op::GlobalIdx, axis); }
  ValueId add(ValueId a, ValueId b) { return op(Op::Add, {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return op(Op::Mul, {a, b}); }
  ValueId less(ValueId a, ValueId b) { return op(Op::Lt, {a, b}); }
  void put(ValueId index) { store(v, index, constant(Scalar::F32, 0)); }
  void put_if(ValueId condition, ValueId index) {
    if_else(condition, [&] { put(index); });
  }
};
using Build = std::function<void(Storing&)>;

struct Side {
  Build build;
  Grid grid{1, 1, 1};
  Grid block{1, 1, 1};
  std::int32_t n = 0;
  std::int32_t m = 0;
};

struct Answers {
  Proof closed;
  Proof enumerated;
};

/// `length` elements; the consumer's body as its producer's.
Answers prove(const Side& producer, const Side& consumer, std::uint64_t length) {
  const auto kernel = [](const Build& build) {
    Storing s;
    build(s);
    EXPECT_TRUE(ir::verify(s.kernel()).empty()) << ir::print(s.kernel());
    return s.finish();
  };
  const ir::Kernel p = kernel(producer.build), c = kernel(consumer.build);
  const auto p_sites = find_store_sites(p, {true}), c_sites = find_store_sites(c, {true});
  const auto values = [&](const Side& side) {
    return std::vector<std::uint64_t>{length, static_cast<std::uint32_t>(side.n),
                                      static_cast<std::uint32_t>(side.m)};
  };
  const auto p_values = values(producer), c_values = values(consumer);
  const LaunchedSites from{p, p_sites, {producer.grid, producer.block, p_values}};
  const LaunchedSites to{c, c_sites, {consumer.grid, consumer.block, c_values}};
  return {prove_closed(from, to, length), prove_by_enumeration(from, to, length)};
}

const Build kGuarded = [](Storing& s) { s.put_if(s.less(s.gid(), s.param(s.n)), s.gid()); };
const Build kUnguarded = [](Storing& s) { s.put(s.gid()); };

Side guarded(std::uint32_t blocks, std::int32_t n) {
  return {kGuarded, {blocks, 1, 1}, {64, 1, 1}, n};
}

void expect_both(const Answers& answers, Proof proof) {
  EXPECT_EQ(answers.closed, proof);
  EXPECT_EQ(answers.enumerated, proof);
}

TEST(FusionProof, GuardsOnOneDimension) {
  expect_both(prove(guarded(16, 1000), guarded(16, 1000), 1000), Proof::proved);
  expect_both(prove(guarded(16, 1000), guarded(16, 999), 1000), Proof::proved);
  expect_both(prove(guarded(16, 999), guarded(16, 1000), 1000), Proof::refuted);
  expect_both(prove(guarded(15, 1000), guarded(16, 1000), 1000),
              Proof::refuted);  // too few threads
  expect_both(prove(guarded(16, 1001), guarded(16, 1000), 1000), Proof::refuted);  // out of bounds
  expect_both(prove(guarded(16, 0), guarded(16, 0), 1000), Proof::proved);         // nothing at all
  expect_both(prove(guarded(16, 1000), {kUnguarded, {15, 1, 1}, {64, 1, 1}}, 1000), Proof::proved);
  expect_both(prove(guarded(16, 1000), {kUnguarded, {16, 1, 1}, {64, 1, 1}}, 1000), Proof::refuted);
}

TEST(FusionProof, StridesReversalAndOffsets) {
  const auto affine = [](std::int32_t factor) {
    return Build([factor](Storing& s) {
      s.put_if(s.less(s.gid(), s.param(s.n)),
               s.add(s.mul(s.gid(), s.constant_i32(factor)), s.param(s.m)));
    });
  };
  const auto side = [&](std::int32_t factor, std::int32_t n, std::int32_t m) {
    return Side{affine(factor), {16, 1, 1}, {64, 1, 1}, n, m};
  };
  expect_both(prove(side(-1, 1000, 999), guarded(16, 1000), 1000), Proof::proved);
  expect_both(prove(side(1, 900, 100), guarded(16, 1000), 1000), Proof::refuted);
  expect_both(prove(side(0, 1000, 5), guarded(1, 1), 1000).enumerated == Proof::refuted
                  ? Answers{Proof::refuted, Proof::refuted}
                  : Answers{Proof::proved, Proof::proved},
              Proof::refuted);
  EXPECT_EQ(prove(side(2, 500, 0), guarded(16, 1000), 1000).enumerated, Proof::refuted);
  EXPECT_NE(prove(side(2, 500, 0), guarded(16, 1000), 1000).closed, Proof::proved);
}

TEST(FusionProof, TwoDimensionsWithGuardsOnBoth) {
  const Build matrix = [](Storing& s) {
    const ValueId inside =
        s.op(Op::And, {s.less(s.gid(0), s.param(s.n)), s.less(s.gid(1), s.param(s.m))});
    s.put_if(inside, s.add(s.mul(s.gid(1), s.param(s.n)), s.gid(0)));
  };
  const Side producer{matrix, {4, 3, 1}, {16, 8, 1}, 50, 21};
  expect_both(prove(producer, guarded(17, 1050), 1050), Proof::proved);
  expect_both(prove(producer, guarded(17, 1051), 1051), Proof::refuted);
  // Nested guards are the same.
  const Build nested = [](Storing& s) {
    s.if_else(s.less(s.gid(0), s.param(s.n)), [&] {
      s.put_if(s.less(s.gid(1), s.param(s.m)), s.add(s.mul(s.gid(1), s.param(s.n)), s.gid(0)));
    });
  };
  expect_both(prove({nested, {4, 3, 1}, {16, 8, 1}, 50, 21}, guarded(17, 1050), 1050),
              Proof::proved);
  // Without the guard on x, rows run into each other.
  const Build open = [](Storing& s) {
    s.put_if(s.less(s.gid(1), s.param(s.m)), s.add(s.mul(s.gid(1), s.param(s.n)), s.gid(0)));
  };
  EXPECT_EQ(prove({open, {4, 3, 1}, {16, 8, 1}, 50, 20}, guarded(16, 1000), 1050).enumerated,
            Proof::refuted);
  EXPECT_NE(prove({open, {4, 3, 1}, {16, 8, 1}, 50, 20}, guarded(16, 1000), 1050).closed,
            Proof::proved);
}

TEST(FusionProof, TilesOfBlocksAndThreads) {
  // A 64 x 64 matrix in tiles of 16 x 16, positions written out.
  const Build tiled = [](Storing& s) {
    const ValueId tile = s.constant_i32(16);
    const ValueId row =
        s.add(s.mul(s.position(Op::BlockIdx, 1), tile), s.position(Op::ThreadIdx, 1));
    const ValueId column =
        s.add(s.mul(s.position(Op::BlockIdx, 0), tile), s.position(Op::ThreadIdx, 0));
    s.put(s.add(s.mul(row, s.param(s.n)), column));
  };
  expect_both(prove({tiled, {4, 4, 1}, {16, 16, 1}, 64}, guarded(64, 4096), 4096), Proof::proved);
  expect_both(prove({tiled, {4, 3, 1}, {16, 16, 1}, 64}, guarded(64, 4096), 4096), Proof::refuted);
}

TEST(FusionProof, OneThreadOfEachBlockStores) {
  const Build first = [](Storing& s) {
    const ValueId is_first = s.op(Op::Eq, {s.position(Op::ThreadIdx, 0), s.constant_i32(0)});
    s.put_if(is_first, s.position(Op::BlockIdx, 0));
  };
  expect_both(prove({first, {100, 1, 1}, {64, 1, 1}}, guarded(2, 100), 100), Proof::proved);
  expect_both(prove({first, {99, 1, 1}, {64, 1, 1}}, guarded(2, 100), 100), Proof::refuted);
  const Build all = [](Storing& s) { s.put(s.position(Op::BlockIdx, 0)); };
  EXPECT_EQ(prove({all, {100, 1, 1}, {64, 1, 1}}, guarded(2, 100), 100).enumerated, Proof::refuted);
  EXPECT_NE(prove({all, {100, 1, 1}, {64, 1, 1}}, guarded(2, 100), 100).closed, Proof::proved);
}

TEST(FusionProof, LoopsOverAStridedGridAndOverElementsOfAThread) {
  const Build strided = [](Storing& s) {
    const ValueId step = s.mul(s.position(Op::GridDim, 0), s.position(Op::BlockDim, 0));
    s.for_up(s.gid(), s.param(s.n), step, [&](ValueId i) { s.put(i); });
  };
  expect_both(prove({strided, {2, 1, 1}, {64, 1, 1}, 1000}, guarded(16, 1000), 1000),
              Proof::proved);
  expect_both(prove({strided, {2, 1, 1}, {64, 1, 1}, 999}, guarded(16, 1000), 1000),
              Proof::refuted);
  const Build four_each = [](Storing& s) {
    s.for_up(s.constant_i32(0), s.constant_i32(4), s.constant_i32(1), [&](ValueId k) {
      const ValueId i = s.add(s.mul(s.gid(), s.constant_i32(4)), k);
      s.put_if(s.less(i, s.param(s.n)), i);
    });
  };
  expect_both(prove({four_each, {4, 1, 1}, {64, 1, 1}, 1000}, guarded(16, 1000), 1000),
              Proof::proved);
}

TEST(FusionProof, SeveralStores) {
  const Build halves = [](Storing& s) {
    s.if_else(s.less(s.gid(), s.param(s.n)), [&] {
      s.put(s.gid());
      s.put(s.add(s.gid(), s.param(s.m)));
    });
  };
  expect_both(prove({halves, {8, 1, 1}, {64, 1, 1}, 500, 500}, guarded(16, 1000), 1000),
              Proof::proved);
  expect_both(prove({halves, {8, 1, 1}, {64, 1, 1}, 500, 499}, guarded(16, 999), 1000),
              Proof::refuted);
}

TEST(FusionProof, ElseBranchesAndConditionsOfTheLaunchAlone) {
  const Build other_side = [](Storing& s) {
    s.if_else(s.op(Op::Ge, {s.gid(), s.param(s.n)}), nullptr, [&] { s.put(s.gid()); });
  };
  expect_both(prove({other_side, {16, 1, 1}, {64, 1, 1}, 1000}, guarded(16, 1000), 1000),
              Proof::proved);
  const Build if_wanted = [](Storing& s) {
    s.if_else(s.less(s.param(s.m), s.constant_i32(3)), [&] { kGuarded(s); });
  };
  expect_both(prove({if_wanted, {16, 1, 1}, {64, 1, 1}, 1000, 2}, guarded(16, 1000), 1000),
              Proof::proved);
  expect_both(prove({if_wanted, {16, 1, 1}, {64, 1, 1}, 1000, 3}, guarded(16, 1000), 1000),
              Proof::refuted);
}

TEST(FusionProof, W42_ExactlyTwoToThe24ThreadsAreEnumeratedAndOneBlockMoreIsNot) {
  const Build swapped = [](Storing& s) {  // no closed form
    s.put(s.op(Op::Xor, {s.gid(), s.constant_i32(1)}));
  };
  constexpr std::uint32_t kBlocks = 1U << 14;
  const auto at = [&](std::uint32_t blocks) {
    return prove({swapped, {blocks, 1, 1}, {1024, 1, 1}}, guarded(1, 64),
                 std::uint64_t{blocks} * 1024);
  };
  EXPECT_EQ(at(kBlocks).closed, Proof::unknown);
  EXPECT_EQ(at(kBlocks).enumerated, Proof::proved);
  EXPECT_EQ(at(kBlocks + 1).enumerated, Proof::unknown);
}

TEST(FusionProof, W43_AffineIndexesNeedNoEnumerationAtAnySize) {
  const Side producer{kGuarded, {1U << 21, 1, 1}, {1024, 1, 1}, 2'000'000'000};
  const Side consumer{kGuarded, {1U << 21, 1, 1}, {1024, 1, 1}, 2'000'000'000};
  EXPECT_EQ(prove(producer, consumer, 2'000'000'000).closed, Proof::proved);
}

TEST(FusionProof, IndexesThatWrapHaveNoClosedForm) {
  const Build wrapping = [](Storing& s) {
    const ValueId far = s.add(s.gid(), s.constant_i32(2'147'483'000));
    s.put(s.op(Op::Sub, {far, s.constant_i32(2'147'483'000)}));
  };
  const Answers answers = prove({wrapping, {16, 1, 1}, {64, 1, 1}}, guarded(16, 1000), 1024);
  EXPECT_EQ(answers.closed, Proof::unknown);
  EXPECT_EQ(answers.enumerated, Proof::proved);
}

/// Random indexes, guards and loops over small launches.
Side random_side(std::mt19937& random, bool producer) {
  const auto pick = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  Side side;
  const bool flat = !producer || pick(2) == 0;
  side.grid = {static_cast<std::uint32_t>(1 + pick(4)),
               flat ? 1U : static_cast<std::uint32_t>(1 + pick(3)), 1};
  side.block = {static_cast<std::uint32_t>(1 + pick(6)),
                flat ? 1U : static_cast<std::uint32_t>(1 + pick(4)), 1};
  side.n = pick(24);
  side.m = pick(12);
  const unsigned seed = static_cast<unsigned>(random());
  side.build = [seed, producer, flat](Storing& s) {
    std::mt19937 own(seed);
    const auto choose = [&](int below) {
      return static_cast<int>(own() % static_cast<unsigned>(below));
    };
    const auto number = [&]() -> ValueId {
      const int kind = choose(4);
      if (kind == 0) return s.param(s.n);
      if (kind == 1) return s.param(s.m);
      return s.constant_i32(choose(8) - 1);
    };
    const auto place = [&]() -> ValueId {
      switch (choose(flat ? 4 : 6)) {
        case 0:
          return s.position(Op::ThreadIdx, 0);
        case 1:
          return s.position(Op::BlockIdx, 0);
        case 4:
          return s.gid(1);
        case 5:
          return s.add(
              s.mul(s.gid(1), s.mul(s.position(Op::GridDim, 0), s.position(Op::BlockDim, 0))),
              s.gid());
        default:
          return s.gid();
      }
    };
    const auto guard = [&] {
      constexpr Op kOps[] = {Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Eq, Op::Lt, Op::Lt};
      return s.op(kOps[choose(7)], {place(), number()});
    };
    const auto stores = [&](ValueId inner) {
      ValueId index = s.gid();
      if (producer && choose(3) != 0) {
        index = choose(2) ? place() : s.add(s.mul(place(), number()), place());
        if (choose(3) == 0) index = s.add(index, number());
        if (choose(5) == 0) index = s.op(Op::Sub, {number(), index});
      }
      if (inner != ir::kNoValue) index = s.add(s.mul(index, s.constant_i32(3)), inner);
      s.put(index);
    };
    const auto body = [&] {
      if (producer && choose(4) == 0) {
        s.for_up(s.constant_i32(0), s.constant_i32(3), s.constant_i32(1 + choose(2)), stores);
      } else {
        stores(ir::kNoValue);
      }
    };
    const int guards = choose(3);
    if (guards == 0) {
      body();
    } else if (guards == 1) {
      s.if_else(guard(), body);
    } else {
      const ValueId both = s.op(choose(3) ? Op::And : Op::Or, {guard(), guard()});
      if (choose(4) == 0) {
        s.if_else(both, nullptr, body);
      } else {
        s.if_else(both, body);
      }
    }
  };
  return side;
}

TEST(FusionProof, ClosedFormsNeverContradictEnumeration) {
  std::mt19937 random(1);
  int proved = 0, refuted = 0, open = 0, enumerated = 0;
  for (int round = 0; round < 20'000; ++round) {
    const Side producer = random_side(random, true), consumer = random_side(random, false);
    const Answers answers = prove(producer, consumer, 40);
    ASSERT_NE(answers.enumerated, Proof::unknown) << "round " << round;
    enumerated += answers.enumerated == Proof::proved ? 1 : 0;
    if (answers.closed == Proof::unknown) {
      ++open;
      continue;
    }
    ASSERT_EQ(answers.closed, answers.enumerated) << "round " << round;
    (answers.closed == Proof::proved ? proved : refuted) += 1;
  }
  // All three answers occur, and closed forms find most of what there is to prove.
  EXPECT_GT(proved, 500);
  EXPECT_GT(refuted, 500);
  EXPECT_GT(open, 100);
  EXPECT_GT(proved * 10, enumerated * 6);
}

}  // namespace
}  // namespace salvo::fusion
