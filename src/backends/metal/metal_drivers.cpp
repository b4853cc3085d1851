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

runtime::Found<DeviceFacts> Drivers::devices() {
  return found_.get([this](runtime::Found<DeviceFacts>& found) { search(found); });
}

void Drivers::search(runtime::Found<DeviceFacts>& found) {
  if (!loaded_) {
    std::string reason = api_.load();
    if (!reason.empty()) return found.obstacles.push_back(std::move(reason));
    loaded_ = true;
  }
  const Pool pool(api_);
  const Owned all = own(api_, api_.MTLCopyAllDevices());
  const UInt count = api_.count(all.get());
  if (count == 0) {
    return found.obstacles.push_back(
        fmt::format("{} loaded, but it knows no device", api_.framework.name()));
  }
  for (UInt i = 0; i < count; ++i) found.add(read_facts(api_, api_.object_at(all.get(), i)));
}

}  // namespace salvo::backends::metal
