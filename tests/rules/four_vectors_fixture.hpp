// Launches on four vectors that can come again and again, for the rules of what repeats.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

using Scaled = Kernel<Span<float>, Span<float>, Float, Int>;

/// to[i] = from[i] * factor + to[i]
inline Scaled accumulating(const std::string& name) {
  return kernel(name, [](Span<float> from, Span<float> to, Float factor, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * factor + to[i]; });
  });
}

class FourVectors : public ::testing::Test {
 protected:
  static constexpr int kCount = 256;

  FakeRuntime fake;
  Device device = fake.device();
  Scaled add = accumulating("add");
  Floats twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
  std::vector<Vector<float>> v;

  explicit FourVectors(FakeOptions options = {}) : fake(std::move(options)) { reset(); }

  void reset() {
    v.clear();
    for (int k = 0; k < 4; ++k) {
      std::vector<float> first(kCount);
      for (int i = 0; i < kCount; ++i) {
        first[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 + k);
      }
      v.emplace_back(first);
    }
  }
  /// Some of them independent, some that merge, some that wait; one by one, so that one can be left
  /// out or replaced.
  std::vector<std::function<void()>> calls(float factor, Dims dims = over(kCount)) {
    return {
        [=, this] { device.launch(add, dims, v[0], v[1], factor, kCount); },
        [=, this] { device.launch(twice, dims, v[1], v[2], kCount); },
        [=, this] { device.launch(negate, dims, v[0], v[3], kCount); },
        [=, this] { device.launch(add, dims, v[2], v[3], factor, kCount); },
        [=, this] { device.launch(twice, dims, v[3], v[0], kCount); },
    };
  }
  /// The bytes of all vectors.
  std::vector<std::vector<float>> all() {
    std::vector<std::vector<float>> bytes;
    for (const auto& one : v) bytes.push_back(values(one));
    return bytes;
  }
};

}  // namespace salvo::tests
