// What a process knows of Metal, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "backends/metal/metal_api.hpp"
#include "backends/metal/metal_properties.hpp"

namespace salvo::backends::metal {

class Drivers {
 public:
  /// The process's own; never destroyed, since drivers tear themselves down at exit.
  static Drivers& instance();

  struct Found {
    std::vector<const DeviceFacts*> devices;
    std::vector<std::string> obstacles;  // why there are no others
  };
  /// A failed search is made again.
  Found devices();
  const Api& api() const noexcept { return api_; }

 private:
  void search();

  std::mutex mutex_;
  Api api_;
  bool loaded_ = false;
  std::deque<DeviceFacts> facts_;
  Found found_;
};

}  // namespace salvo::backends::metal
