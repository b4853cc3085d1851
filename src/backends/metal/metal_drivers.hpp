// What a process knows of Metal, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/metal/metal_api.hpp"
#include "backends/metal/metal_properties.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::metal {

class Drivers {
 public:
  /// The process's own; never destroyed, since drivers tear themselves down at exit.
  static Drivers& instance();

  runtime::Found<DeviceFacts> devices();
  const Api& api() const noexcept { return api_; }

 private:
  void search(runtime::Found<DeviceFacts>& found);

  Api api_;
  bool loaded_ = false;
  runtime::FoundOnce<DeviceFacts> found_;
};

}  // namespace salvo::backends::metal
