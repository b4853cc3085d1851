// Windows that repeat earlier ones: held again, and forgotten when something else changes (W79).
// SPDX-License-Identifier: MIT
#include <utility>

#include "window/launch_window.hpp"
#include "window/scopes.hpp"

namespace salvo::window {

Repetition* Held::find_repetition(const KernelRecord& kernel, const Dims& dims,
                                  std::span<const detail::CallArgument> arguments,
                                  const runtime::DeviceState& device) const noexcept {
  const auto goes_on = [&](const Repetition& one) {
    return one.matches(kernel, dims, arguments, device, scopes().batched > 0);
  };
  if (Repetition* one = repeated) {
    const bool may = !one->abandoned() && (!one->is_complete() || one->rolls());
    return may && goes_on(*one) ? one : nullptr;
  }
  if (!groups.empty()) return nullptr;
  for (const auto& one : repetitions) {
    if (!one->abandoned() && !one->is_out() && goes_on(*one)) return one.get();
  }
  return nullptr;
}

bool LaunchWindow::hold_again(runtime::DeviceState& device, KernelRecord& kernel, const Dims& dims,
                              std::span<const detail::CallArgument> arguments) {
  Held& held = window_of(device).held;
  if (explain_.listening() || device.trace() || scopes().paused > 0 ||
      device.launches().has_losses()) {
    return false;
  }
  for (;;) {
    bool ends = false;  // and begins again
    {
      const std::lock_guard lock(held.lock);
      if (exiting_) return false;  // asked again: nobody issues what is held after the exit flush
      Repetition* const repeated = held.find_repetition(kernel, dims, arguments, device);
      if (!repeated) return false;
      ends = repeated->is_complete();
      if (!ends && repeated->issued() >= repeated->step().issued_before) {
        const Step& step = repeated->step();
        Group& group = repeated->group(step.group);
        const std::uint64_t sequence = step.opens_group ? held.last_sequence + 1 : group.sequence;
        held.keep(kernel, *step.prepared, sequence);
        if (step.merged &&
            !(step.merged_prepared->is_kept && step.merged_prepared->last_held == sequence)) {
          held.keep(*step.merged->kernel, *step.merged_prepared, sequence);
        }
        // From here on nothing throws.
        if (step.opens_group) {
          group.sequence = held.last_sequence = sequence;
          held.unissued.fetch_add(1, std::memory_order_relaxed);
        }
        held.repeated = repeated;
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

void LaunchWindow::forget_repetitions(runtime::DeviceState& device) {
  Held& held = window_of(device).held;
  const std::lock_guard lock(held.lock);
  placer_.end_repetition(device, held);
  for (const auto& one : held.repetitions) one->abandon();
  held.sweep();
  for (auto& group : held.recorder.give_up()) held.put_back(std::move(group));
}

void LaunchWindow::forget_repetitions() {
  for (const auto& device : core_.devices()) forget_repetitions(*device);
}

}  // namespace salvo::window
