// Every call of every driver fails once, in a program that uses most of a backend.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/faults/failing_tables.hpp"
#include "drivers/faults/faults.hpp"
#include "salvo/salvo.hpp"
#include "temporary_folder.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 300;

using Map = Kernel<Span<const float>, Span<float>, Int>;

Map scaled(const char* name, float by) {
  return kernel(name, [by](Span<const float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * by; });
  });
}

/// What a program saw: the values it read, and the errors it was told.
struct Outcome {
  std::vector<float> values;
  std::vector<Error> errors;
};

class Program {
 public:
  /// Goes on after each error, as a program that means to survive does.
  Outcome run(Runtime& runtime, const Device& device) {
    Outcome outcome;
    const auto step = [&](const std::function<void()>& work) {
      try {
        work();
      } catch (const Error& error) {
        if (faults().first == 0 && error.code() == Errc::unsupported) lacking_.insert(error.what());
        if (lacking_.contains(error.what())) return;
        outcome.errors.push_back(error);
        for (const Error& other : error.others()) outcome.errors.push_back(other);
      }
    };
    const auto take = [&](std::span<const float> values) {
      outcome.values.insert(outcome.values.end(), values.begin(), values.end());
    };
    std::vector<float> numbers(kCount);
    for (int i = 0; i < kCount; ++i)
      numbers[static_cast<std::size_t>(i)] = 0.5f * static_cast<float>(i) - 20.0f;
    {
      Vector<float> x{std::span<const float>(numbers)};
      Vector<float> y(kCount), z(kCount), w(kCount), v(kCount);
      // Held, merged with what comes after and what stands beside it.
      for (int round = 0; round < 4; ++round) {
        step([&] { device.launch(twice_, over(kCount), x, y, kCount); });
        step([&] { device.launch(negate_, over(kCount), x, z, kCount); });
        step([&] { device.launch(third_, over(kCount), y, w, kCount); });
        step([&] { device.launch(increment_, over(kCount), v, kCount); });
        step([&] { runtime.window().flush(); });
      }
      step([&] { take(y.read()); });
      step([&] { take(z.read()); });
      step([&] { take(w.read()); });
      step([&] { take(v.read()); });
      step([&] { device.launch(mirror_, grid(3).block(128), x, v, kCount); });
      step([&] { take(v.read()); });
      // Transfers.
      step([&] { fill(device, y, 7.0f); });
      step([&] { copy(x, 0, y, 10, 50); });
      step([&] { copy_to_device(device, y, 100, std::span<const float>(numbers).first(20)); });
      std::vector<float> back(kCount);
      step([&] {
        copy_to_host(y, 0, std::span<float>(back));
        take(back);
      });
      step([&] { free_on_device(y); });
      step([&] { device.launch(twice_, over(kCount), y, z, kCount); });
      step([&] { take(z.read()); });
      // Streams, events, timers.
      step([&] {
        const Stream one(device), two(device, 1);
        Vector<float> a(kCount), b(kCount);
        one.launch(twice_, over(kCount), x, a, kCount);
        const Event done = one.record();
        two.wait(done);
        two.launch(negate_, over(kCount), a, b, kCount);
        copy(two, b, 0, a, 0, 30);
        done.wait();
        static_cast<void>(done.query());
        two.synchronize();
        take(b.read());
        take(a.read());
      });
      step([&] {
        Timer timer(device);
        timer.start();
        device.launch(third_, over(kCount), x, w, kCount);
        timer.stop();
        static_cast<void>(timer.elapsed_ms());
        take(w.read());
      });
      step([&] {
        Profiler profiler(device);
        device.launch(third_, over(kCount), z, w, kCount);
        device.launch(negate_, over(kCount), z, v, kCount);
        for (int round = 0; round < 2; ++round) {
          device.launch(increment_, over(kCount), v, kCount);
          device.launch(twice_, over(kCount), x, y, kCount);
          runtime.window().flush();
        }
        device.synchronize();
        profiler.stop();
        static_cast<void>(profiler.kernels());
        take(w.read());
        take(v.read());
      });
      // Memory of the host that the device reaches.
      step([&] {
        auto pinned = alloc_pinned<float>(device, kCount);
        std::copy(numbers.begin(), numbers.end(), pinned.begin());
        const Stream stream(device);
        stage_to_device(stream, v, 0, pinned, 0, kCount);
        stream.launch(negate_, over(kCount), v, w, kCount);
        stage_to_host(stream, w, 0, pinned, 0, kCount).wait();
        take({pinned.begin(), pinned.end()});
        free_pinned(pinned);
      });
      step([&] {
        auto registered = register_host(device, std::span<float>(numbers));
        stage_to_device(device, v, 0, registered, 0, kCount).wait();
        unregister_host(registered);
        take(v.read());
      });
      // What is still held when its vectors go.
      step([&] {
        Vector<float> gone(kCount);
        device.launch(twice_, over(kCount), x, gone, kCount);
        device.launch(negate_, over(kCount), gone, w, kCount);
      });
      step([&] { take(w.read()); });
      step([&] { device.release_cached_memory(); });
      step([&] { device.synchronize(); });
      step([&] { runtime.clear_launch_cache(); });
      step([&] { device.launch(mirror_, grid(3).block(128), w, v, kCount); });
      step([&] { take(v.read()); });
    }
    step([&] { device.synchronize(); });
    return outcome;
  }

 private:
  std::set<std::string> lacking_;  // what the device says that it cannot do, without any fault
  const Map twice_ = scaled("twice", 2.0f);
  const Map negate_ = scaled("negate", -1.0f);
  const Map third_ = scaled("third", 1.0f / 3.0f);
  // What is run twice shows.
  const Kernel<Span<float>, Int> increment_ = kernel("increment", [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] += 1.0f; });
  });
  const Map mirror_ = kernel("mirror", [](Span<const float> from, Span<float> to, Int n) {
    Shared<float> tile(128);
    auto i = global_thread_id();
    tile[thread_idx_x()] = from[min(i, n - 1)];
    barrier();
    if_(i < n, [&] { to[i] = tile[127 - thread_idx_x()]; });
  });
};

class DriverFaults : public testing::TestWithParam<FailingBackend> {
 protected:
  /// A program on a runtime of its own, from opening the device on.
  std::optional<Outcome> on_new_runtime() {
    Runtime runtime(RuntimeOptions{.environment = [this](const char* name) { return set(name); },
                                   .cache_folder = cache_.string()});
    const auto devices = devices_of(runtime);
    if (devices.empty()) return std::nullopt;
    runtime.window().set_planner(Planner::always);
    runtime.window().set_enabled(true);
    return program_.run(runtime, devices.front());
  }
  const char* set(const char* name) const {
    const std::string_view asked = name;
    if (asked == "SALVO_DISK_CACHE") return cached_ ? "1" : "0";
    const bool hides = asked.starts_with("SALVO_DISABLE_") && asked != GetParam().hidden_by &&
                       asked != "SALVO_DISABLE_GPU";
    return hides ? "1" : nullptr;
  }
  static std::vector<Device> devices_of(Runtime& runtime) {
    std::vector<Device> found;
    for (const Device& device : runtime.devices()) {
      if (device.backend() == GetParam().name) found.push_back(device);
    }
    return found;
  }

  /// Every call of the program in turn fails with `status`, or every so-manieth of them.
  void try_all(long status, bool lasting) {
    faults().arm(0, 0, false);
    const std::optional<Outcome> good = on_new_runtime();
    ASSERT_TRUE(good.has_value());
    ASSERT_TRUE(good->errors.empty()) << good->errors.front().what();
    const long calls = faults().calls;
    const long alive = faults().alive;
    ASSERT_GT(calls, 100);
    for (long k = 1; k <= calls; k += stride()) {
      faults().arm(k, status, lasting);
      const std::optional<Outcome> outcome = on_new_runtime();
      faults().heal();
      const char* const struck = faults().struck;
      SCOPED_TRACE("call " + std::to_string(k) + ", " + (struck ? struck : "none") + ", as " +
                   std::to_string(status));
      EXPECT_EQ(faults().alive, alive) << "something was left behind";
      faults().alive = alive;
      if (outcome) check(*outcome, *good);
      const std::optional<Outcome> after = on_new_runtime();
      ASSERT_TRUE(after.has_value()) << "there is no device any more";
      EXPECT_TRUE(after->errors.empty()) << after->errors.front().what();
      EXPECT_TRUE(same_values(*after, *good));
    }
  }

  /// A program that was told nothing has the right values; what it was told says where and what.
  static void check(const Outcome& outcome, const Outcome& good) {
    if (outcome.errors.empty()) {
      EXPECT_TRUE(same_values(outcome, good)) << "nothing was told";
    }
    for (const Error& error : outcome.errors) {
      EXPECT_EQ(error.backend(), GetParam().name) << error.what();
      EXPECT_NE(error.operation(), "") << error.what();
      EXPECT_NE(error.message(), "") << error.what();
    }
  }
  static bool same_values(const Outcome& one, const Outcome& other) {
    return !GetParam().computes || one.values == other.values;
  }
  /// Of the calls that are tried, for a run that is to take less time.
  static long stride() {
    const char* const words = std::getenv("SALVO_TEST_STRIDE");
    return words ? std::max(1L, std::atol(words)) : 1;
  }

  void SetUp() override {
    if (!on_new_runtime()) GTEST_SKIP() << "no device of " << GetParam().name;
    GetParam().install();
  }

  TemporaryFolder cache_;
  bool cached_ = true;
  Program program_;
};

TEST_P(DriverFaults, ACallThatFailsOnce) {
  for (const long code : GetParam().codes) try_all(code, false);
}

TEST_P(DriverFaults, ACallThatFailsOnceWithoutADiskCache) {
  cached_ = false;
  try_all(GetParam().codes.front(), false);
}

TEST_P(DriverFaults, ADeviceThatIsLostForGood) {
  if (GetParam().lost.empty()) GTEST_SKIP() << "it has no such status";
  for (const long code : GetParam().lost) try_all(code, true);
}

INSTANTIATE_TEST_SUITE_P(All, DriverFaults, testing::ValuesIn(failing_backends()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           std::erase(name, '/');
                           return name;
                         });

}  // namespace
}  // namespace salvo::tests
