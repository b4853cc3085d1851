// Decides whether a legal fusion pays (W82).
// SPDX-License-Identifier: MIT
#include "window/planner.hpp"

#include <algorithm>
#include <cstdint>

namespace salvo::window {
namespace {

/// A CPU runtime turns a work-group into loops over its threads. A body with barriers or shared
/// memory cannot become one loop, and around a choice between such bodies nothing vectorises.
bool loops_well(const HeldLaunch& launch) {
  const passes::Summary& summary = launch.kernel->summary;
  return !summary.has_barrier && !summary.has_shared && launch.shape.block[1] == 1 &&
         launch.shape.block[2] == 1;
}

std::uint64_t threads(const HeldLaunch& launch) {
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    count *= std::uint64_t{launch.shape.grid[axis]} * launch.shape.block[axis];
  }
  return count;
}

/// Each block of a fused launch first finds its member, which costs a twentieth of a short body
/// that waits for memory; a launch saved is worth about two and a half microseconds. On an H200,
/// filled once, such a body takes 0.8 of one (docs/benchmarks.md, long kernels), so that launches
/// which fill the device more often than this many times each are better left alone.
constexpr std::uint64_t kFillsOfASavedLaunch = 62;
constexpr std::uint64_t kResidentThreads = 2048;  // of a compute unit, about

bool runs_too_long(const DeviceProperties& device,
                   std::span<const std::unique_ptr<HeldLaunch>> members) {
  std::uint64_t all = 0;
  for (const auto& member : members) all += threads(*member);
  return device.compute_units > 0 && all > kFillsOfASavedLaunch * (members.size() - 1) *
                                               kResidentThreads * device.compute_units;
}

}  // namespace

Reason judge_fusion(const DeviceProperties& device,
                    std::span<const std::unique_ptr<HeldLaunch>> members) {
  if (device.is_cpu &&
      !std::ranges::all_of(members, [](const auto& one) { return loops_well(*one); })) {
    return Reason::not_profitable;
  }
  if (!device.is_cpu && runs_too_long(device, members)) return Reason::not_profitable;
  return Reason::none;
}

}  // namespace salvo::window
