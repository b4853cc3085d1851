// Issuing a run of groups as one sequence, which a driver may know from before (W79).
// SPDX-License-Identifier: MIT
#include <utility>

#include "window/launch_window.hpp"
#include "window/launched.hpp"
#include "window/planner.hpp"

namespace salvo::window {

bool LaunchWindow::describe_single(runtime::DeviceState& device, HeldLaunch& launch,
                                   runtime::LaunchCommand& command) {
  if (!launch.parts.empty() &&
      (launch.kernel->failed || !launch.prepared->executables[launch.may_alias ? 1 : 0])) {
    return false;
  }
  try {
    command = {&executable_of(device, *launch.prepared, launch.may_alias), &launch.shape,
               launch.arguments};
  } catch (const Error&) {
    return false;  // thrown again when the launch is made by itself, and told with its name
  }
  return true;
}

bool LaunchWindow::describe_fused(runtime::DeviceState& device, Group& group, FusedLaunch& fused,
                                  runtime::LaunchCommand& command) {
  if (settings_.planner() == Planner::profit &&
      judge_fusion(device.properties(), group.members) != Reason::none) {
    return false;
  }
  const Plan* plan =
      window_of(device).plans.find(group, any_aliases(group), settings_.most_members());
  if (!plan) return false;
  const FusedKernel& kernel = *plan->fused;
  if (kernel.failed || !kernel.executable || kernel.generation != device.generation()) return false;
  bind_members(*plan, group, device.driver().takes_repeats(), fused.arguments, fused.shape);
  command = {kernel.executable, &fused.shape, fused.arguments};
  return true;
}

std::size_t LaunchWindow::describe(runtime::DeviceState& device, std::size_t first) {
  DeviceWindow& window = window_of(device);
  window.commands.clear();
  if (device.is_closed()) return 0;
  if (window.fused_launches.size() < window.issuing.size()) {
    window.fused_launches.resize(window.issuing.size());
  }
  for (std::size_t k = first; k < window.issuing.size(); ++k) {
    Group& group = *window.issuing[k];
    runtime::LaunchCommand command;
    const bool ready = group.members.size() == 1
                           ? describe_single(device, *group.members.front(), command)
                           : describe_fused(device, group, window.fused_launches[k], command);
    if (!ready) break;
    const runtime::Dim3& block = command.shape->block;
    if (std::uint64_t{block[0]} * block[1] * block[2] >
        command.executable->max_threads_per_block()) {
      break;
    }
    // The device is about to be drained for it (P7).
    if (command.executable->spill_bytes_per_thread() > device.scratch_mark()) break;
    window.commands.push_back(command);
  }
  return window.commands.size();
}

bool LaunchWindow::replay(runtime::DeviceState& device, std::size_t first, std::size_t count) {
  DeviceWindow& window = window_of(device);
  runtime::Queue& queue = device.driver().queue();
  if (!device.driver().replay(queue, window.commands)) return false;
  window.unsubmitted = true;
  Counters::raise(counters_.replays);
  for (std::size_t k = first; k < first + count; ++k) {
    const Group& group = *window.issuing[k];
    for (const auto& member : group.members) {
      note_launched(device, queue, *member);
      count_merges(*member);
    }
    Counters::raise(counters_.issued);
    if (group.members.size() == 1) continue;
    Counters::raise(counters_.fused_groups);
    Counters::raise(counters_.cache_hits);
  }
  return true;
}

}  // namespace salvo::window
