// One OpenCL device: memory, code and work.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/opencl/opencl_api.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

/// A device as its driver describes it, asked once in a process (P1).
struct DeviceFacts {
  cl_device_id id = nullptr;
  DeviceProperties properties;
  std::string obstacle;  // why it cannot be used; empty if it can
  bool offers_exact_divide_sqrt = false;  // wants an option, then keeps the promise
};

DeviceFacts read_facts(const Api& api, cl_device_id id);

/// Opens a context and a queue on the device.
std::unique_ptr<runtime::DeviceDriver> make_device(const Api& api, const DeviceFacts& facts);

}  // namespace salvo::backends::opencl
