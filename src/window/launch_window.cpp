// Vectors that move while launches are held, what the window owns, and caches that are dropped.
// SPDX-License-Identifier: MIT
#include "window/launch_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "window/hazards.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

/// R5: out of memory says what is in use besides what was asked for.
Error with_memory_words(const Error& failure, runtime::DeviceState& device) {
  if (failure.code() != Errc::out_of_memory) return failure;
  const runtime::PoolStatistics pool = device.pool().statistics();
  Error::Details details = failure.details();
  details.message += fmt::format("; {} holds {} bytes in vectors and {} bytes free for reuse",
                                 device.id(), pool.in_use, pool.cached);
  return Error(std::move(details));
}

}  // namespace

bool are_ready(std::span<const detail::CallArgument> arguments,
               const runtime::DeviceState& device) noexcept {
  return std::ranges::all_of(
      arguments, [&](const detail::CallArgument& argument) { return is_ready(argument, device); });
}

LaunchWindow::LaunchWindow(runtime::Core& core)
    : core_(core), explain_(core.environment().explain, core.trace()) {
  settings_.set_enabled(core.environment().window);
  settings_.set_epilogue(core.environment().epilogue);
  settings_.set_background_compile(core.environment().background_compile);
  for (std::size_t i = 0; i < core.devices().size(); ++i) {
    windows_.push_back(std::make_unique<DeviceWindow>());
  }
}

void LaunchWindow::destroy(runtime::Storage* orphans) noexcept {
  while (orphans) delete std::exchange(orphans, orphans->next_orphan());
}

LaunchWindow::~LaunchWindow() {
  for (const auto& window : windows_) {
    destroy(window->held.orphans);
  }
}

bool LaunchWindow::adopt(const runtime::DeviceState& device, runtime::Storage& storage) noexcept {
  Held& held = window_of(device).held;
  const std::lock_guard lock(held.lock);
  const runtime::DeviceCopy* copy = storage.copy_on(device);
  if (!copy || !held.uses(*copy)) return false;
  storage.set_next_orphan(std::exchange(held.orphans, &storage));
  return true;
}

bool LaunchWindow::retire(runtime::DeviceState& device, runtime::Storage& storage) {
  Held& held = window_of(device).held;
  const std::lock_guard issue(device.issue_lock());
  const std::lock_guard lock(held.lock);
  const runtime::DeviceCopy* copy = storage.copy_on(device);
  if (!copy) return true;
  return !held.uses(*copy) && storage.drop_copy(device);
}

bool LaunchWindow::hand_over(runtime::DeviceState& device, runtime::DeviceState& heir,
                             runtime::Storage& storage) {
  Held& held = window_of(device).held;
  const std::scoped_lock issue(device.issue_lock(), heir.issue_lock());
  std::unique_ptr<runtime::DeviceCopy> copy;
  try {
    copy = storage.copy_to_peer(device, heir);
  } catch (const Error& failure) {
    // The road through the host makes room first.
    if (failure.code() != Errc::out_of_memory) throw;
  }
  if (!copy) return false;
  {
    const std::lock_guard lock(held.lock);
    const runtime::DeviceCopy* old = storage.copy_on(device);
    if (old && !held.uses(*old) && storage.replace_copy(device, copy)) return true;
  }
  heir.pool().free({copy->buffer, std::move(copy->uses)});
  return false;
}

bool LaunchWindow::try_upload(runtime::DeviceState& device,
                              std::span<const detail::CallArgument> arguments) {
  return std::ranges::all_of(arguments, [&](const detail::CallArgument& argument) {
    return !argument.storage || argument.storage->make_current(device, argument.overwritten);
  });
}

void LaunchWindow::relieve(runtime::DeviceState& device) {
  issue_all();
  const std::lock_guard issue(device.issue_lock());
  device.finish_all();
  device.pool().trim();
}

void LaunchWindow::bring_to_device(runtime::DeviceState& device,
                                   std::span<const detail::CallArgument> arguments) {
  bool relieved = false;
  for (;;) {
    bool flush = false;
    for (const detail::CallArgument& argument : arguments) {
      if (is_ready(argument, device)) continue;
      if (argument.storage->on_other_device(device)) {
        argument.storage->leave_for(device);
        continue;
      }
      Held& held = window_of(device).held;
      const std::lock_guard lock(held.lock);
      const runtime::DeviceCopy* copy = argument.storage->copy_on(device);
      flush = flush || (copy && held.uses(*copy));  // W17
    }
    if (flush) issue_all();
    try {
      const std::lock_guard issue(device.issue_lock());
      if (try_upload(device, arguments)) return;
      continue;
    } catch (...) {
      const Error failure = current_failure();
      if (failure.code() != Errc::out_of_memory || relieved) {
        throw CallFailed{with_memory_words(failure, device)};
      }
    }
    relieve(device);  // R5: once, then the request is tried again
    relieved = true;
  }
}

void LaunchWindow::upload(runtime::DeviceState& device,
                          std::span<const detail::CallArgument> arguments) {
  try {
    bring_to_device(device, arguments);
  } catch (const CallFailed& failure) {
    throw Error(failure.error);
  }
}

std::uint64_t LaunchWindow::ran_again(std::size_t reason) const noexcept {
  std::uint64_t count = 0;
  for (const auto& window : windows_) count += window->issuing.again.of(reason);
  return count;
}

void LaunchWindow::reset_counts() noexcept {
  counters_.reset();
  for (const auto& window : windows_) window->issuing.again.reset();
}

void LaunchWindow::clear_fused_cache() {
  forget_repetitions();
  for (const auto& device : core_.devices()) {
    const runtime::DeviceState::IssueTurn turn(*device);
    window_of(*device).issuing.plans.clear();
  }
  issuer_.clear_cache();
  placer_.clear_cache();
}

void LaunchWindow::clear_launch_cache() {
  forget_repetitions();
  Failures failures;
  for (const auto& device : core_.devices()) {
    const runtime::DeviceState::IssueTurn turn(*device);
    try {
      device->finish(device->driver().queue());
    } catch (...) {
      failures.push_back(current_failure());
    }
    window_of(*device).issuing.plans.clear();
    device->clear_executables();
  }
  issuer_.clear_cache();
  placer_.clear_cache();
  keep_pending(std::move(failures));
}

std::uint64_t LaunchWindow::held_count() const {
  std::uint64_t held = 0;
  for (const auto& window : windows_) {
    const std::lock_guard lock(window->held.lock);
    held += window->held.launches();
  }
  return held;
}

}  // namespace salvo::window
