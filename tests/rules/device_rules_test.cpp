// The window's rules on every real device there is: counts, and the same bits fused and unfused.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (const Device& device : Device::all()) {
    if (device.backend() != "Interpreter" && device.backend() != "Native")
      ids.push_back(device.id());
  }
  return ids;
}

using Floats = Kernel<Span<float>, Span<float>, Int>;

class OnRealDevice : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kCount = 1000;

  void SetUp() override {
    window().set_enabled(true);
    window().set_cpu_devices(true);
    window().set_planner(Planner::always);
    window().set_limits(8, 8);
    window().clear_fused_cache();
    window().reset_stats();
  }

  static Window& window() { return window::current(); }
  Device device_ = Device::get(GetParam());

  static Floats scaled(const std::string& name, float factor) {
    return kernel(name, [factor](Span<float> from, Span<float> to, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { to[i] = from[i] * factor + 0.25f; });
    });
  }

  static std::vector<float> ramp(int count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0.1f + static_cast<float>(i) * 1.37f;
    }
    return values;
  }
  /// Products and sums of these are exact, contracted or not.
  static std::vector<float> whole_numbers(int count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
    return values;
  }
  static Vector<float> vector(const std::vector<float>& values) {
    Vector<float> made(values.size());
    std::ranges::copy(values, made.write().begin());
    return made;
  }
  static std::vector<float> read(const Vector<float>& vector) {
    const auto values = vector.read();
    return {values.begin(), values.end()};
  }
  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }
};

TEST_P(OnRealDevice, W67_TwoKernelsAreOneLaunch) {
  const auto twice = scaled("twice", 2.0f);
  const auto thrice = scaled("thrice", 3.0f);
  Vector<float> x = vector(ramp(kCount));
  Vector<float> y(kCount);
  Vector<float> z(kCount);
  device_.launch(twice, grid(4).block(256), x, y, kCount);
  device_.launch(thrice, grid(4).block(256), x, z, kCount);
  EXPECT_FLOAT_EQ(y[1], 1.47f * 2.0f + 0.25f);
  EXPECT_FLOAT_EQ(z[1], 1.47f * 3.0f + 0.25f);
  EXPECT_EQ(window().stats().submitted, 2U);
  EXPECT_EQ(window().stats().issued, 1U);
  EXPECT_EQ(window().stats().fused_groups, 1U);
  EXPECT_EQ(window().stats().fallbacks, 0U);

  window().set_enabled(false);
  window().reset_stats();
  device_.launch(twice, grid(4).block(256), x, y, kCount);
  device_.launch(thrice, grid(4).block(256), x, z, kCount);
  device_.synchronize();
  EXPECT_EQ(window().stats().issued, 2U);
}

TEST_P(OnRealDevice, W56_FusedResultsAreTheSameBits) {
  // Bodies in which a compiler could contract, divide by a reciprocal or call a library.
  std::vector<Floats> kernels{scaled("multiply_add", 1.7f)};
  kernels.push_back(kernel("quotient", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * from[i] / (from[i] + 3.0f) - 1.5f * from[i]; });
  }));
  kernels.push_back(kernel("functions", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = exp(-from[i] * 0.01f) * sqrt(from[i]) + sin(from[i]); });
  }));
  kernels.push_back(kernel("recurrence", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      Var<float> sum = from[i];
      for_(range(0, 17), [&](Int k) { sum = sum * 0.83f + from[i] * cast<float>(k); });
      to[i] = sum;
    });
  }));
  Vector<float> x = vector(ramp(kCount));
  const auto results = [&](bool fused) {
    window().set_enabled(fused);
    window().reset_stats();
    std::vector<Vector<float>> outputs;
    for (std::size_t i = 0; i < kernels.size(); ++i) outputs.emplace_back(kCount);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      device_.launch(kernels[i], grid(8).block(128), x, outputs[i], kCount);
    }
    device_.synchronize();
    EXPECT_EQ(window().stats().issued, fused ? 1U : kernels.size());
    std::vector<std::vector<float>> values;
    for (const auto& output : outputs) values.push_back(read(output));
    return values;
  };
  const auto apart = results(false);
  const auto together = results(true);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_TRUE(same_bits(apart[i], together[i])) << kernels[i].name();
  }
}

TEST_P(OnRealDevice, W38_OneKernelManyTimesGoesThroughATable) {
  window().set_limits(256, 256);
  const auto shifted = kernel("shifted", [](Span<float> from, Span<float> to, Float by, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * by + 1.0f; });
  });
  constexpr int kMembers = 100;  // the table has 128 slots
  std::vector<Vector<float>> inputs;
  std::vector<Vector<float>> outputs;
  for (int k = 0; k < kMembers; ++k) {
    inputs.push_back(vector(whole_numbers(100 + 7 * k)));
    outputs.emplace_back(static_cast<std::size_t>(100 + 7 * k));
  }
  for (int k = 0; k < kMembers; ++k) {
    const int n = 100 + 7 * k;
    device_.launch(shifted, grid((n + 63) / 64).block(64), inputs[static_cast<std::size_t>(k)],
                   outputs[static_cast<std::size_t>(k)], static_cast<float>(k), n);
  }
  device_.synchronize();
  EXPECT_EQ(window().stats().fallbacks, 0U);
  EXPECT_LT(window().stats().issued, static_cast<std::uint64_t>(kMembers));
  for (int k = 0; k < kMembers; ++k) {
    const int n = 100 + 7 * k;
    std::vector<float> expected = whole_numbers(n);
    for (float& value : expected) value = value * static_cast<float>(k) + 1.0f;
    EXPECT_TRUE(same_bits(read(outputs[static_cast<std::size_t>(k)]), expected)) << k;
  }
}

TEST_P(OnRealDevice, W31_GroupsEndBeforeTheParametersDoNotFit) {
  window().set_limits(4096, 4096);
  const auto device_limit = device_.properties().parameter_bytes;
  if (device_limit == 0 || device_limit > 40'000) GTEST_SKIP() << "no such limit on this device";
  const auto twice = scaled("twice", 2.0f);
  // Two spans of 16 bytes and three integers a member: more than fit one launch.
  const int members = static_cast<int>(device_limit / 24);
  Vector<float> x = vector(ramp(64));
  std::vector<Vector<float>> outputs;
  for (int k = 0; k < members; ++k) outputs.emplace_back(64U);
  for (auto& output : outputs) device_.launch(twice, grid(1).block(64), x, output, 64);
  device_.synchronize();
  EXPECT_GT(window().stats().issued, 1U);
  EXPECT_LT(window().stats().issued, static_cast<std::uint64_t>(members));
  EXPECT_EQ(window().stats().fallbacks, 0U);
  const std::vector<float> first = read(outputs[0]);
  for (const auto& output : outputs) EXPECT_TRUE(same_bits(read(output), first));
}

TEST_P(OnRealDevice, W34_MembersWithBarriersKeepTheirBlocks) {
  const auto sums = [](const std::string& name, int factor) {
    return kernel(name, [factor](Span<int> values, Span<int> result) {
      Shared<int> part(64);
      auto t = thread_idx_x();
      part[t] = values[global_thread_id()] * factor;
      barrier();
      Var<int> stride = 32;
      while_([&] { return stride > 0; },
             [&] {
               if_(t < stride, [&] { part[t] = part[t] + part[t + stride]; });
               barrier();
               stride = stride / 2;
             });
      if_(t == 0, [&] { result[block_idx_x()] = part[0]; });
    });
  };
  const auto plain = sums("sum", 1);
  const auto tripled = sums("sum_tripled", 3);
  Vector<int> values(640);
  auto written = values.write();
  for (int i = 0; i < 640; ++i) written[static_cast<std::size_t>(i)] = i * 3 - 7;
  Vector<int> a(10);
  Vector<int> b(10);
  device_.launch(plain, grid(10).block(64), values, a);
  device_.launch(tripled, grid(10).block(64), values, b);
  device_.synchronize();
  EXPECT_EQ(window().stats().issued, 1U);
  for (int k = 0; k < 10; ++k) {
    int expected = 0;
    for (int i = 64 * k; i < 64 * k + 64; ++i) expected += i * 3 - 7;
    EXPECT_EQ(a[static_cast<std::size_t>(k)], expected);
    EXPECT_EQ(b[static_cast<std::size_t>(k)], 3 * expected);
  }
}

TEST_P(OnRealDevice, W08_DependentLaunchesKeepTheirOrder) {
  const auto step = kernel("step", [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = x[i] * 0.5f + 1.0f; });
  });
  Vector<float> x = vector(ramp(kCount));
  std::vector<float> expected = ramp(kCount);
  for (int round = 0; round < 64; ++round) {
    device_.launch(step, over(kCount), x, kCount);
    for (float& value : expected) value = value * 0.5f + 1.0f;
  }
  EXPECT_TRUE(same_bits(read(x), expected));
}

TEST_P(OnRealDevice, W71_RepeatedWindowsFindTheirKernel) {
  const auto twice = scaled("twice", 2.0f);
  const auto thrice = scaled("thrice", 3.0f);
  Vector<float> x = vector(ramp(kCount));
  Vector<float> y(kCount);
  Vector<float> z(kCount);
  for (int round = 0; round < 5; ++round) {
    device_.launch(twice, grid(4).block(256), x, y, kCount);
    device_.launch(thrice, grid(4).block(256), x, z, kCount);
    window().flush();
  }
  device_.synchronize();
  EXPECT_EQ(window().stats().fused_cache_misses, 1U);
  EXPECT_EQ(window().stats().fused_cache_hits, 4U);
}

TEST_P(OnRealDevice, W59_ErrorsNameTheKernelAndTheLaunch) {
  const auto twice = scaled("twice", 2.0f);
  Vector<float> x = vector(ramp(kCount));
  Vector<float> y(kCount);
  try {
    device_.launch(twice, grid(1).block(1 << 20), x, y, kCount);
    FAIL() << "blocks of a million threads were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kernel(), "twice");
    EXPECT_EQ(error.launch_location().line, static_cast<unsigned>(__LINE__ - 4));
    EXPECT_NE(error.launch_location().file.find("device_rules_test.cpp"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OnRealDevice, testing::ValuesIn(device_ids()),
                         [](const testing::TestParamInfo<std::string>& device) {
                           std::string label = device.param;
                           std::erase_if(label, [](char c) { return !std::isalnum(c); });
                           return label;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnRealDevice);

}  // namespace
}  // namespace salvo::tests
