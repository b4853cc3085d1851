// What the window tests share: a runtime on a recording device, and a few small kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fake/fake_backend.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {

using Floats = Kernel<Span<float>, Span<float>, Int>;

/// to[i] = from[i] * factor, each with a name of its own.
inline Floats scaled(const std::string& name, float factor,
                     std::source_location where = std::source_location::current()) {
  return kernel(
      name,
      [factor](Span<float> from, Span<float> to, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] { to[i] = from[i] * factor; });
      },
      where);
}

/// x[i] = x[i] + 1
inline Kernel<Span<float>, Int> incremented(const std::string& name = "increment") {
  return kernel(name, [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] += 1.0f; });
  });
}

inline std::vector<float> values(const VectorView<const float>& vector) {
  const auto read = vector.read();
  return {read.begin(), read.end()};
}

/// The same bits, which EXPECT_EQ on floats would not say.
inline ::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

/// A runtime with one fake backend, as `options` say, under planner `always`.
struct FakeRuntime {
  explicit FakeRuntime(
      FakeOptions options = {}, EnvironmentLookup environment = [](const char*) { return nullptr; },
      std::string cache_folder = "")
      : FakeRuntime(one(std::move(options)), std::move(environment), std::move(cache_folder)) {}
  explicit FakeRuntime(
      std::vector<FakeOptions> options,
      EnvironmentLookup environment = [](const char*) { return nullptr; },
      std::string cache_folder = "")
      : runtime([&] {
          RuntimeOptions made;
          made.built_in_backends = false;
          made.environment = std::move(environment);
          made.cache_folder = std::move(cache_folder);
          for (auto& backend : options) {
            made.own.list.push_back(make_fake_backend(control, std::move(backend)));
          }
          return made;
        }()) {
    runtime.window().set_planner(Planner::always);
    control->clear();
  }
  static std::vector<FakeOptions> one(FakeOptions options) {
    std::vector<FakeOptions> all;
    all.push_back(std::move(options));
    return all;
  }

  Device device(std::size_t number = 0) { return runtime.devices().at(number); }
  Window& window() { return runtime.window(); }

  std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
  Runtime runtime;
};

class WindowRules : public ::testing::Test {
 protected:
  static constexpr int kCount = 1000;

  /// These rules are those of separate launches; epilogues have tests of their own.
  WindowRules() { fake.window().set_epilogue_enabled(false); }

  FakeRuntime fake;
  Device device = fake.device();
  Floats twice = scaled("twice", 2.0f);
  Floats negate = scaled("negate", -1.0f);
  Kernel<Span<float>, Int> increment = incremented();
  Vector<float> x{std::vector<float>(kCount, 3.0f)};
  Vector<float> y = Vector<float>(kCount), z = Vector<float>(kCount);

  std::size_t launches() const { return fake.control->count(Driver::launch); }
};

}  // namespace salvo::tests
