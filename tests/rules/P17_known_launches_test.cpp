// P17: a launch that runs at once as one did before needs no checks and no binding, and only then.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <thread>
#include <tuple>

#include "api/access.hpp"
#include "rules/four_vectors_fixture.hpp"
#include "window/known_launches.hpp"

namespace salvo::tests {
namespace {

std::vector<std::string> told(const FakeControl& control) {
  std::vector<std::string> calls;
  for (const DriverCall& call : control.calls()) {
    if (call.what == Driver::allocate || call.what == Driver::release) continue;  // memory is kept
    // Queues are numbered on and on; code tells kernels apart that have one name.
    calls.push_back(fmt::format("{} {} on {} {} of {}, {} shared, {} bytes {}", call.kernel,
                                static_cast<int>(call.what), call.queue > 0 ? "its own" : "the",
                                call.shape.grid[0], call.shape.block[0],
                                call.shape.dynamic_shared_bytes, call.bytes, call.code));
  }
  return calls;
}

/// Launches on four vectors, with the window off.
class P17KnownLaunches : public FourVectors {
 protected:
  Vector<float> nothing;

  P17KnownLaunches() : FourVectors({.marks_aliases = true}) { fake.window().set_enabled(false); }

  /// Launches that needed no checks, so far.
  std::uint64_t again() {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < window::Counters::kReasons; ++i) {
      count += api::window_of(*device.state()).ran_again(i);
    }
    return count;
  }
};

TEST_F(P17KnownLaunches, P17_OtherScalarsAreTheSameLaunch) {
  std::vector<float> expected(kCount);
  v[1] = Vector<float>(kCount, 0.0f);
  for (int turn = 0; turn < 5; ++turn) {
    const float factor = 0.5f + static_cast<float>(turn);
    const int n = kCount - turn;
    device.launch(add, over(kCount), v[0], v[1], factor, n);
    for (int i = 0; i < n; ++i) {
      float& one = expected[static_cast<std::size_t>(i)];
      one = static_cast<float>(i % 7) * factor + one;
    }
    EXPECT_EQ(again(), static_cast<std::uint64_t>(turn));
  }
  EXPECT_TRUE(same_bits(values(v[1]), expected));
}

TEST_F(P17KnownLaunches, P17_TheyAreCountedAsAnyOther) {
  for (int turn = 0; turn < 3; ++turn) {
    for (const auto& launch : calls(0.5f)) launch();
  }
  EXPECT_EQ(again(), 10U);
  WindowStats stats = fake.window().stats();
  EXPECT_EQ(stats.submitted, 15U);
  EXPECT_EQ(stats.issued, 15U);
  EXPECT_EQ(stats.refusals, (std::map<Reason, std::uint64_t>{{Reason::window_off, 15}}));
  EXPECT_EQ(fake.control->count(Driver::launch), 15U);

  fake.window().reset_stats();
  EXPECT_EQ(fake.window().stats().submitted, 0U);
  EXPECT_TRUE(fake.window().stats().refusals.empty());
  for (const auto& launch : calls(0.25f)) launch();
  stats = fake.window().stats();
  EXPECT_EQ(stats.submitted, 5U);
  EXPECT_EQ(stats.issued, 5U);
  EXPECT_EQ(stats.refusals.at(Reason::window_off), 5U);
}

TEST_F(P17KnownLaunches, P17_LiveValuesAreReadAtEachLaunch) {
  float factor = 2.0f;
  const auto by_factor = kernel("live", [&](Span<float> from, Span<float> to, Int n) {
    const Float now = live(factor);
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * now; });
  });
  for (int turn = 0; turn < 3; ++turn) {
    factor = 2.0f + static_cast<float>(turn);
    device.launch(by_factor, over(kCount), v[0], v[1], kCount);
    EXPECT_EQ(v[1].read()[5], 5.0f * factor);
  }
  EXPECT_EQ(again(), 2U);
}

/// In what a launch can differ from the one before it, or what can happen between the two.
enum class Difference : std::uint8_t {
  other_kernel,
  other_mode,
  fewer_threads,
  other_block,
  shared_memory,
  a_part,
  another_part,
  shorter,
  in_place,
  empty,
  read_first,
  written_on_the_host,
  replaced_on_the_host,
  filled,
  replaced,
  kernel_replaced,
  launch_cache_cleared,
  address_handed_out,
  window_on_and_off,
  on_a_stream,
  host_moved,
  fails,
};
constexpr int kDifferences = 22;

class P17Differences : public P17KnownLaunches,
                       public ::testing::WithParamInterface<std::tuple<int, std::size_t>> {
 protected:
  void differ(Difference how, std::size_t k) {
    Vector<float>& one = v[k % 4];
    switch (how) {
      case Difference::other_kernel:
        device.launch(negate, over(kCount), v[1], v[2], kCount);
        break;
      case Difference::other_mode:
        device.launch(add.contraction(Contraction::off), over(kCount), v[0], v[1], 0.3f, kCount);
        break;
      case Difference::fewer_threads:
        calls(0.5f, over(kCount / 2))[k]();
        break;
      case Difference::other_block:
        calls(0.5f, grid(2).block(64))[k]();
        break;
      case Difference::shared_memory:
        calls(0.5f, over(kCount).shared(64))[k]();
        break;
      case Difference::a_part:
        device.launch(twice, over(100), v[1].view(0, 100), v[2].view(50, 100), 100);
        break;
      case Difference::another_part:
        for (const std::size_t first : {0U, 64U, 0U, 128U, 64U}) {
          device.launch(twice, over(64), v[1].view(first, 64), v[2].view(first, 64), 64);
        }
        break;
      case Difference::shorter:
        for (const std::size_t count : {64U, 32U, 64U}) {
          device.launch(twice, over(64), v[1].view(0, count), v[2].view(0, count),
                        static_cast<std::int32_t>(count));
        }
        break;
      case Difference::in_place:
        for (int turn = 0; turn < 2; ++turn) {
          device.launch(twice, over(kCount), one, one, kCount);
          device.launch(twice, over(100), one.view(0, 100), one.view(100, 100), 100);
        }
        break;
      case Difference::empty:
        device.launch(twice, over(kCount), v[1], v[2], kCount);
        device.launch(twice, over(kCount), nothing, v[2], 0);
        device.launch(twice, over(kCount), nothing, v[2], 0);
        device.launch(twice, over(0), v[1], v[2], 0);
        break;
      case Difference::read_first:
        EXPECT_EQ(one.read().size(), 256U);
        calls(0.5f)[k]();
        break;
      case Difference::written_on_the_host:
        one.write()[k] = static_cast<float>(k) + 0.25f;
        calls(0.5f)[k]();
        break;
      case Difference::replaced_on_the_host:
        std::ranges::fill(one.write(), 0.75f);
        calls(0.5f)[k]();
        break;
      case Difference::filled:
        for (int turn = 0; turn < 3; ++turn) {
          std::ranges::fill(one.write(), 0.25f);
          fill(device, one, static_cast<float>(turn));
        }
        calls(0.5f)[k]();
        break;
      case Difference::replaced:
        one = Vector<float>();
        one = Vector<float>(kCount, 0.5f);
        calls(0.5f)[k]();
        break;
      case Difference::kernel_replaced:
        add = accumulating("add");
        twice = scaled("twice", 3.0f);
        calls(0.5f)[k]();
        break;
      case Difference::launch_cache_cleared:
        fake.runtime.clear_launch_cache();
        calls(0.5f)[k]();
        break;
      case Difference::address_handed_out:
        device_memory(device, one);
        calls(0.5f)[k]();
        break;
      case Difference::window_on_and_off:
        fake.window().set_enabled(true);
        calls(0.5f)[k]();
        calls(0.5f)[k]();
        fake.window().set_enabled(false);
        break;
      case Difference::on_a_stream: {
        Stream stream(device);
        stream.launch(twice, over(kCount), v[1], v[2], kCount);
        stream.launch(twice, over(kCount), v[1], v[2], kCount);
        stream.synchronize();
        break;
      }
      case Difference::host_moved:
        v.push_back(std::move(one));
        v[k % 4] = std::move(v.back());
        v.pop_back();
        calls(0.5f)[k]();
        break;
      case Difference::fails:
        fake.control->fail(Driver::launch);
        try {
          calls(0.5f)[k]();
          ADD_FAILURE() << "it did not fail";
        } catch (const Error& failure) {
          failures.push_back(failure.what());
        }
        break;
    }
  }
  std::vector<std::string> failures;
};

TEST_P(P17Differences, P17_ALaunchThatIsNotTheSameRunsAsItWouldAlone) {
  const auto [how, k] = GetParam();
  const auto program = [&, how = how, k = k] {
    for (int turn = 0; turn < 6; ++turn) {
      const auto launches = calls(0.5f);
      for (std::size_t l = 0; l < launches.size(); ++l) {
        launches[l]();
        if (turn == 3 && l == k) differ(static_cast<Difference>(how), k);
      }
    }
  };
  struct Outcome {
    std::vector<std::vector<float>> bytes;
    std::vector<std::string> calls, failures;
    std::map<Reason, std::uint64_t> refusals;
    std::uint64_t submitted, issued, failed;
    bool operator==(const Outcome&) const = default;
  };
  const auto outcome = [&](bool checked) {
    // Who wants decisions explained has every launch checked.
    fake.window().keep_decisions(checked ? 1 : 0);
    reset();
    add = accumulating("add");
    twice = scaled("twice", 2.0f);
    fake.runtime.clear_launch_cache();
    fake.control->clear();
    fake.window().reset_stats();
    failures.clear();
    program();
    Outcome one;
    one.bytes = all();
    one.calls = told(*fake.control);
    one.failures = failures;
    const WindowStats stats = fake.window().stats();
    one.refusals = stats.refusals;
    one.submitted = stats.submitted;
    one.issued = stats.issued;
    one.failed = stats.failed;
    return one;
  };
  const Outcome wanted = outcome(true);
  EXPECT_EQ(again(), 0U);
  const Outcome found = outcome(false);
  EXPECT_GE(again(), 15U);
  EXPECT_EQ(found.bytes, wanted.bytes);
  EXPECT_EQ(found.calls, wanted.calls);
  EXPECT_EQ(found.failures, wanted.failures);
  EXPECT_EQ(found.refusals, wanted.refusals);
  EXPECT_EQ(found.submitted, wanted.submitted);
  EXPECT_EQ(found.issued, wanted.issued);
  EXPECT_EQ(found.failed, wanted.failed);
}

INSTANTIATE_TEST_SUITE_P(EachAtEachLaunch, P17Differences,
                         ::testing::Combine(::testing::Range(0, kDifferences),
                                            ::testing::Range(std::size_t{0}, std::size_t{5})));

TEST_F(P17KnownLaunches, P17_ManyLaunchesTakeEachOthersPlaces) {
  // More than are remembered, and each of them twice.
  std::vector<Vector<float>> many;
  for (int k = 0; k < 1500; ++k) many.emplace_back(std::size_t{4}, static_cast<float>(k));
  for (int turn = 0; turn < 2; ++turn) {
    for (auto& one : many) {
      device.launch(twice, over(4), one, one, 4);
      device.launch(twice, over(4), one, one, 4);
    }
  }
  EXPECT_GE(again(), 3000U);  // each launch that comes right after another like it
  for (std::size_t k = 0; k < many.size(); ++k) {
    EXPECT_EQ(many[k].read()[3], 16.0f * static_cast<float>(k));
  }
}

TEST_F(P17KnownLaunches, P17_WhatHasTheAddressOfWhatIsGoneIsNotTakenForIt) {
  // As it is remembered of `twice` on v[0] and v[1]; then with one thing another than the call's.
  device.launch(twice, over(kCount), v[0], v[1], kCount);
  const std::array<detail::CallArgument, 3> call{v[0].argument(), v[1].argument(), {}};
  const auto remembered = [&] {
    window::BoundLaunch launch;
    launch.arguments.resize(call.size());
    for (std::uint32_t p = 0; p < 2; ++p) {
      window::BoundLaunch::Span& span = launch.spans.emplace_back();
      span.parameter = p;
      span.storage = call[p].storage;
      span.length = kCount;
      span.copy = span.storage->copy_on(*device.state());
      span.copy_serial = span.copy->serial;
    }
    launch.kernel_serial = twice.record()->serial;
    launch.generation = device.state()->generation();
    launch.dims = over(kCount);
    return launch;
  };
  const auto takes = [&](window::BoundLaunch launch) {
    return launch.take(*twice.record(), over(kCount), call, *device.state());
  };
  EXPECT_TRUE(takes(remembered()));
  const auto changed = [&](auto&& change) {
    window::BoundLaunch launch = remembered();
    change(launch);
    return launch;
  };
  EXPECT_FALSE(takes(changed([](auto& launch) { ++launch.kernel_serial; })));
  EXPECT_FALSE(takes(changed([](auto& launch) { ++launch.generation; })));
  EXPECT_FALSE(takes(changed([](auto& launch) { launch.arguments.pop_back(); })));
  EXPECT_FALSE(takes(changed([](auto& launch) { ++launch.spans[1].copy_serial; })));
  EXPECT_FALSE(takes(changed([](auto& launch) { launch.spans[0].byte_offset = 4; })));
  EXPECT_FALSE(takes(changed([](auto& launch) { launch.spans[0].overwritten = true; })));
  EXPECT_FALSE(takes(changed([](auto& launch) { launch.spans[0].storage = nullptr; })));
  EXPECT_FALSE(takes(changed([](auto& launch) { launch.spans[0].copy = launch.spans[1].copy; })));
}

TEST_F(P17KnownLaunches, P17_KernelsComeAndGo) {
  for (int turn = 0; turn < 20; ++turn) {
    const float factor = static_cast<float>(turn);
    const Floats scale = scaled("scale", factor);
    for (int k = 0; k < 2; ++k) device.launch(scale, over(kCount), v[0], v[1], kCount);
    EXPECT_EQ(v[1].read()[5], factor * 5.0f);
  }
  EXPECT_EQ(again(), 20U);
}

TEST_F(P17KnownLaunches, P17_AKernelSeesTheLengthOfEachLaunch) {
  const auto sizes = kernel("sizes", [](Span<const float> from, Span<std::int64_t> to) {
    if_(global_thread_id() == 0, [&] { to[0] = from.size(); });
  });
  Vector<std::int64_t> size(1);
  for (const std::size_t length : {200U, 100U, 100U, 200U}) {
    device.launch(sizes, over(1), v[0].view(0, length), size);
    EXPECT_EQ(size.read()[0], static_cast<std::int64_t>(length));
  }
}

TEST_F(P17KnownLaunches, P17_LaunchesWithOneKeyAreToldApart) {
  const auto key = [&](const Floats& kernel, const Dims& dims, const VectorView<float>& from) {
    const std::array<detail::CallArgument, 3> arguments{
        detail::CallArgument{from.argument()}, detail::CallArgument{v[1].argument()}, {}};
    return window::KnownLaunches::key_of(*kernel.record(), dims, arguments);
  };
  // Two kernels.
  const std::uint64_t apart = negate.record()->serial - twice.record()->serial;
  const Dims more = over(kCount + static_cast<std::int64_t>(apart)), fewer = over(kCount);
  ASSERT_EQ(key(twice, more, v[0]), key(negate, fewer, v[0]));
  device.launch(twice, more, v[0], v[1], kCount);
  device.launch(negate, fewer, v[0], v[1], kCount);
  EXPECT_EQ(v[1].read()[5], -5.0f);

  // Two vectors: a part of one, and the beginning of another.
  std::vector<Vector<float>> many;
  for (int k = 0; k < 8; ++k) many.emplace_back(std::size_t{100'000}, static_cast<float>(k));
  const auto address = [](const Vector<float>& vector) {
    return reinterpret_cast<std::uintptr_t>(vector.argument().storage);
  };
  std::ranges::sort(many, {}, address);
  int met = 0;
  for (std::size_t k = 0; k < many.size(); ++k) {
    for (std::size_t below = 0; below < k; ++below) {
      const std::uintptr_t bytes = address(many[k]) - address(many[below]);
      if (bytes % sizeof(float) != 0 || bytes / sizeof(float) > 90'000) continue;
      const auto part = many[below].view(bytes / sizeof(float), kCount);
      const auto beginning = many[k].view(0, kCount);
      ASSERT_EQ(key(twice, fewer, part), key(twice, fewer, beginning));
      device.launch(twice, fewer, part, v[1], kCount);
      EXPECT_EQ(v[1].read()[5], 2.0f * many[below].read()[0]);
      device.launch(twice, fewer, beginning, v[1], kCount);
      EXPECT_EQ(v[1].read()[5], 2.0f * many[k].read()[0]);
      ++met;
    }
  }
  if (met == 0) GTEST_SKIP() << "no two vectors lie near enough";
}

TEST_F(P17KnownLaunches, P17_WhatIsHeldComesFirst) {
  fake.window().set_enabled(true);
  Stream stream(device);
  for (int turn = 0; turn < 2; ++turn) stream.launch(twice, over(kCount), v[0], v[1], kCount);
  EXPECT_EQ(again(), 1U);
  device.launch(negate, over(kCount), v[2], v[3], kCount);
  EXPECT_EQ(fake.window().stats().held, 1U);
  stream.launch(twice, over(kCount), v[0], v[1], kCount);
  EXPECT_EQ(again(), 2U);
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(fake.control->launched(),
            (std::vector<std::string>{"twice", "twice", "negate", "twice"}));
  EXPECT_EQ(fake.window().stats().refusals.at(Reason::on_stream), 3U);
}

TEST_F(P17KnownLaunches, P17_ALossIsLookedForOnceThereIsOne) {
  for (int turn = 0; turn < 2; ++turn) {
    device.launch(twice, over(kCount), v[0], v[1], kCount);
    device.launch(negate, over(kCount), v[1], v[2], kCount);
  }
  EXPECT_EQ(again(), 2U);
  fake.control->fail_on_device("twice");
  device.launch(twice, over(kCount), v[0], v[1], kCount);
  EXPECT_THROW(device.synchronize(), Error);
  EXPECT_THROW(device.launch(negate, over(kCount), v[1], v[2], kCount), Error);
  EXPECT_EQ(again(), 3U);
}

TEST_F(P17KnownLaunches, P17_ThreadsShareWhatIsKnown) {
  constexpr int kThreads = 4, kTurns = 300;
  std::vector<Vector<float>> own;
  for (int t = 0; t < kThreads; ++t) own.emplace_back(std::size_t{kCount}, 0.0f);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < kTurns; ++turn) {
        device.launch(add, over(kCount), v[0], own[t], static_cast<float>(t + 1), kCount);
        // Now and then the vector is needed on the host.
        if (turn % 50 == 49) own[t].write()[0] = 0.0f;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(fake.window().stats().submitted, std::uint64_t{kThreads} * kTurns);
  EXPECT_EQ(fake.window().stats().issued, std::uint64_t{kThreads} * kTurns);
  for (std::size_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(own[t].read()[5], 5.0f * static_cast<float>((t + 1) * kTurns));
    EXPECT_EQ(own[t].read()[0], 0.0f);
  }
}

}  // namespace
}  // namespace salvo::tests
