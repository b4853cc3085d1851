// What is kept of launches that the device took, until a wait has seen their end (W81).
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "runtime/device_state.hpp"
#include "salvo/detail/storage.hpp"
#include "salvo/dims.hpp"
#include "window/held_launch.hpp"

namespace salvo::window {

/// Notes the launch, or each that it stands for, and that it writes what it writes. The issue lock
/// is held.
void note_launched(runtime::DeviceState& device, const runtime::Queue& queue,
                   const HeldLaunch& launch);

/// Throws if the kernel reads what a launch that failed on the device was to write. Takes the issue
/// lock.
void check_losses(runtime::DeviceState& device, const KernelRecord& kernel,
                  std::span<const detail::CallArgument> arguments, const Dims& dims);

}  // namespace salvo::window
