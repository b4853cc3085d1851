// Issuing what is held: taken out of the window, issued, and what it was made of put back.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "window/launch_window.hpp"

namespace salvo::window {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

}  // namespace

void LaunchWindow::detach(runtime::DeviceState& device, std::size_t most) {
  auto& [held, issuing] = window_of(device);
  const std::lock_guard lock(held.lock);
  const bool ends = most == kAll;
  if (Repetition* repeated = held.repeated) {
    if (repeated->is_complete()) {
      repeated->detach_all(issuing.groups);
      held.repeated = nullptr;
      held.recorder.encourage();
      counters_.repeated.fetch_add(repeated->launches(), std::memory_order_relaxed);
      return;
    }
    if (!ends && repeated->issued() < repeated->step().issued_before) {
      repeated->detach_oldest(issuing.groups);
      return;
    }
  }
  placer_.end_repetition(device, held);
  const auto end =
      held.groups.begin() + static_cast<std::ptrdiff_t>(std::min(most, held.groups.size()));
  std::move(held.groups.begin(), end, std::back_inserter(issuing.groups));
  held.groups.erase(held.groups.begin(), end);
  if (ends) return held.keep_repetition(issuing.groups);
  for (const auto& group : issuing.groups) group->is_recorded = held.recorder.note_issued();
}

void LaunchWindow::recycle(const runtime::DeviceState& device) {
  auto& [held, issuing] = window_of(device);
  // What nobody uses any more is let go without the lock: a destructor may free memory.
  runtime::Storage* storages = nullptr;
  std::vector<std::shared_ptr<KernelRecord>> kernels;
  {
    const std::lock_guard lock(held.lock);
    held.issued_through = issuing.groups.back()->sequence;
    const auto unissued = static_cast<std::uint32_t>(issuing.groups.size());
    for (const auto& group : issuing.groups) {
      const bool as_planned = std::exchange(group->as_planned, true);
      // What does not work out is decided anew.
      if (!as_planned && group->repetition) group->repetition->abandon();
    }
    for (auto& group : issuing.groups) {
      if (group->is_recorded && held.recorder.is_on()) {
        held.recorder.keep(std::move(group));
      } else {
        held.put_back(std::move(group));
      }
    }
    std::erase_if(held.kernels, [&](auto& kept) {
      if (kept.second->last_held > held.issued_through) return false;
      kept.second->is_kept = false;
      if (kept.first.use_count() == 1) kernels.push_back(std::move(kept.first));
      return true;
    });
    runtime::Storage* waiting = std::exchange(held.orphans, nullptr);
    while (waiting) {
      runtime::Storage* one = std::exchange(waiting, waiting->next_orphan());
      const runtime::DeviceCopy* copy = one->copy_on(device);
      runtime::Storage*& list = copy && held.uses(*copy) ? held.orphans : storages;
      one->set_next_orphan(std::exchange(list, one));
    }
    held.unissued.fetch_sub(unissued, std::memory_order_release);
    issuing.groups.clear();
  }
  destroy(storages);
}

void LaunchWindow::issue_oldest(runtime::DeviceState& device, std::size_t most,
                                Failures& failures) {
  detach(device, most);
  Issuing& issuing = window_of(device).issuing;
  if (issuing.groups.empty()) return;
  issuer_.issue(device, issuing, failures);
  recycle(device);
}

void LaunchWindow::issue_device(runtime::DeviceState& device, Failures& failures) {
  if (window_of(device).held.unissued.load(std::memory_order_acquire) == 0) return;
  if (device.is_reclaiming()) return;  // this thread is issuing
  const runtime::TraceScope traced(device.trace(), "issue", "", device.id());
  const runtime::DeviceState::IssueTurn turn(device);
  issue_oldest(device, kAll, failures);
}

void LaunchWindow::issue(runtime::DeviceState& device) {
  Failures failures;
  issue_device(device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::issue_all() {
  const auto holds = [](const auto& window) {
    return window->held.unissued.load(std::memory_order_acquire) != 0;
  };
  if (std::ranges::none_of(windows_, holds)) return;
  Failures failures;
  for (const auto& device : core_.devices()) issue_device(*device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::flush_device(runtime::DeviceState& device, Failures& failures) {
  const runtime::TraceScope traced(device.trace(), "flush", "", device.id());
  issue_device(device, failures);
  const std::lock_guard issue(device.issue_lock());
  try {
    device.streams().submit_all();
    if (std::exchange(window_of(device).issuing.unsubmitted, false)) {
      device.driver().submit(device.driver().queue());
    }
  } catch (...) {
    failures.push_back(current_failure());
  }
}

void LaunchWindow::flush() {
  Failures failures = take_pending();
  for (const auto& device : core_.devices()) flush_device(*device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::flush(runtime::DeviceState& device) {
  Failures failures = take_pending();
  flush_device(device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::issue_from_destructor() noexcept {
  Failures failures;
  try {
    for (const auto& device : core_.devices()) issue_device(*device, failures);
  } catch (...) {
    failures.push_back(current_failure());
  }
  keep_pending(std::move(failures));
}

void LaunchWindow::keep_failure(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (...) {
    keep_pending({current_failure()});
  }
}

void LaunchWindow::exit() noexcept {
  exiting_ = true;
  issuer_.stop_compiling();
  issue_from_destructor();
  Failures failures;
  for (const auto& device : core_.devices()) {
    try {
      device->close();
    } catch (...) {
      failures.push_back(current_failure());
    }
  }
  keep_pending(std::move(failures));
}

}  // namespace salvo::window
