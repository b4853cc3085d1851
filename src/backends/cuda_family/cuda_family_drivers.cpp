// What a process knows of a driver of the family, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_drivers.hpp"

#include <utility>

#include <fmt/format.h>

#include "backends/cuda_family/cuda_family_error.hpp"

namespace salvo::backends::cuda_family {

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
    std::string reason = load_(api_);
    if (!reason.empty()) return found_.obstacles.push_back(std::move(reason));
    loaded_ = true;
  }
  int count = 0;
  const Result status = api_.DeviceCount(&count);
  if (status != kSuccess || count == 0) {
    return found_.obstacles.push_back(
        fmt::format("{} loaded, but it knows no device ({})", api_.shared_object.name(),
                    status == kSuccess ? "the count is 0" : words(api_, status)));
  }
  for (int i = 0; i < count; ++i) {
    try {
      DeviceFacts facts = read_facts_(api_, i);
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

}  // namespace salvo::backends::cuda_family
