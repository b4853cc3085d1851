// Measures on a device what its compiler makes of multiplies, adds and narrow stores (W53).
// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/device_state.hpp"
#include "salvo/properties.hpp"

namespace salvo::runtime {

/// Compiles and runs three small kernels. The device's issue lock is held. Throws what the driver
/// throws.
FloatProbe measure_floats(DeviceState& device);

}  // namespace salvo::runtime
