// Windows that repeat earlier ones: held again, ended at the first difference, forgotten (W79).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <utility>

#include "window/launch_window.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

/// A program has few windows that differ, such as a forward and a backward pass, or two buffers
/// that take turns.
constexpr std::size_t kMostRepetitions = 8;

}  // namespace

Repetition* LaunchWindow::find_repetition(const DeviceWindow& window, const KernelRecord& kernel,
                                          const Dims& dims,
                                          std::span<const detail::CallArgument> arguments,
                                          const runtime::DeviceState& device) const noexcept {
  const auto goes_on = [&](const Repetition& one) {
    return one.matches(kernel, dims, arguments, device, scopes().batched > 0);
  };
  if (Repetition* one = window.repeated) {
    const bool may = !one->abandoned() && (!one->is_complete() || one->rolls());
    return may && goes_on(*one) ? one : nullptr;
  }
  if (!window.groups.empty()) return nullptr;
  for (const auto& one : window.repetitions) {
    if (!one->abandoned() && !one->is_out() && goes_on(*one)) return one.get();
  }
  return nullptr;
}

bool LaunchWindow::hold_again(runtime::DeviceState& device, KernelRecord& kernel, const Dims& dims,
                              std::span<const detail::CallArgument> arguments) {
  DeviceWindow& window = window_of(device);
  if (explain_.listening() || device.trace() || scopes().paused > 0 ||
      device.launches().has_losses()) {
    return false;
  }
  for (;;) {
    bool ends = false;  // and begins again
    {
      const std::lock_guard lock(window.lock);
      if (exiting_) return false;  // asked again: nobody issues what is held after the exit flush
      Repetition* const repeated = find_repetition(window, kernel, dims, arguments, device);
      if (!repeated) return false;
      ends = repeated->is_complete();
      if (!ends && repeated->issued() >= repeated->step().issued_before) {
        const Step& step = repeated->step();
        Group& group = repeated->group(step.group);
        const std::uint64_t sequence = step.opens_group ? window.last_sequence + 1 : group.sequence;
        keep(window, kernel, *step.prepared, sequence);
        if (step.merged &&
            !(step.merged_prepared->is_kept && step.merged_prepared->last_held == sequence)) {
          keep(window, *step.merged->kernel, *step.merged_prepared, sequence);
        }
        // From here on nothing throws.
        if (step.opens_group) {
          group.sequence = window.last_sequence = sequence;
          window.unissued.fetch_add(1, std::memory_order_relaxed);
        }
        window.repeated = repeated;
        if (step.refused_epilogue != Reason::none) counters_.refuse(step.refused_epilogue);
        if (step.refused_horizontal != Reason::none) counters_.refuse(step.refused_horizontal);
        repeated->take(dims, arguments);
        return true;
      }
    }
    if (ends) {
      issue(device);
    } else {
      make_room(device);
    }
  }
}

void LaunchWindow::end_repetition(runtime::DeviceState& device, DeviceWindow& window) {
  if (window.repeated) {
    Repetition& ended = *window.repeated;
    const std::uint32_t groups = ended.opened() - ended.issued();
    // Reserved first: from here to the placing nothing is lost if memory runs out.
    window.unplaced.reserve(ended.held_launches());
    std::vector<std::unique_ptr<HeldLaunch>> held = ended.take_apart();
    std::ranges::move(held.rbegin(), held.rend(), std::back_inserter(window.unplaced));
    window.repeated = nullptr;
    ended.abandon();
    sweep(window);
    for (auto& group : window.recorder.discourage()) put_back(window, std::move(group));
    window.unplaced_groups = groups;
  }
  while (!window.unplaced.empty()) {
    std::unique_ptr<HeldLaunch>& launch = window.unplaced.back();
    Placed placed{.again = true};
    place({device, window, *launch->kernel, *launch->prepared, launch->shape}, launch, true,
          placed);
    window.unplaced.pop_back();
  }
  // Only now, so that nobody sees a window with nothing to issue meanwhile.
  window.unissued.fetch_sub(std::exchange(window.unplaced_groups, 0), std::memory_order_relaxed);
}

void LaunchWindow::keep_repetition(DeviceWindow& window,
                                   std::span<const std::unique_ptr<Group>> rest) {
  if (!window.recorder.end()) {
    for (auto& group : window.recorder.take_issued()) put_back(window, std::move(group));
    return;
  }
  std::unique_ptr<Repetition> made =
      Repetition::of(window.recorder.take_steps(), window.recorder.take_issued(), rest);
  if (!made) return;
  if (window.repetitions.size() >= kMostRepetitions) {
    window.repetitions.front()->abandon();  // the oldest
    sweep(window);
  }
  window.repetitions.push_back(std::move(made));
  window.repeats = true;
}

void LaunchWindow::put_back(DeviceWindow& window, std::unique_ptr<Group> group) {
  group->is_recorded = false;
  if (Repetition* home = group->repetition) {
    home->put_back(std::move(group));
    if (home->abandoned()) sweep(window);
    return;
  }
  for (auto& launch : group->members) {
    std::ranges::move(launch->parts, std::back_inserter(window.spare_launches));
    launch->parts.clear();
    window.spare_launches.push_back(std::move(launch));
  }
  group->members.clear();
  window.spare_groups.push_back(std::move(group));
}

void LaunchWindow::sweep(DeviceWindow& window) {
  std::erase_if(window.repetitions, [&](const auto& one) {
    return one->abandoned() && !one->is_out() && one.get() != window.repeated;
  });
  window.repeats = !window.repetitions.empty();
}

void LaunchWindow::forget_repetitions(runtime::DeviceState& device) {
  DeviceWindow& window = window_of(device);
  const std::lock_guard lock(window.lock);
  end_repetition(device, window);
  for (const auto& one : window.repetitions) one->abandon();
  sweep(window);
  for (auto& group : window.recorder.give_up()) put_back(window, std::move(group));
}

void LaunchWindow::forget_repetitions() {
  for (const auto& device : core_.devices()) forget_repetitions(*device);
}

}  // namespace salvo::window
