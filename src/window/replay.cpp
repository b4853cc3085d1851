// Issuing a run of groups as one sequence, which a driver may know from before (W79).
// SPDX-License-Identifier: MIT
#include <utility>

#include "window/issuer.hpp"
#include "window/launched.hpp"
#include "window/planner.hpp"

namespace salvo::window {

bool Issuer::describe_single(const Round& round, HeldLaunch& launch,
                             runtime::LaunchCommand& command) {
  if (!launch.parts.empty() &&
      (launch.kernel->failed || !launch.prepared->executables[launch.may_alias ? 1 : 0])) {
    return false;
  }
  try {
    command = {&executable_of(round.device, *launch.prepared, launch.may_alias), &launch.shape,
               launch.arguments};
  } catch (const Error&) {
    return false;  // thrown again when the launch is made by itself, and told with its name
  }
  return true;
}

bool Issuer::describe_fused(const Round& round, Group& group, FusedLaunch& fused,
                            runtime::LaunchCommand& command) {
  runtime::DeviceState& device = round.device;
  if (settings_.planner() == Planner::profit &&
      judge_fusion(device.properties(), group.members) != Reason::none) {
    return false;
  }
  const Plan* plan = round.issuing.plans.find(group, any_aliases(group), settings_.most_members());
  if (!plan) return false;
  const FusedKernel& kernel = *plan->fused;
  if (kernel.failed || !kernel.executable || kernel.generation != device.generation()) return false;
  bind_members(*plan, group, device.driver().takes_repeats(), fused.arguments, fused.shape);
  command = {kernel.executable, &fused.shape, fused.arguments};
  return true;
}

std::size_t Issuer::describe(const Round& round, std::size_t first) {
  runtime::DeviceState& device = round.device;
  Issuing& issuing = round.issuing;
  issuing.commands.clear();
  if (device.is_closed()) return 0;
  if (issuing.fused_launches.size() < issuing.groups.size()) {
    issuing.fused_launches.resize(issuing.groups.size());
  }
  for (std::size_t k = first; k < issuing.groups.size(); ++k) {
    Group& group = *issuing.groups[k];
    runtime::LaunchCommand command;
    const bool ready = group.members.size() == 1
                           ? describe_single(round, *group.members.front(), command)
                           : describe_fused(round, group, issuing.fused_launches[k], command);
    if (!ready) break;
    const runtime::Dim3& block = command.shape->block;
    if (std::uint64_t{block[0]} * block[1] * block[2] >
        command.executable->max_threads_per_block()) {
      break;
    }
    // The device is about to be drained for it (P7).
    if (command.executable->spill_bytes_per_thread() > device.scratch_mark()) break;
    issuing.commands.push_back(command);
  }
  return issuing.commands.size();
}

bool Issuer::replay(const Round& round, std::size_t first, std::size_t count) {
  runtime::DeviceState& device = round.device;
  Issuing& issuing = round.issuing;
  runtime::Queue& queue = device.driver().queue();
  if (!device.driver().replay(queue, issuing.commands)) return false;
  issuing.unsubmitted = true;
  Counters::raise(counters_.replays);
  for (std::size_t k = first; k < first + count; ++k) {
    const Group& group = *issuing.groups[k];
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
