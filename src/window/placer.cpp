// Where a launch goes: into a held producer as its epilogue, into a held group, or into a new one
// (W10-W13, W26-W31).
// SPDX-License-Identifier: MIT
#include "window/placer.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "window/hazards.hpp"
#include "window/limits.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

/// Spelled out, because comparing arrays calls memcmp.
bool same(const runtime::Dim3& a, const runtime::Dim3& b) noexcept {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

}  // namespace

Reason Placer::why_not_joined(const Candidate& candidate, const Group& group) const {
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

Group* Placer::find_group(const Candidate& candidate, std::uint64_t after, Reason& reason) const {
  auto& groups = candidate.held.groups;
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

Outcome Placer::place(const Candidate& candidate, std::unique_ptr<HeldLaunch>& launch, bool current,
                      Placed& placed) {
  Held& held = candidate.held;
  const std::uint64_t after = latest_conflict(*launch, held.groups);
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
  if (!group && held.groups.size() >= settings_.most_groups() && scopes().batched == 0 &&
      !placed.again) {
    return Outcome::make_room;
  }
  if (!current) return Outcome::upload;
  note_merge();
  if (!group && !held.groups.empty()) placed.refused_horizontal = reason;
  if (!placed.again) {
    if (placed.refused_horizontal != Reason::none) counters_.refuse(reason);
    if (explain_.listening() && (group || !held.groups.empty())) {
      explain_pair(candidate, *launch, group ? *group : *held.groups.back(),
                   group ? Reason::none : reason);
    }
  }
  held.keep(candidate.kernel, candidate.prepared, group ? group->sequence : held.last_sequence + 1);
  if (group) {
    group->shared.add(candidate.kernel.shared_arrays);
  } else {
    group = &held.open_group(candidate.kernel);
  }
  // From here on nothing throws: a launch is held and marked, or neither.
  group->members.push_back(std::move(launch));
  ++group->launches;
  group->grid_x += candidate.shape.grid[0];
  group->cost = group->cost + candidate.prepared.cost + kMemberCost;
  group->fingerprint = fingerprint_with(group->fingerprint, candidate.kernel);
  HeldLaunch& member = *group->members.back();
  stamp(member, group->sequence, group->members.size() - 1);
  for (const Access& access : member.accesses) {
    if (access.writes) access.storage->mark_device_newer();
  }
  return Outcome::done;
}

void Placer::end_repetition(runtime::DeviceState& device, Held& held) {
  if (held.repeated) {
    Repetition& ended = *held.repeated;
    const std::uint32_t groups = ended.opened() - ended.issued();
    // Reserved first: from here to the placing nothing is lost if memory runs out.
    held.unplaced.reserve(ended.held_launches());
    std::vector<std::unique_ptr<HeldLaunch>> launches = ended.take_apart();
    std::ranges::move(launches.rbegin(), launches.rend(), std::back_inserter(held.unplaced));
    held.repeated = nullptr;
    ended.abandon();
    held.sweep();
    for (auto& group : held.recorder.discourage()) held.put_back(std::move(group));
    held.unplaced_groups = groups;
  }
  while (!held.unplaced.empty()) {
    std::unique_ptr<HeldLaunch>& launch = held.unplaced.back();
    Placed placed{.again = true};
    place({device, held, *launch->kernel, *launch->prepared, launch->shape}, launch, true, placed);
    held.unplaced.pop_back();
  }
  // Only now, so that nobody sees a window with nothing to issue meanwhile.
  held.unissued.fetch_sub(std::exchange(held.unplaced_groups, 0), std::memory_order_relaxed);
}

void Placer::explain_pair(const Candidate& candidate, const HeldLaunch& launch, const Group& group,
                          Reason reason) {
  const HeldLaunch& earlier = *group.members.back();
  explain_.say({Decision::Kind::horizontal, reason == Reason::none, reason,
                earlier.kernel->kernel.name + "+" + candidate.kernel.kernel.name,
                candidate.device.id(), "", SourceLocation::from(launch.where),
                SourceLocation::from(earlier.where)});
}

}  // namespace salvo::window
