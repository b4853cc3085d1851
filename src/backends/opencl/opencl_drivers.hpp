// What a process knows of its OpenCL drivers, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_properties.hpp"

namespace salvo::backends::opencl {

class Drivers {
 public:
  /// Never destroyed: drivers tear themselves down at exit, in an order nobody can rely on.
  static Drivers& instance();

  const Api& api() const noexcept { return api_; }
  /// The devices, or the reasons why there are none. A failed search is made again.
  std::pair<std::vector<DeviceFacts>, std::vector<std::string>> devices();

 private:
  void search();
  void search(cl_platform_id platform);
  std::string name_of(cl_platform_id platform) const;

  std::mutex mutex_;
  Api api_;
  bool loaded_ = false;
  std::vector<DeviceFacts> devices_;
  std::vector<std::string> obstacles_;
};

}  // namespace salvo::backends::opencl
