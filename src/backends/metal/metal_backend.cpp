// The Metal backend: MSL compiled by the system, for every GPU of a Mac.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_backend.hpp"

#include "backends/metal/metal_device.hpp"
#include "backends/metal/metal_drivers.hpp"
#include "backends/metal/metal_error.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::metal {
namespace {

constexpr std::string_view kAdvice =
    ". Metal is a part of macOS (11 or later) and of no other system: there is nothing to install, "
    "use another backend here";

}  // namespace

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(
      kName, [] { return Drivers::instance().devices(); },
      [](const DeviceFacts& facts) {
        return std::make_unique<MetalDevice>(Drivers::instance().api(), facts);
      },
      kAdvice);
}

}  // namespace salvo::backends::metal
