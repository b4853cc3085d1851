// What a process knows of its CUDA driver, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/cuda_api.hpp"
#include "backends/cuda/cuda_facts.hpp"
#include "backends/cuda/nvrtc_api.hpp"

namespace salvo::backends::cuda {

class Drivers {
 public:
  /// The process's own; never destroyed, since drivers tear themselves down at exit, in an order
  /// nobody can rely on.
  static Drivers& instance();

  struct Found {
    std::vector<DeviceFacts> devices;
    std::vector<std::string> obstacles;  // why there are no others
  };
  /// A failed search is made again.
  Found devices();
  const Api& api() const noexcept { return api_; }

  /// Loads NVRTC if that was not done. Returns why it cannot be used, or an empty string.
  std::string load_compiler();
  const Nvrtc& compiler() const noexcept { return nvrtc_; }

 private:
  void search();

  std::mutex mutex_;
  Api api_;
  bool loaded_ = false;
  Found found_;
  Nvrtc nvrtc_;
  bool has_compiler_ = false;
};

}  // namespace salvo::backends::cuda
