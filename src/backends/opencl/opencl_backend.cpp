// The OpenCL backend: every device of every platform.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_backend.hpp"

#include "backends/opencl/opencl_device.hpp"
#include "backends/opencl/opencl_drivers.hpp"
#include "backends/opencl/opencl_error.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::opencl {

const Api& shared_api() noexcept {
  return Drivers::instance().api();
}

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(
      kName, [] { return Drivers::instance().devices(); },
      [](const DeviceFacts& facts) {
        return std::make_unique<OpenclDevice>(Drivers::instance().api(), facts);
      });
}

}  // namespace salvo::backends::opencl
