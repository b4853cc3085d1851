// Takes one reference round with the window off, then holds every setting against it.
// SPDX-License-Identifier: MIT
#include "demo_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace salvo::tool {
namespace {

using Clock = std::chrono::steady_clock;
using Outputs = std::vector<std::vector<std::byte>>;

constexpr std::chrono::milliseconds kTimingBudget{400};
constexpr std::size_t kMostRounds = 2000;

void tell(const DemoProgram& program, const Device& device, const char* what) {
  fmt::print(stderr, "{} {}: {}\n", device.id(), program.name(), what);
}

Outputs copy_of(const std::vector<std::span<const std::byte>>& outputs) {
  Outputs copy;
  for (const auto& bytes : outputs) copy.emplace_back(bytes.begin(), bytes.end());
  return copy;
}

bool same_bits(const Outputs& reference, const std::vector<std::span<const std::byte>>& outputs) {
  return std::equal(reference.begin(), reference.end(), outputs.begin(), outputs.end(),
                    [](const auto& a, const auto& b) {
                      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
                    });
}

// Median time of a launch, from the call to the device's being idle. The outputs may move on.
double microseconds_per_launch(DemoProgram& program, const Device& device) {
  std::vector<double> rounds;
  const auto start = Clock::now();
  do {
    const auto before = Clock::now();
    const int launches = program.run(device);
    device.synchronize();
    const std::chrono::duration<double, std::micro> spent = Clock::now() - before;
    rounds.push_back(spent.count() / launches);
  } while (rounds.size() < kMostRounds && Clock::now() - start < kTimingBudget);
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end());
  return *middle;
}

// One round from the start, observed to its end and counted.
WindowStats counted_round(DemoProgram& program, const Device& device) {
  program.reset();
  window::reset_stats();
  program.run(device);
  device.synchronize();
  return window::stats();
}

}  // namespace

std::vector<DemoRow> measure(DemoProgram& program, const Device& device) {
  DemoRow row;
  row.device = device.id();
  row.program = program.name();

  window::set_enabled(false);
  tell(program, device, "compiling, and a first round with the window off");
  counted_round(program, device);
  const Outputs reference = copy_of(program.outputs());
  row.problem = program.check();
  tell(program, device, "timing with the window off");
  row.microseconds_off = microseconds_per_launch(program, device);

  window::set_enabled(true);
  window::set_cpu_devices(true);
  struct Setting {
    const char* name;
    Planner planner;
  };
  std::vector<Setting> settings{{"always", Planner::always}, {"profit", Planner::profit}};
  if (!window::defers(device.backend())) settings = {{"direct", Planner::profit}};

  std::vector<DemoRow> rows;
  for (const Setting& setting : settings) {
    window::set_planner(setting.planner);
    tell(program, device, fmt::format("window on, planner {}", setting.name).c_str());
    const WindowStats stats = counted_round(program, device);
    row.planner = setting.name;
    row.submitted = stats.submitted;
    row.issued = stats.issued;
    row.fused_groups = stats.fused_groups;
    row.same_bits = same_bits(reference, program.outputs());
    row.microseconds_on = microseconds_per_launch(program, device);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace salvo::tool
