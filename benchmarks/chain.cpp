// Fused launches beside one kernel written by hand, and long kernels fused and apart.
// SPDX-License-Identifier: MIT
//
// On CUDA/C, which compiles the kernel by hand. Device times are between two events behind a kernel
// that keeps the device busy meanwhile, so that the host's work is no part of them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

namespace {

using namespace salvo;  // NOLINT: a program in the library's own language

constexpr int kLinks = 8;
constexpr int kRounds = 101;

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

auto link() {
  return kernel("link", [](Span<const float> x, Span<float> y, Float a, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { y[i] = x[i] * a + 1.0f; });
  });
}

/// The chain in one kernel, with every store.
Source by_hand() {
  std::string code = "extern \"C\" __global__ void chain(const float* __restrict__ y0";
  for (int k = 1; k <= kLinks; ++k) code += fmt::format(", float* __restrict__ y{}", k);
  code += ", float a, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n";
  code += "  if (i >= n) return;\n  float v = y0[i];\n";
  for (int k = 1; k <= kLinks; ++k) code += fmt::format("  y{}[i] = v = v * a + 1.0f;\n", k);
  return {"CUDA C", code + "}\n", "chain"};
}

class Busy {
 public:
  explicit Busy(const Device& device)
      : device_(device),
        source_{"CUDA C",
                "extern \"C\" __global__ void busy(long long cycles) {\n"
                "  const long long start = clock64();\n"
                "  while (clock64() - start < cycles) {}\n}\n",
                "busy"} {}
  /// Occupies the device for about that long.
  void microseconds(double time) const {
    run_source(device_, source_, grid(1).block(1), static_cast<std::int64_t>(time * 1900));
  }

 private:
  Device device_;
  Source source_;
};

struct Buffers {
  explicit Buffers(int n) : count(n) {
    for (int k = 0; k <= kLinks; ++k) all.emplace_back(static_cast<std::size_t>(n));
    auto first = all[0].write();
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<float>(i % 1000) * 1e-3f;
  }
  int count;
  std::vector<Vector<float>> all;
};

class Bench {
 public:
  explicit Bench(const Device& device) : device_(device), busy_(device) {}

  /// What `work` takes on the device.
  double device_us(const std::function<void()>& work) const {
    Timer timer(device_);
    busy_.microseconds(400);
    timer.start();
    work();
    timer.stop();
    return timer.elapsed_ms() * 1e3;
  }

  void chain(int n) const {
    Buffers hand(n);
    Buffers ours(n);
    const auto one = link();
    RawKernel fused(device_, by_hand());
    for (std::size_t k = 0; k <= kLinks; ++k) fused.set(k, hand.all[k]);
    fused.set(kLinks + 1, 0.75f);
    fused.set(kLinks + 2, n);
    const auto merged = [&] {
      for (std::size_t k = 0; k < kLinks; ++k) {
        device_.launch(one, over(n), ours.all[k], ours.all[k + 1], 0.75f, n);
      }
      window::flush();
    };
    const auto alone = [&] { fused.launch(over(n).block(256)); };
    window::set_limits(8, 8);
    alone();
    window::reset_stats();
    merged();
    device_.synchronize();
    const std::uint64_t issued = window::stats().issued;
    for (std::size_t k = 0; k <= kLinks; ++k) {
      const auto a = hand.all[k].read();
      const auto b = ours.all[k].read();
      if (std::memcmp(a.data(), b.data(), a.size_bytes()) != 0) {
        throw std::runtime_error("the merged chain has other bytes than the one by hand");
      }
    }
    std::vector<double> by_hand_us, merged_us;
    for (int round = 0; round < kRounds; ++round) {
      by_hand_us.push_back(device_us(alone));
      merged_us.push_back(device_us(merged));
    }
    const double base = median(by_hand_us);
    fmt::print("| chain of {}, n = {} | {:.1f} | {:.1f} | {:.2f} | {} launch{} |\n", kLinks, n,
               base, median(merged_us), base / median(merged_us), issued, issued == 1 ? "" : "es");
  }

  /// Independent long kernels: off, and on with both planners.
  void apart(int n, std::size_t kernels) const {
    Buffers buffers(n);
    const auto one = link();
    const auto all = [&] {
      for (std::size_t k = 0; k < kernels; ++k) {
        device_.launch(one, over(n), buffers.all[0], buffers.all[k + 1], 0.75f, n);
      }
      window::flush();
    };
    struct Way {
      bool on;
      Planner planner;
    };
    const std::array<Way, 3> ways{
        {{false, Planner::always}, {true, Planner::always}, {true, Planner::profit}}};
    std::array<std::vector<double>, 3> times;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t w = 0; w < ways.size(); ++w) {
        window::set_enabled(ways[w].on);
        window::set_planner(ways[w].planner);
        const double time = device_us(all);
        if (round > 0) times[w].push_back(time);
      }
    }
    window::set_enabled(true);
    window::set_planner(Planner::always);
    const double off = median(times[0]);
    fmt::print("| {} kernels, n = {} | {:.1f} | {:.1f} ({:.2f}) | {:.1f} ({:.2f}) |\n", kernels, n,
               off, median(times[1]), off / median(times[1]), median(times[2]),
               off / median(times[2]));
  }

 private:
  Device device_;
  Busy busy_;
};

}  // namespace

int main() {
  try {
    const auto devices = Device::by_backend("CUDA/C");
    if (devices.empty()) {
      fmt::print("no device of CUDA/C here\n");
      return 0;
    }
    const Bench bench(devices.front());
    window::set_planner(Planner::always);
    fmt::print("{}; medians of {} rounds, µs on the device\n",
               devices.front().properties().driver_version, kRounds);
    fmt::print("| work | by hand | merged | times as fast | issued as |\n|---|---|---|---|---|\n");
    for (int n : {4096, 1 << 20, 1 << 25}) bench.chain(n);
    fmt::print("\n| work | window off | always | profit |\n|---|---|---|---|\n");
    for (int n : {1 << 24, 1 << 26}) {
      for (std::size_t kernels : {std::size_t{2}, std::size_t{8}}) bench.apart(n, kernels);
    }
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "chain: {}\n", failure.what());
    return 1;
  }
}
