// Decides whether a legal fusion pays (W82).
// SPDX-License-Identifier: MIT
#include "window/planner.hpp"

#include <algorithm>

namespace salvo::window {
namespace {

/// A CPU runtime turns a work-group into loops over its threads. A body with barriers or shared
/// memory cannot become one loop, and around a choice between such bodies nothing vectorises.
bool loops_well(const HeldLaunch& launch) {
  const passes::Summary& summary = launch.kernel->summary;
  return !summary.has_barrier && !summary.has_shared && launch.shape.block[1] == 1 &&
         launch.shape.block[2] == 1;
}

}  // namespace

Reason judge_fusion(const DeviceProperties& device,
                    std::span<const std::unique_ptr<HeldLaunch>> members) {
  if (device.is_cpu &&
      !std::ranges::all_of(members, [](const auto& one) { return loops_well(*one); })) {
    return Reason::not_profitable;
  }
  return Reason::none;
}

}  // namespace salvo::window
