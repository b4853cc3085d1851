// Runs a program with epilogues on and off and compares every byte: what the epilogue tests share.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "rules/on_devices.hpp"
#include "rules/window_fixture.hpp"

namespace salvo::tests {

using Bytes = std::vector<std::vector<std::byte>>;

template <class T>
std::vector<std::byte> bytes_of(const VectorView<const T>& vector) {
  const auto read = std::as_bytes(vector.read());
  return {read.begin(), read.end()};
}

/// A program makes its launches on the device and gives the bytes of what they wrote.
using Program = std::function<Bytes(const Device&)>;

struct Ran {
  Bytes outputs;
  std::size_t launches = 0;
  WindowStats stats;
  std::vector<Decision> decisions;

  Reason epilogue_reason() const {
    for (const Decision& one : decisions) {
      if (one.kind == Decision::Kind::epilogue && !one.applied) return one.reason;
    }
    return Reason::none;
  }
  std::string epilogue_detail() const {
    for (const Decision& one : decisions) {
      if (one.kind == Decision::Kind::epilogue) return one.detail;
    }
    return "";
  }
};

/// On a device of the default runtime.
inline Ran run_on_device(const std::string& id, const Program& program, bool epilogue) {
  const Device device = Device::get(id);
  Window& held = window::current();
  held.set_cpu_devices(true);
  held.set_planner(Planner::always);
  held.set_epilogue_enabled(epilogue);
  held.keep_decisions(0);  // forgets those of other programs
  held.keep_decisions(64);
  held.reset_stats();
  Ran ran;
  ran.outputs = program(device);
  device.synchronize();
  ran.stats = held.stats();
  ran.launches = static_cast<std::size_t>(ran.stats.issued);
  ran.decisions = held.decisions();
  held.keep_decisions(0);
  return ran;
}

/// On the subject of the running test; on the recording device where `options` or `setup` say more
/// about it.
inline Ran run_program(const Program& program, bool epilogue, FakeOptions options = {},
                       const std::function<void(FakeRuntime&)>& setup = {}) {
  if (subject() != kRecording) return run_on_device(subject(), program, epilogue);
  FakeRuntime fake(std::move(options));
  fake.window().set_epilogue_enabled(epilogue);
  fake.window().keep_decisions(64);
  if (setup) setup(fake);
  fake.control->clear();
  Ran ran;
  ran.outputs = program(fake.device());
  const auto launched = fake.control->launched();
  ran.launches = static_cast<std::size_t>(std::ranges::count_if(
      launched, [](const std::string& kernel) { return !kernel.starts_with("salvo_probe"); }));
  ran.stats = fake.window().stats();
  ran.decisions = fake.window().decisions();
  return ran;
}

inline void expect_merged(const Program& program, std::size_t merges = 1,
                          const FakeOptions& options = {}) {
  const Ran merged = run_program(program, true, options),
            apart = run_program(program, false, options);
  EXPECT_EQ(merged.stats.epilogue_merges, merges)
      << describe(merged.epilogue_reason()) << ": " << merged.epilogue_detail();
  EXPECT_EQ(merged.launches + merges, apart.launches);
  EXPECT_EQ(apart.stats.epilogue_merges, 0U);
  ASSERT_FALSE(apart.outputs.empty());
  EXPECT_EQ(merged.outputs, apart.outputs);
}

inline void expect_refused(const Program& program, Reason reason, const FakeOptions& options = {}) {
  const Ran refused = run_program(program, true, options),
            apart = run_program(program, false, options);
  EXPECT_EQ(refused.stats.epilogue_merges, 0U);
  EXPECT_EQ(name(refused.epilogue_reason()), name(reason)) << refused.epilogue_detail();
  EXPECT_EQ(refused.outputs, apart.outputs);
}

/// Values that tell a wrong operation, rounding or order: fractions, and each special one.
inline std::vector<float> telling_values(std::size_t count) {
  const float special[] = {0.0f,
                           -0.0f,
                           1e-42f,
                           -1e-42f,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           3.4e38f};
  std::vector<float> values(count);
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    values[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    if (i % 37 == 5) values[i] = special[(i / 37) % 8];
  }
  return values;
}

/// to[i] = from[i] * 1.1f, one rounding.
inline Floats times(const std::string& name, float factor = 1.1f) {
  return scaled(name, factor);
}

/// to[i] = from[i] + 0.3f
inline Floats plus(const std::string& name, float summand = 0.3f) {
  return kernel(name, [summand](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] + summand; });
  });
}

}  // namespace salvo::tests
