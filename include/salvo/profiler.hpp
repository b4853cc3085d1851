// How long a device takes for each kernel, on its own clock.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "salvo/device.hpp"

namespace salvo {

namespace runtime {
class LaunchTimes;
}

/// The launches of one kernel while a Profiler watched. A fused kernel stands under a name of its
/// own, which begins with "fused" or joins the kernels' names by "+".
struct KernelTime {
  std::string name;
  std::uint64_t launches = 0;
  double total_ms = 0;
  double mean_ms = 0;
};

/// Measures the launches of a device, streams included, that are made while it watches (R8). Every
/// call issues what is held first, so that exactly the launches made inside count. Launches are
/// never waited for meanwhile, but measuring them costs two events each. Any thread may use it; any
/// number may watch one device.
class Profiler {
 public:
  /// Starts to watch. Throws Errc::unsupported on a backend without events.
  explicit Profiler(const Device& device);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Ends watching; the times stay.
  void stop();
  /// By total time, the longest first. Waits for the launches so far.
  std::vector<KernelTime> kernels() const;

 private:
  Device device_;
  std::shared_ptr<runtime::LaunchTimes> times_;
  bool watching_ = true;
};

}  // namespace salvo
