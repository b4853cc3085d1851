// What a process knows of its OpenCL drivers, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_properties.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::opencl {

class Drivers {
 public:
  /// Never destroyed: drivers tear themselves down at exit, in an order nobody can rely on.
  static Drivers& instance();

  const Api& api() const noexcept { return api_; }
  runtime::Found<DeviceFacts> devices();

 private:
  void search(runtime::Found<DeviceFacts>& found);
  void search(cl_platform_id platform, runtime::Found<DeviceFacts>& found) const;
  std::string name_of(cl_platform_id platform) const;

  Api api_;
  bool loaded_ = false;
  runtime::FoundOnce<DeviceFacts> found_;
};

}  // namespace salvo::backends::opencl
