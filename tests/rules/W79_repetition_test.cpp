// W79: a window that repeats an earlier one is held as that one was, and only then.
// SPDX-License-Identifier: MIT
#include <functional>
#include <optional>
#include <thread>
#include <tuple>

#include "rules/four_vectors_fixture.hpp"

namespace salvo::tests {
namespace {

using Names = std::vector<std::string>;

class W79Repetition : public FourVectors {
 protected:
  void round(float factor) {
    for (const auto& launch : calls(factor)) launch();
    fake.window().flush();
  }
  /// What `program` leaves with the window off, from the same start.
  std::vector<std::vector<float>> expected(const std::function<void()>& program) {
    reset();
    fake.window().set_enabled(false);
    program();
    auto result = all();
    fake.window().set_enabled(true);
    reset();
    return result;
  }
  std::uint64_t repeated() { return fake.window().stats().repeated; }
};

TEST_F(W79Repetition, W79_AWindowThatCameTwiceIsHeldWithoutAnalysisTheThirdTime) {
  const auto program = [&] {
    for (int turn = 0; turn < 5; ++turn) round(0.25f * static_cast<float>(turn));
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  for (int turn = 0; turn < 5; ++turn) {
    fake.control->clear();
    const auto before = fake.window().stats();
    round(0.25f * static_cast<float>(turn));
    const auto after = fake.window().stats();
    // The first is new, the second is written down, the others repeat it.
    EXPECT_EQ(after.repeated - before.repeated, turn < 2 ? 0U : 5U) << turn;
    EXPECT_EQ(after.submitted - before.submitted, 5U);
    EXPECT_EQ(after.issued - before.issued, fake.control->count(Driver::launch));
    EXPECT_EQ(after.held, 0U);
  }
  EXPECT_EQ(all(), wanted);
}

TEST_F(W79Repetition, W79_ARepeatedWindowMakesTheSameDriverCallsAndCounts) {
  std::optional<Names> launched;
  std::optional<WindowStats> counted;
  for (int turn = 0; turn < 5; ++turn) {
    fake.control->clear();
    fake.window().reset_stats();
    round(1.0f);
    const auto stats = fake.window().stats();
    if (turn > 0) {
      EXPECT_EQ(fake.control->launched(), *launched);
      EXPECT_EQ(stats.refusals, counted->refusals);
      EXPECT_EQ(stats.fused_groups, counted->fused_groups);
      EXPECT_EQ(stats.epilogue_merges, counted->epilogue_merges);
    }
    launched = fake.control->launched();
    counted = stats;
  }
}

TEST_F(W79Repetition, W79_HeldLaunchesAreCountedOneByOne) {
  for (int turn = 0; turn < 3; ++turn) round(1.0f);
  std::uint64_t made = 0;
  for (const auto& launch : calls(1.0f)) {
    launch();
    EXPECT_EQ(fake.window().stats().held, ++made);
  }
}

/// A way in which a window can stop repeating, and the launch at which it does.
enum class Difference : std::uint8_t {
  left_out,
  other_kernel,
  fewer_threads,
  other_block,
  a_part,
  read_first,
  written_on_the_host,
  flushed,
  replaced,
  other_limits,
  paused,
  window_off_and_on,
  fused_cache_cleared,
  launch_cache_cleared,
  other_launch,
};
constexpr int kDifferences = 15;

class W79Differences : public W79Repetition,
                       public ::testing::WithParamInterface<std::tuple<int, std::size_t>> {
 protected:
  void differ(Difference how, std::size_t k) {
    switch (how) {
      case Difference::left_out:
        break;
      case Difference::other_kernel:
        device.launch(negate, over(kCount), v[1], v[3], kCount);
        break;
      case Difference::fewer_threads:
        calls(0.5f, grid(2).block(64))[k]();
        break;
      case Difference::other_block:
        calls(0.5f, grid(4).block(64))[k]();
        break;
      case Difference::a_part:
        device.launch(twice, over(100), v[k % 2].view(0, 100), v[3].view(50, 100), 100);
        break;
      case Difference::read_first:
        EXPECT_EQ(v[k % 4].read().size(), 256U);
        calls(0.5f)[k]();
        break;
      case Difference::written_on_the_host:
        v[k % 4].write()[k] = static_cast<float>(k) + 0.25f;
        calls(0.5f)[k]();
        break;
      case Difference::flushed:
        fake.window().flush();
        break;
      case Difference::replaced:
        v[k % 4] = Vector<float>(kCount, 0.5f);
        break;
      case Difference::other_limits:
        fake.window().set_limits(3, 2);
        break;
      case Difference::paused: {
        const window::Pause pause;
        device.launch(negate, over(kCount), v[0], v[1], kCount);
        break;
      }
      case Difference::window_off_and_on:
        fake.window().set_enabled(false);
        device.launch(twice, over(kCount), v[3], v[1], kCount);
        fake.window().set_enabled(true);
        break;
      case Difference::fused_cache_cleared:
        fake.window().clear_fused_cache();
        break;
      case Difference::launch_cache_cleared:
        fake.runtime.clear_launch_cache();
        break;
      case Difference::other_launch:
        calls(3.0f)[(k + 2) % 5]();
        break;
    }
  }
};

TEST_P(W79Differences, W79_TheFirstDifferenceEndsARepetition) {
  const auto [how, k] = GetParam();
  std::uint64_t before = 0;
  const auto program = [&, how = how, k = k] {
    for (int turn = 0; turn < 8; ++turn) {
      const auto launches = calls(0.5f);
      for (std::size_t l = 0; l < launches.size(); ++l) {
        if (turn != 4 || l != k) {
          launches[l]();
          continue;
        }
        before = repeated();
        differ(static_cast<Difference>(how), k);
      }
      fake.window().flush();
    }
  };
  const auto wanted = expected(program);
  fake.window().set_limits(8, 8);
  fake.window().reset_stats();
  program();
  EXPECT_GE(before, 10U);  // two windows had repeated the one that was written down
  EXPECT_EQ(all(), wanted);
  EXPECT_EQ(fake.window().stats().failed, 0U);
}

INSTANTIATE_TEST_SUITE_P(EachAtEachLaunch, W79Differences,
                         ::testing::Combine(::testing::Range(0, kDifferences),
                                            ::testing::Range(std::size_t{0}, std::size_t{5})));

TEST_F(W79Repetition, W79_AWindowThatGoesOnEndsARepetition) {
  const auto program = [&] {
    for (int turn = 0; turn < 4; ++turn) round(0.5f);
    for (const auto& launch : calls(0.5f)) launch();
    device.launch(negate, over(kCount), v[0], v[1], kCount);
    fake.window().flush();
    round(0.5f);
  };
  const auto wanted = expected(program);
  program();
  EXPECT_EQ(all(), wanted);
}

TEST_F(W79Repetition, W79_WindowsMayTakeTurns) {
  const auto program = [&] {
    for (int turn = 0; turn < 12; ++turn) {
      round(0.5f);
      if (turn % 2 == 0) std::swap(v[0], v[1]);
    }
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  program();
  EXPECT_EQ(all(), wanted);
  // Two orders of v[0] and v[1]; the first two of each are new or written down.
  EXPECT_EQ(repeated(), 8U * 5U);
}

TEST_F(W79Repetition, W79_RoomIsMadeAsBefore) {
  fake.window().set_limits(2, 2);
  const auto program = [&] {
    for (int turn = 0; turn < 6; ++turn) {
      for (int k = 0; k < 4; ++k) {
        for (const auto& launch : calls(0.5f)) launch();
      }
      fake.window().flush();
    }
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  program();
  EXPECT_EQ(all(), wanted);
  EXPECT_EQ(repeated(), 4U * 20U);
}

TEST_F(W79Repetition, W79_AProgramThatNeverObservesRepeatsToo) {
  fake.window().set_limits(2, 2);
  const auto program = [&] {
    for (int turn = 0; turn < 60; ++turn) {
      for (const auto& launch : calls(0.5f)) launch();
    }
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  program();
  const WindowStats stats = fake.window().stats();
  EXPECT_EQ(stats.submitted, 300U);
  EXPECT_GT(stats.repeated, 200U);
  EXPECT_EQ(all(), wanted);
}

TEST_F(W79Repetition, W79_ALongWindowThatGoesOnAsItBeganBeginsAgain) {
  fake.window().set_limits(256, 256);
  const auto step = [&] {
    for (int k = 0; k < 13; ++k) {
      for (const auto& launch : calls(0.25f)) launch();
    }
  };
  const auto program = [&] {
    for (int turn = 0; turn < 3; ++turn) {
      step();
      fake.window().flush();
    }
    for (int turn = 0; turn < 4; ++turn) step();
    fake.window().flush();
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  program();
  EXPECT_EQ(repeated(), 5U * 65U);
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(all(), wanted);
}

TEST_F(W79Repetition, W79_AShortWindowThatGoesOnAsItBeganIsHeldFurther) {
  fake.window().set_limits(64, 8);
  for (int turn = 0; turn < 4; ++turn) round(0.5f);
  fake.control->clear();
  for (int k = 0; k < 2; ++k) {
    for (const auto& launch : calls(0.5f)) launch();
  }
  EXPECT_EQ(fake.control->count(Driver::launch), 0U);
  EXPECT_EQ(fake.window().stats().held, 10U);
}

TEST_F(W79Repetition, W79_AfterASwitchWindowsAreDecidedAnew) {
  const auto again = [&] {
    for (int turn = 0; turn < 4; ++turn) round(0.5f);
    fake.window().reset_stats();
  };
  again();
  fake.window().set_epilogue_enabled(false);
  round(0.5f);
  EXPECT_EQ(repeated(), 0U);
  EXPECT_EQ(fake.window().stats().epilogue_merges, 0U);
  again();
  fake.window().set_limits(8, 1);
  round(0.5f);
  EXPECT_EQ(repeated(), 0U);
  EXPECT_EQ(fake.window().stats().issued, 5U);
}

TEST_F(W79Repetition, W79_AScalarThatAProofRestsOnMustBeTheSame) {
  // The producer stores elements below its scalar; only with the whole vector does what reads all
  // of it merge.
  const auto first = scaled("first", 2.0f), second = scaled("second", 3.0f);
  const auto turn = [&](int stored) {
    device.launch(first, over(kCount), v[0], v[1], stored);
    device.launch(second, over(kCount), v[1], v[2], kCount);
    fake.window().flush();
  };
  for (int k = 0; k < 4; ++k) turn(kCount);
  EXPECT_EQ(fake.window().stats().epilogue_merges, 4U);
  EXPECT_EQ(repeated(), 4U);
  const auto wanted = expected([&] {
    for (int k = 0; k < 4; ++k) turn(kCount);
    turn(100);
  });
  for (int k = 0; k < 4; ++k) turn(kCount);
  fake.window().reset_stats();
  turn(100);
  EXPECT_EQ(fake.window().stats().epilogue_merges, 0U);
  EXPECT_EQ(all(), wanted);
}

TEST_F(W79Repetition, W79_LiveValuesAreReadAtEachLaunch) {
  float factor = 1.0f;
  const auto live = kernel("live", [&factor](Span<float> from, Span<float> to, Int n) {
    const auto f = salvo::live(factor);
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * f; });
  });
  for (int turn = 0; turn < 5; ++turn) {
    factor = static_cast<float>(turn);
    device.launch(live, over(kCount), v[0], v[1], kCount);
    factor = -1.0f;
    device.launch(twice, over(kCount), v[2], v[3], kCount);
    fake.window().flush();
    EXPECT_EQ(v[1][5], v[0][5] * static_cast<float>(turn));
  }
}

TEST_F(W79Repetition, W79_ALiveValueThatAProofRestsOnMustBeTheSame) {
  int stored = kCount;
  const auto first = kernel("first", [&stored](Span<float> from, Span<float> to) {
    const auto n = salvo::live(stored);
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * 2.0f; });
  });
  const auto second = scaled("second", 3.0f);
  const auto turn = [&](int n) {
    stored = n;
    device.launch(first, over(kCount), v[0], v[1]);
    device.launch(second, over(kCount), v[1], v[2], kCount);
    fake.window().flush();
  };
  const auto program = [&] {
    for (int k = 0; k < 4; ++k) turn(kCount);
    turn(100);
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  program();
  EXPECT_EQ(fake.window().stats().epilogue_merges, 4U);
  EXPECT_EQ(repeated(), 4U);
  EXPECT_EQ(all(), wanted);
}

TEST_F(W79Repetition, W79_WhatARepeatedWindowUsesMayGoAwayBeforeItIsIssued) {
  const auto program = [&] {
    std::optional<Scaled> own = accumulating("own");
    for (int turn = 0; turn < 5; ++turn) {
      device.launch(*own, over(kCount), v[0], v[1], 0.5f, kCount);
      device.launch(twice, over(kCount), v[1], v[2], kCount);
      if (turn == 4) {
        own.reset();
        v[0] = Vector<float>(kCount, 9.0f);
      }
      fake.window().flush();
    }
  };
  const auto wanted = expected(program);
  fake.window().reset_stats();
  program();
  EXPECT_EQ(all(), wanted);
  EXPECT_EQ(repeated(), 6U);
}

TEST_F(W79Repetition, W79_AKernelAtTheSameAddressIsAnother) {
  const auto turn = [&](const Floats& own) {
    device.launch(own, over(kCount), v[0], v[1], kCount);
    fake.window().flush();
  };
  std::optional<Floats> own = scaled("own", 2.0f);
  for (int k = 0; k < 4; ++k) turn(*own);
  EXPECT_EQ(repeated(), 2U);
  const void* const address = own->record().get();
  own.reset();
  std::vector<Floats> others;
  do {
    others.push_back(scaled("own", 3.0f));
  } while (others.back().record().get() != address && others.size() < 1000);
  if (others.back().record().get() != address) GTEST_SKIP() << "no kernel came to lie there";
  turn(others.back());
  EXPECT_EQ(repeated(), 2U);
  EXPECT_EQ(v[1][3], v[0][3] * 3.0f);
}

TEST_F(W79Repetition, W79_AVectorWhoseAddressWasHandedOutIsNotHeld) {
  for (int turn = 0; turn < 3; ++turn) round(1.0f);
  device_memory(device, v[3]);
  fake.window().reset_stats();
  round(1.0f);
  EXPECT_EQ(repeated(), 0U);
  EXPECT_EQ(fake.window().stats().refusals.at(Reason::escaped), 3U);
}

TEST_F(W79Repetition, W79_WhoListensHearsOfEachLaunch) {
  for (int turn = 0; turn < 3; ++turn) round(1.0f);
  fake.window().reset_stats();
  fake.window().keep_decisions(100);
  round(1.0f);
  EXPECT_EQ(repeated(), 0U);
  std::size_t held = 0;
  for (const Decision& decision : fake.window().decisions()) {
    held += decision.kind == Decision::Kind::window && decision.applied;
  }
  EXPECT_EQ(held, 5U);
}

TEST_F(W79Repetition, W79_WhatFailsInARepeatedWindowIsDecidedAnew) {
  fake.window().set_epilogue_enabled(false);
  const auto independent = [&] {
    device.launch(twice, over(kCount), v[0], v[1], kCount);
    device.launch(negate, over(kCount), v[0], v[2], kCount);
    fake.window().flush();
  };
  for (int turn = 0; turn < 4; ++turn) independent();
  EXPECT_EQ(repeated(), 4U);
  fake.window().reset_stats();
  fake.control->fail(Driver::launch, 1, "fused");
  independent();
  EXPECT_EQ(fake.window().stats().fallbacks, 1U);
  EXPECT_EQ(fake.window().stats().failed, 0U);
  EXPECT_EQ(v[1][5], v[0][5] * 2.0f);
  EXPECT_EQ(v[2][5], -v[0][5]);
  fake.window().reset_stats();
  independent();
  EXPECT_EQ(repeated(), 0U);
}

TEST_F(W79Repetition, W79_AFailureOfRoomMadeIsTheNextCalls) {
  fake.window().set_epilogue_enabled(false);
  fake.window().set_limits(1, 1);
  const auto turn = [&] {
    device.launch(twice, over(kCount), v[0], v[1], kCount);
    device.launch(negate, over(kCount), v[0], v[2], kCount);
    fake.window().flush();
  };
  for (int k = 0; k < 4; ++k) turn();
  fake.window().reset_stats();
  fake.control->fail(Driver::launch, 1, "twice");
  device.launch(twice, over(kCount), v[0], v[1], kCount);
  try {
    device.launch(negate, over(kCount), v[0], v[2], kCount);
    FAIL() << "the failed launch was not told";
  } catch (const Error& failure) {
    EXPECT_EQ(failure.details().kernel, "twice");
  }
  // The call that met it made no launch (W60).
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(fake.window().stats().submitted, 2U);
  EXPECT_EQ(fake.window().stats().failed, 2U);
  turn();
  EXPECT_EQ(v[1][5], v[0][5] * 2.0f);
}

TEST_F(W79Repetition, W79_ThreadsThatInterleaveLoseNothing) {
  const auto work = [&](std::size_t a, std::size_t b) {
    for (int turn = 0; turn < 200; ++turn) {
      device.launch(add, over(kCount), v[a], v[b], 0.5f, kCount);
      device.launch(twice, over(kCount), v[b], v[a], kCount);
      if (turn % 3 == 0) fake.window().flush();
    }
  };
  const auto wanted = expected([&] {
    work(0, 1);
    work(2, 3);
  });
  std::thread other(work, 2, 3);
  work(0, 1);
  other.join();
  EXPECT_EQ(all(), wanted);
  EXPECT_EQ(fake.window().stats().failed, 0U);
}

}  // namespace
}  // namespace salvo::tests
