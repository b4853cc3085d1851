// What a process knows of its Level Zero drivers, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_drivers.hpp"

#include <utility>

#include <fmt/format.h>

#include "backends/level_zero/level_zero_error.hpp"

namespace salvo::backends::level_zero {

using ze::Result;

Drivers& Drivers::instance() {
  static Drivers& drivers = *new Drivers;
  return drivers;
}

const runtime::Found<DeviceFacts>& Drivers::devices() {
  const std::lock_guard lock(mutex_);
  if (!searched_) {
    searched_ = true;
    search();
  }
  return found_;
}

void Drivers::search() {
  std::string reason = api_.load();
  if (!reason.empty()) return found_.obstacles.push_back(std::move(reason));
  extensions_.clear();
  // Without flags: some drivers know no other value, and the kinds of device are told apart later.
  if (const Result status = api_.Init(0); status != Result::success) {
    return found_.obstacles.push_back(
        fmt::format("{} loaded, but zeInit answers {}: no driver of this machine can be used",
                    api_.shared_object.name(), result_name(status)));
  }
  std::uint32_t count = 0;
  const Result status = api_.DriverGet(&count, nullptr);
  if (status != Result::success || count == 0) {
    return found_.obstacles.push_back(
        fmt::format("{} loaded, but it knows no driver ({})", api_.shared_object.name(),
                    status == Result::success ? "the count is 0" : result_name(status)));
  }
  std::vector<ze::Driver> drivers(count);
  if (const Result listed = api_.DriverGet(&count, drivers.data()); listed != Result::success) {
    return found_.obstacles.push_back(
        fmt::format("{}: zeDriverGet answers {}", api_.shared_object.name(), result_name(listed)));
  }
  drivers.resize(count);
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    try {
      search(drivers[i]);
    } catch (const Error& error) {
      // A driver that fails must not hide the others.
      found_.obstacles.push_back(fmt::format("driver {}: {}", i, error.what()));
    }
  }
}

void Drivers::search(ze::Driver driver) {
  DriverFacts& facts = drivers_.emplace_back();
  facts.handle = driver;
  check(api_.DriverGetApiVersion(driver, &facts.api_version), "zeDriverGetApiVersion",
        Errc::backend_unavailable);
  ze::DriverProperties properties;
  check(api_.DriverGetProperties(driver, &properties), "zeDriverGetProperties",
        Errc::backend_unavailable);
  facts.version = fmt::format("{:#x}; API {}.{}", properties.driver_version,
                              facts.api_version >> 16, facts.api_version & 0xffff);
  facts.extensions = extensions_.of(api_, driver);
  facts.functions.resolve(api_, driver);
  std::uint32_t count = 0;
  check(api_.DeviceGet(driver, &count, nullptr), "zeDeviceGet", Errc::backend_unavailable);
  std::vector<ze::Device> devices(count);
  if (count > 0) {
    check(api_.DeviceGet(driver, &count, devices.data()), "zeDeviceGet", Errc::backend_unavailable);
  }
  for (ze::Device id : devices) found_.add(read_facts(api_, facts, id));
}

}  // namespace salvo::backends::level_zero
