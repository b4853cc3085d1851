// What a device's window holds: groups and launches that are recycled, and windows that came before
// (W79). The window lock is held.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <utility>

#include "window/device_window.hpp"

namespace salvo::window {
namespace {

/// A program has few windows that differ, such as a forward and a backward pass, or two buffers
/// that take turns.
constexpr std::size_t kMostRepetitions = 8;

}  // namespace

std::uint64_t Held::launches() const noexcept {
  std::uint64_t held = unplaced.size();
  for (const auto& group : groups) held += group->launches;
  if (repeated) held += repeated->held_launches();
  return held;
}

std::unique_ptr<HeldLaunch> Held::spare_launch() {
  if (spare_launches.empty()) return std::make_unique<HeldLaunch>();
  auto launch = std::move(spare_launches.back());
  spare_launches.pop_back();
  return launch;
}

Group& Held::open_group(const KernelRecord& first) {
  std::unique_ptr<Group> group;
  if (spare_groups.empty()) {
    group = std::make_unique<Group>();
  } else {
    group = std::move(spare_groups.back());
    spare_groups.pop_back();
  }
  group->grid_x = 0;
  group->shared.clear();
  group->shared.add(first.shared_arrays);
  group->launches = 0;
  group->cost = {};
  group->fingerprint = 0;
  group->members.reserve(group->members.size() + 1);
  groups.push_back(std::move(group));
  groups.back()->sequence = ++last_sequence;
  unissued.fetch_add(1, std::memory_order_relaxed);
  return *groups.back();
}

void Held::put_back(std::unique_ptr<Group> group) {
  group->is_recorded = false;
  if (Repetition* home = group->repetition) {
    home->put_back(std::move(group));
    if (home->abandoned()) sweep();
    return;
  }
  for (auto& launch : group->members) {
    std::ranges::move(launch->parts, std::back_inserter(spare_launches));
    launch->parts.clear();
    spare_launches.push_back(std::move(launch));
  }
  group->members.clear();
  spare_groups.push_back(std::move(group));
}

void Held::keep_repetition(std::span<const std::unique_ptr<Group>> rest) {
  if (!recorder.end()) {
    for (auto& group : recorder.take_issued()) put_back(std::move(group));
    return;
  }
  std::unique_ptr<Repetition> made =
      Repetition::of(recorder.take_steps(), recorder.take_issued(), rest);
  if (!made) return;
  if (repetitions.size() >= kMostRepetitions) {
    repetitions.front()->abandon();  // the oldest
    sweep();
  }
  repetitions.push_back(std::move(made));
  repeats = true;
}

void Held::sweep() {
  std::erase_if(repetitions, [&](const auto& one) {
    return one->abandoned() && !one->is_out() && one.get() != repeated;
  });
  repeats = !repetitions.empty();
}

}  // namespace salvo::window
