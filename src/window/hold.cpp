// Holding a launch: capture at the call, and the group it joins, opens or merges into (W10-W15).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "window/hazards.hpp"
#include "window/launch_window.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

/// Spelled out, because comparing arrays calls memcmp.
bool same(const runtime::Dim3& a, const runtime::Dim3& b) noexcept {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

}  // namespace

void LaunchWindow::capture(const Call& call, HeldLaunch& launch) {
  launch.reset();
  launch.kernel = &call.kernel;
  launch.prepared = &call.prepared;
  launch.shape = call.shape;
  launch.where = call.dims.where();
  launch.may_alias = false;
  const std::uint32_t store_unit = call.device.properties().store_unit_bytes;
  launch.arguments.resize(call.arguments.size());
  for (std::size_t p = 0; p < call.arguments.size(); ++p) {
    const detail::CallArgument& given = call.arguments[p];
    const ParameterFacts& facts = call.kernel.parameters[p];
    runtime::Argument& argument = launch.arguments[p];
    if (!facts.is_span) {
      argument.bits = given.bits;
      continue;
    }
    argument.byte_offset = given.byte_offset;
    argument.length = given.length;
    if (!given.storage) continue;
    runtime::DeviceCopy* copy = given.storage->copy_on(call.device);
    if (copy) argument.buffer = copy->buffer;
    add_access(launch, static_cast<std::uint32_t>(p), *given.storage, copy, store_unit);
    launch.accesses.back().overwritten = given.overwritten;
  }
  for (const LiveValue& live : call.kernel.live) {
    std::memcpy(&launch.arguments.emplace_back().bits, live.host, ir::size_of(live.type));
  }
}

Reason LaunchWindow::why_not_joined(const Candidate& candidate, const Group& group) const {
  const HeldLaunch& first = *group.members.front();
  if (first.kernel->horizontal_refusal != Reason::none) return first.kernel->horizontal_refusal;
  if (!same(first.shape.block, candidate.shape.block)) return Reason::block_differs;
  if (first.shape.grid[1] != candidate.shape.grid[1] ||
      first.shape.grid[2] != candidate.shape.grid[2]) {
    return Reason::grid_differs;
  }
  if (first.kernel->contraction != candidate.kernel.contraction) return Reason::contraction_differs;
  if (candidate.prepared.device_contraction &&
      (!is_granted(candidate.kernel, candidate.prepared) ||
       !std::ranges::all_of(group.members, [&](const auto& m) { return is_granted(*m); }))) {
    return Reason::needs_grant;
  }
  if (group.launches >= settings_.most_members()) return Reason::group_full;
  const DeviceProperties& limits = candidate.device.properties();
  if (group.grid_x + candidate.shape.grid[0] > limits.max_grid[0] ||
      (group.grid_x + candidate.shape.grid[0]) * candidate.shape.block[0] >
          std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
    return Reason::grid_limit;
  }
  if (group.shared.bytes_with(candidate.kernel.shared_arrays) > limits.shared_bytes_per_block) {
    return Reason::shared_limit;
  }
  const runtime::ParameterCost cost = group.cost + candidate.prepared.cost + kMemberCost;
  return limit_passed(limits, cost);
}

Group* LaunchWindow::find_group(const Candidate& candidate, std::uint64_t after, Reason& reason) {
  auto& groups = candidate.window.groups;
  reason = Reason::none;
  if (groups.empty()) return nullptr;
  reason = candidate.kernel.horizontal_refusal;
  if (reason != Reason::none) return nullptr;
  if (after >= groups.back()->sequence) reason = Reason::dependency;
  for (auto& group : groups) {
    if (group->sequence <= after) continue;
    reason = why_not_joined(candidate, *group);
    if (reason == Reason::none) return group.get();
  }
  return nullptr;
}

std::unique_ptr<HeldLaunch> LaunchWindow::spare_launch(DeviceWindow& window) {
  if (window.spare_launches.empty()) return std::make_unique<HeldLaunch>();
  auto launch = std::move(window.spare_launches.back());
  window.spare_launches.pop_back();
  return launch;
}

Group& LaunchWindow::new_group(DeviceWindow& window, const KernelRecord& first) {
  std::unique_ptr<Group> group;
  if (window.spare_groups.empty()) {
    group = std::make_unique<Group>();
  } else {
    group = std::move(window.spare_groups.back());
    window.spare_groups.pop_back();
  }
  group->grid_x = 0;
  group->shared.clear();
  group->shared.add(first.shared_arrays);
  group->launches = 0;
  group->cost = {};
  group->fingerprint = 0;
  group->members.reserve(group->members.size() + 1);
  window.groups.push_back(std::move(group));
  window.groups.back()->sequence = ++window.last_sequence;
  window.unissued.fetch_add(1, std::memory_order_relaxed);
  return *window.groups.back();
}

LaunchWindow::Outcome LaunchWindow::try_to_hold(const Call& call) {
  DeviceWindow& window = call.window;
  const std::lock_guard lock(window.lock);
  if (exiting_ || touches_escaped(call.arguments)) return Outcome::too_late;
  end_repetition(call.device, window);
  Recorder& recorder = window.recorder;
  recorder.reserve();
  std::unique_ptr<HeldLaunch> launch = spare_launch(window);
  capture(call, *launch);
  launch->step = recorder.next();
  bool begins_anew = recorder.meet(*launch);
  if (begins_anew && window.groups.empty()) {
    keep_repetition(window, {});
    begins_anew = recorder.meet(*launch);
  }
  Placed placed;
  const Outcome outcome = begins_anew
                              ? Outcome::begin_anew
                              : place(call, launch, are_ready(call.arguments, call.device), placed);
  if (outcome == Outcome::done) {
    recorder.add(call.kernel.serial, call.dims, placed.refused_epilogue, placed.refused_horizontal,
                 scopes().batched > 0);
  } else {
    launch->reset();
    window.spare_launches.push_back(std::move(launch));
  }
  return outcome;
}

LaunchWindow::Outcome LaunchWindow::place(const Candidate& candidate,
                                          std::unique_ptr<HeldLaunch>& launch, bool current,
                                          Placed& placed) {
  DeviceWindow& window = candidate.window;
  const std::uint64_t after = latest_conflict(*launch, window.groups);
  // A launch whose vectors are yet to come is looked at again when they are there.
  const Merge merge = current ? find_producer(candidate, *launch, after) : Merge{};
  const auto note_merge = [&] {
    if (!merge.group) return;
    if (!placed.again) explain_merge(candidate, *launch, merge);
    fix_values(*merge.group->members[merge.producer], merge.producer_values);
    fix_values(*launch, merge.consumer_values);
    placed.refused_epilogue = merge.reason;
  };
  if (merge.group && merge.reason == Reason::none) {
    if (!candidate.device.is_probed()) return Outcome::probe;
    auto merged = merged_launch(candidate, merge, *launch);
    note_merge();
    for (const Access& access : launch->accesses) {
      if (access.writes) access.storage->mark_device_newer();
    }
    merge_into(merge, std::move(merged), std::move(launch));
    return Outcome::done;
  }
  Reason reason = Reason::none;
  Group* group = find_group(candidate, after, reason);
  if (!group && window.groups.size() >= settings_.most_groups() && scopes().batched == 0 &&
      !placed.again) {
    return Outcome::make_room;
  }
  if (!current) return Outcome::upload;
  note_merge();
  if (!group && !window.groups.empty()) placed.refused_horizontal = reason;
  if (!placed.again) {
    if (placed.refused_horizontal != Reason::none) counters_.refuse(reason);
    if (explain_.listening() && (group || !window.groups.empty())) {
      explain_pair(candidate, *launch, group ? *group : *window.groups.back(),
                   group ? Reason::none : reason);
    }
  }
  keep(window, candidate.kernel, candidate.prepared,
       group ? group->sequence : window.last_sequence + 1);
  if (group) {
    group->shared.add(candidate.kernel.shared_arrays);
  } else {
    group = &new_group(window, candidate.kernel);
  }
  // From here on nothing throws: a launch is held and marked, or neither.
  group->members.push_back(std::move(launch));
  ++group->launches;
  group->grid_x += candidate.shape.grid[0];
  group->cost = group->cost + candidate.prepared.cost + kMemberCost;
  group->fingerprint = fingerprint_with(group->fingerprint, candidate.kernel);
  HeldLaunch& held = *group->members.back();
  stamp(held, group->sequence, group->members.size() - 1);
  for (const Access& access : held.accesses) {
    if (access.writes) access.storage->mark_device_newer();
  }
  return Outcome::done;
}

void LaunchWindow::make_room(runtime::DeviceState& device) {
  Failures failures;
  {
    const runtime::DeviceState::IssueTurn turn(device);
    issue_oldest(device, 1, failures);
  }
  throw_first(std::move(failures));
}

void LaunchWindow::hold(const Call& call) {
  for (;;) {
    switch (try_to_hold(call)) {
      case Outcome::done:
        return;
      case Outcome::make_room:
        make_room(call.device);
        break;
      case Outcome::begin_anew:
        issue(call.device);
        if (hold_again(call.device, call.kernel, call.dims, call.arguments)) return;
        break;
      case Outcome::upload:
        bring_to_device(call.device, call.arguments);
        break;
      case Outcome::probe:
        call.device.float_probe();
        break;
      case Outcome::too_late:
        run_now(call, are_ready(call.arguments, call.device));
        return;
    }
  }
}

void LaunchWindow::keep(DeviceWindow& window, KernelRecord& kernel, Prepared& prepared,
                        std::uint64_t sequence) {
  if (!prepared.is_kept) window.kernels.emplace_back(kernel.shared_from_this(), &prepared);
  prepared.is_kept = true;
  prepared.last_held = sequence;
}

void LaunchWindow::explain_pair(const Candidate& candidate, const HeldLaunch& launch,
                                const Group& group, Reason reason) {
  const HeldLaunch& earlier = *group.members.back();
  explain_.say({Decision::Kind::horizontal, reason == Reason::none, reason,
                earlier.kernel->kernel.name + "+" + candidate.kernel.kernel.name,
                candidate.device.id(), "", SourceLocation::from(launch.where),
                SourceLocation::from(earlier.where)});
}

}  // namespace salvo::window
