// What a process knows of its HIP runtime, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "backends/hip/hip_api.hpp"
#include "backends/hip/hip_facts.hpp"
#include "backends/hip/hiprtc_api.hpp"

namespace salvo::backends::hip {

class Drivers {
 public:
  /// The process's own; never destroyed, since drivers tear themselves down at exit.
  static Drivers& instance();

  struct Found {
    std::vector<DeviceFacts> devices;
    std::vector<std::string> obstacles;  // why there are no others
  };
  /// A failed search is made again.
  Found devices();
  const Api& api() const noexcept { return api_; }

  /// Loads hiprtc if that was not done. Returns why it cannot be used, or an empty string.
  std::string load_compiler();
  const Hiprtc& compiler() const noexcept { return hiprtc_; }

 private:
  void search();

  std::mutex mutex_;
  Api api_;
  bool loaded_ = false;
  Found found_;
  Hiprtc hiprtc_;
  bool has_compiler_ = false;
};

}  // namespace salvo::backends::hip
