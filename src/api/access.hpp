// How the public functions reach the window of a device or runtime.
// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/core.hpp"
#include "window/launch_window.hpp"

namespace salvo::api {

/// A runtime's held work is always the launch window; only the runtime layer may not know it.
inline window::LaunchWindow& window_of(const runtime::Core& core) {
  return static_cast<window::LaunchWindow&>(core.held_work());
}

}  // namespace salvo::api
