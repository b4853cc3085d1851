// How the public functions reach the window of a device or runtime.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>

#include "runtime/core.hpp"
#include "salvo/error.hpp"
#include "window/launch_window.hpp"

namespace salvo::api {

/// A runtime's held work is always the launch window; only the runtime layer may not know it. Null
/// if the runtime was destroyed.
inline window::LaunchWindow* held_by(const runtime::DeviceState& device) noexcept {
  return static_cast<window::LaunchWindow*>(device.held_work());
}
inline window::LaunchWindow* held_by(const runtime::Core& core) noexcept {
  return static_cast<window::LaunchWindow*>(core.held_work());
}

/// Throws if the runtime was destroyed and only a copy of its window is left.
inline window::LaunchWindow& window_of(const runtime::Core& core) {
  if (core.is_inherited()) runtime::refuse_inherited();
  window::LaunchWindow* launches = held_by(core);
  if (!launches) throw Error(Errc::no_device, "the runtime of this window is gone");
  return *launches;
}

inline window::LaunchWindow& window_of(const runtime::DeviceState& device) {
  if (device.is_inherited()) runtime::refuse_inherited();
  window::LaunchWindow* launches = held_by(device);
  if (!launches) throw Error(Errc::no_device, "the runtime of " + device.id() + " is gone");
  return *launches;
}

/// W19: what an operation on a device does before anything else.
inline window::LaunchWindow& flushed(const runtime::DeviceState& device) {
  window::LaunchWindow& launches = window_of(device);
  window::throw_pending();
  launches.issue_all();
  return launches;
}

/// W23: a setter issues what is held first; if that throws, the change is made all the same.
template <class Change>
void flush_then(window::LaunchWindow& launches, Change change) {
  std::exception_ptr failure;
  try {
    launches.issue_all();
  } catch (...) {
    failure = std::current_exception();
  }
  change();
  launches.forget_repetitions();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace salvo::api
