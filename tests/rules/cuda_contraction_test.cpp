// Mode `device` on NVIDIA hardware, where the compiler does contract: what needs a grant, and how
// far a granted result may go.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 4096;
using Binary = Kernel<Span<float>, Span<float>, Span<float>, Int>;

class OnCuda : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto devices = Device::by_backend(GetParam());
    if (devices.empty()) GTEST_SKIP() << "no device of " << GetParam();
    device_.emplace_back(devices.front());
    window::set_enabled(true);
    window::set_planner(Planner::always);
    window::set_limits(8, 8);
    window::clear_fused_cache();
    window::reset_stats();
    window::keep_decisions(64);
    std::uint32_t state = 99;
    for (int i = 0; i < kCount; ++i) {
      state = state * 1664525 + 1013904223;
      factors_.push_back(static_cast<float>(state >> 8) / 8388608.0f + 0.5f);
      // Every other one nearly cancels with the product.
      const float product = factors_.back() * 1.1f;
      summands_.push_back(i % 2 ? -product * (1.0f + 1e-6f) : 0.37f * product);
    }
  }
  void TearDown() override {
    for (const Grant& grant : policy::list()) policy::revoke(grant.kernel, grant.deviation);
  }

  const Device& device() const { return device_.front(); }
  static Vector<float> vector(const std::vector<float>& values) {
    return Vector<float>(std::span<const float>(values));
  }
  static std::vector<float> read(const Vector<float>& vector) {
    const auto values = vector.read();
    return {values.begin(), values.end()};
  }
  static bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  /// to = a * 1.1 + b: what a compiler may contract.
  static Binary multiply_add(const std::string& name) {
    return kernel(name, [](Span<float> a, Span<float> b, Span<float> to, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { to[i] = a[i] * 1.1f + b[i]; });
    });
  }
  static Kernel<Span<float>, Span<float>, Int> multiply(const std::string& name) {
    return kernel(name, [](Span<float> a, Span<float> to, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { to[i] = a[i] * 1.1f; });
    });
  }
  static Binary add(const std::string& name) {
    return kernel(name, [](Span<float> a, Span<float> b, Span<float> to, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { to[i] = a[i] + b[i]; });
    });
  }

  std::vector<float> contracted(Contraction mode) {
    Vector<float> a = vector(factors_);
    Vector<float> b = vector(summands_);
    Vector<float> to(kCount);
    device().launch(multiply_add("multiply_add").contraction(mode), over(kCount), a, b, to, kCount);
    return read(to);
  }

  struct Pair {
    std::vector<float> product, sum;
    WindowStats stats;
    Reason refusal = Reason::none;
  };
  /// A multiply that is stored, and an add that reads it.
  Pair pair(const std::string& producer, const std::string& consumer, Contraction mode) {
    window::reset_stats();
    window::keep_decisions(0);
    window::keep_decisions(64);
    Vector<float> a = vector(factors_);
    Vector<float> b = vector(summands_);
    Vector<float> y(kCount);
    Vector<float> z(kCount);
    device().launch(multiply(producer).contraction(mode), over(kCount), a, y, kCount);
    device().launch(add(consumer).contraction(mode), over(kCount), y, b, z, kCount);
    Pair result{read(y), read(z), window::stats(), Reason::none};
    for (const Decision& one : window::decisions()) {
      if (one.kind == Decision::Kind::epilogue && !one.applied) result.refusal = one.reason;
    }
    return result;
  }

  std::vector<Device> device_;  // none, or one
  std::vector<float> factors_, summands_;
};

TEST_P(OnCuda, W50_FixedContractsAndOffDoesNotWhateverTheCompilerWouldDo) {
  const std::vector<float> fixed = contracted(Contraction::fixed);
  const std::vector<float> off = contracted(Contraction::off);
  int differ = 0;
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const float product = factors_[i] * 1.1f;
    EXPECT_TRUE(same_bits(fixed[i], std::fma(factors_[i], 1.1f, summands_[i]))) << i;
    EXPECT_TRUE(same_bits(off[i], product + summands_[i])) << i;
    differ += fixed[i] == off[i] ? 0 : 1;
  }
  EXPECT_GT(differ, 1000);
}

TEST_P(OnCuda, W50_ModeDeviceLetsTheCompilerContract) {
  const std::vector<float> loose = contracted(Contraction::device);
  int contractions = 0;
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const float product = factors_[i] * 1.1f;
    const float apart = product + summands_[i];
    const float together = std::fma(factors_[i], 1.1f, summands_[i]);
    EXPECT_TRUE(same_bits(loose[i], apart) || same_bits(loose[i], together)) << i;
    contractions += !same_bits(apart, together) && same_bits(loose[i], together) ? 1 : 0;
  }
  EXPECT_GT(contractions, 1000) << "the compiler was to contract and did not";
}

TEST_P(OnCuda, W52_ModeDeviceMergesNothingWithoutAGrantForBoth) {
  const Pair apart = pair("multiply", "add", Contraction::device);
  EXPECT_EQ(apart.stats.epilogue_merges, 0U);
  EXPECT_EQ(name(apart.refusal), name(Reason::needs_grant));
  policy::grant("multiply", Deviation::cross_kernel_contraction, "one of two");
  const Pair half = pair("multiply", "add", Contraction::device);
  EXPECT_EQ(half.stats.epilogue_merges, 0U);
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    EXPECT_TRUE(same_bits(apart.sum[i], factors_[i] * 1.1f + summands_[i])) << i;
    EXPECT_TRUE(same_bits(half.sum[i], apart.sum[i])) << i;
  }
}

TEST_P(OnCuda, W54_WithGrantsAResultDiffersByOneContractionAtMost) {
  policy::grant("multiply", Deviation::cross_kernel_contraction, "held against the bound");
  policy::grant("add", Deviation::cross_kernel_contraction, "held against the bound");
  const Pair merged = pair("multiply", "add", Contraction::device);
  EXPECT_EQ(merged.stats.epilogue_merges, 1U);
  const auto ulp = [](float value) {
    return std::nextafter(std::fabs(value), INFINITY) - std::fabs(value);
  };
  int contractions = 0;
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    const float product = factors_[i] * 1.1f;
    const float apart = product + summands_[i];
    EXPECT_TRUE(same_bits(merged.product[i], product)) << i;  // what is stored is the product
    EXPECT_LE(std::fabs(merged.sum[i] - apart), ulp(product) / 2 + ulp(apart)) << i;
    contractions += same_bits(merged.sum[i], apart) ? 0 : 1;
  }
  RecordProperty("contractions", contractions);
}

TEST_P(OnCuda, W56_FixedMergesWithoutAGrantAndKeepsTheBits) {
  const Pair merged = pair("multiply", "add", Contraction::fixed);
  EXPECT_EQ(merged.stats.epilogue_merges, 1U);
  for (std::size_t i = 0; i < factors_.size(); ++i) {
    EXPECT_TRUE(same_bits(merged.sum[i], factors_[i] * 1.1f + summands_[i])) << i;
  }
}

TEST_P(OnCuda, W32_HorizontalGroupsInModeDeviceNeedTheGrantsToo) {
  const auto issued = [&] {
    window::reset_stats();
    Vector<float> a = vector(factors_);
    Vector<float> b = vector(summands_);
    Vector<float> y(kCount);
    Vector<float> z(kCount);
    device().launch(multiply("multiply").contraction(Contraction::device), grid(16).block(256), a,
                    y, kCount);
    device().launch(add("add").contraction(Contraction::device), grid(16).block(256), a, b, z,
                    kCount);
    device().synchronize();
    return window::stats().issued;
  };
  EXPECT_EQ(issued(), 2U);
  policy::grant("multiply", Deviation::cross_kernel_contraction, "rounding is not compared");
  policy::grant("add", Deviation::cross_kernel_contraction, "rounding is not compared");
  EXPECT_EQ(issued(), 1U);
}

TEST_P(OnCuda, W53_TheProbeFindsACompilerThatObeys) {
  const FloatProbe probe = device().float_probe();
  EXPECT_TRUE(probe.measured);
  EXPECT_GT(probe.cases, 0U);
  EXPECT_EQ(probe.contracted, 0U);
  EXPECT_EQ(probe.fma_rounded_once, probe.cases);
  EXPECT_TRUE(probe.narrowing_survives);
}

INSTANTIATE_TEST_SUITE_P(Backends, OnCuda, testing::Values("CUDA/PTX", "CUDA/C"),
                         [](const testing::TestParamInfo<std::string>& backend) {
                           return backend.param == "CUDA/C" ? "CudaC" : "CudaPtx";
                         });

}  // namespace
}  // namespace salvo::tests
