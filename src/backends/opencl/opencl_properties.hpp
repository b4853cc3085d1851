// What a driver says of its device, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/opencl/opencl_api.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::opencl {

struct DeviceFacts {
  cl_device_id id = nullptr;
  DeviceProperties properties;
  std::string obstacle;                   // why it cannot be used; empty if it can
  bool offers_exact_divide_sqrt = false;  // wants an option, then keeps the promise
  bool has_opencl_c_3 = false;            // the language version that has subgroups is 3.0, not 2.0
};

DeviceFacts read_facts(const Api& api, cl_device_id id);

}  // namespace salvo::backends::opencl
