// What a process knows of a driver of the family, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_drivers.hpp"

#include <utility>

#include <fmt/format.h>

#include "backends/cuda_family/cuda_family_error.hpp"

namespace salvo::backends::cuda_family {

runtime::Found<DeviceFacts> Drivers::devices() {
  return found_.get([this](runtime::Found<DeviceFacts>& found) { search(found); });
}

void Drivers::search(runtime::Found<DeviceFacts>& found) {
  if (!loaded_) {
    std::string reason = load_(api_);
    if (!reason.empty()) return found.obstacles.push_back(std::move(reason));
    loaded_ = true;
  }
  int count = 0;
  const Result status = api_.DeviceCount(&count);
  if (status != kSuccess || count == 0) {
    return found.obstacles.push_back(
        fmt::format("{} loaded, but it knows no device ({})", api_.shared_object.name(),
                    status == kSuccess ? "the count is 0" : words(api_, status)));
  }
  for (int i = 0; i < count; ++i) {
    try {
      found.add(read_facts_(api_, i));
    } catch (const Error& error) {
      // A device that fails must not hide the others.
      found.obstacles.push_back(fmt::format("device {}: {}", i, error.what()));
    }
  }
}

}  // namespace salvo::backends::cuda_family
