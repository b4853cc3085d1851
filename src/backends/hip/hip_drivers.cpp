// What a process knows of its HIP runtime, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#include "backends/hip/hip_drivers.hpp"

#include <utility>

#include <fmt/format.h>

#include "backends/cuda/cuda_error.hpp"

namespace salvo::backends::hip {

Drivers& Drivers::instance() {
  static Drivers& drivers = *new Drivers;
  return drivers;
}

Drivers::Found Drivers::devices() {
  const std::lock_guard lock(mutex_);
  if (found_.devices.empty()) {
    found_ = {};
    search();
  }
  return found_;
}

void Drivers::search() {
  if (!loaded_) {
    std::string reason = load(api_);
    if (!reason.empty()) return found_.obstacles.push_back(std::move(reason));
    loaded_ = true;
  }
  int count = 0;
  const Result status = api_.DeviceCount(&count);
  if (status != kSuccess || count == 0) {
    return found_.obstacles.push_back(
        fmt::format("{} loaded, but it knows no device ({})", api_.library.name(),
                    status == kSuccess ? "the count is 0" : cuda::words(api_, status)));
  }
  for (int i = 0; i < count; ++i) {
    try {
      DeviceFacts facts = hip::read_facts(api_, i);
      if (facts.obstacle.empty()) {
        found_.devices.push_back(std::move(facts));
      } else {
        found_.obstacles.push_back(fmt::format("{}: {}", facts.properties.name, facts.obstacle));
      }
    } catch (const Error& error) {
      // A device that fails must not hide the others.
      found_.obstacles.push_back(fmt::format("device {}: {}", i, error.what()));
    }
  }
}

std::string Drivers::load_compiler() {
  const std::lock_guard lock(mutex_);
  if (has_compiler_) return {};
  std::string reason = hiprtc_.load();
  has_compiler_ = reason.empty();
  return reason;
}

}  // namespace salvo::backends::hip
