// The device's limits on what one launch may carry (W31, W36, W37).
// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/backend.hpp"
#include "salvo/window.hpp"

namespace salvo::window {

/// Room that each member's first block and block count take in a fused launch (W37).
inline constexpr runtime::ParameterCost kMemberCost{8, 2, 8};

/// The limit that parameters of this cost would pass; Reason::none if they fit.
inline Reason limit_passed(const DeviceProperties& device, const runtime::ParameterCost& cost) {
  if (device.parameter_bytes != 0 && cost.bytes > device.parameter_bytes) {
    return Reason::parameter_limit;
  }
  if (device.argument_slots != 0 && cost.slots > device.argument_slots) return Reason::slot_limit;
  if (device.push_constant_bytes != 0 && cost.push_constant_bytes > device.push_constant_bytes) {
    return Reason::push_constant_limit;
  }
  return Reason::none;
}

}  // namespace salvo::window
