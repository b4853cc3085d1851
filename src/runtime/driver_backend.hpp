// A backend on drivers that are searched for devices: what all such backends do alike.
// SPDX-License-Identifier: MIT
//
// `Facts` is what a backend asked a driver about one device. It has `properties` and `obstacle`:
// why the device cannot be used, empty if it can.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/backend.hpp"

namespace salvo::runtime {

/// What a search for devices found.
template <typename Facts>
struct Found {
  std::vector<std::shared_ptr<const Facts>> devices;
  std::vector<std::string> obstacles;  // why there are no others

  /// A device that the driver knows, whether it can be used or not.
  void add(Facts facts) {
    if (facts.obstacle.empty()) {
      devices.push_back(std::make_shared<const Facts>(std::move(facts)));
    } else {
      obstacles.push_back(fmt::format("{}: {}", facts.properties.name, facts.obstacle));
    }
  }
};

/// The devices that a process found (P1). They are kept as long as this is; a search that found
/// none is made again.
template <typename Facts>
class FoundOnce {
 public:
  /// `search` fills a Found; an Error it throws is an obstacle to what was not found before.
  /// Thread-safe: one thread searches, others wait.
  template <typename Search>
  Found<Facts> get(Search&& search) {
    const std::lock_guard lock(mutex_);
    if (found_.devices.empty()) {
      found_ = {};
      try {
        search(found_);
      } catch (const Error& error) {
        found_.obstacles.emplace_back(error.what());
      }
    }
    return found_;
  }

 private:
  std::mutex mutex_;
  Found<Facts> found_;
};

/// Opens every device that is found. One that cannot be opened does not hide the others.
template <typename Facts>
class DriverBackend final : public Backend {
 public:
  /// Called by each `open`; what it finds outlives the devices.
  using Find = std::function<Found<Facts>()>;
  /// Throws Error for a device that cannot be opened.
  using OpenDevice = std::function<std::unique_ptr<DeviceDriver>(const Facts&)>;

  /// `name` and `advice` are literals; `advice` ends the reason why there is no device.
  DriverBackend(std::string_view name, Find find, OpenDevice open_device,
                std::string_view advice = {})
      : name_(name),
        find_(std::move(find)),
        open_device_(std::move(open_device)),
        advice_(advice) {}

  std::string_view name() const noexcept override { return name_; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<DeviceDriver>> open() override {
    std::vector<std::unique_ptr<DeviceDriver>> opened;
    auto [devices, reasons] = find_();
    for (const std::shared_ptr<const Facts>& facts : devices) {
      try {
        opened.push_back(open_device_(*facts));
      } catch (const Error& error) {
        reasons.push_back(fmt::format("{}: {}", facts->properties.name, error.what()));
      }
    }
    unavailable_.reset();
    if (opened.empty()) {
      unavailable_ = Unavailable{fmt::format("{}{}", fmt::join(reasons, "; "), advice_)};
    }
    return opened;
  }

  const std::optional<Unavailable>& unavailable() const noexcept override { return unavailable_; }

 private:
  const std::string_view name_;
  const Find find_;
  const OpenDevice open_device_;
  const std::string_view advice_;
  std::optional<Unavailable> unavailable_;
};

}  // namespace salvo::runtime
