// The Level Zero backend: every device of every driver.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_backend.hpp"

#include "backends/level_zero/level_zero_device.hpp"
#include "backends/level_zero/level_zero_drivers.hpp"
#include "backends/level_zero/level_zero_error.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::level_zero {

const Api& shared_api() noexcept {
  return Drivers::instance().api();
}

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings) {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(
      kName, [] { return Drivers::instance().devices(); },
      [settings](const DeviceFacts& facts) {
        return std::make_unique<LevelZeroDevice>(Drivers::instance().api(), facts, settings);
      });
}

}  // namespace salvo::backends::level_zero
