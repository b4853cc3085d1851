// What a process knows of Metal, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_drivers.hpp"

#include <utility>

#include <fmt/format.h>

#include "backends/metal/metal_error.hpp"

namespace salvo::backends::metal {

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
    std::string reason = api_.load();
    if (!reason.empty()) return found_.obstacles.push_back(std::move(reason));
    loaded_ = true;
  }
  const Pool pool(api_);
  const Owned all = own(api_, api_.MTLCopyAllDevices());
  const UInt count = api_.count(all.get());
  if (count == 0) {
    return found_.obstacles.push_back(
        fmt::format("{} loaded, but it knows no device", api_.framework.name()));
  }
  for (UInt i = 0; i < count; ++i) {
    DeviceFacts facts = read_facts(api_, api_.object_at(all.get(), i));
    if (facts.obstacle.empty()) {
      found_.devices.push_back(&facts_.emplace_back(std::move(facts)));
    } else {
      found_.obstacles.push_back(fmt::format("{}: {}", facts.properties.name, facts.obstacle));
    }
  }
}

}  // namespace salvo::backends::metal
