// The Level Zero backend: every device of every driver.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_backend.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/level_zero/level_zero_device.hpp"
#include "backends/level_zero/level_zero_drivers.hpp"
#include "backends/level_zero/level_zero_error.hpp"

namespace salvo::backends::level_zero {
namespace {

class LevelZeroBackend final : public runtime::Backend {
 public:
  explicit LevelZeroBackend(const Settings& settings) : settings_(settings) {}

  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
    Drivers& drivers = Drivers::instance();
    const Drivers::Found& found = drivers.devices();
    std::vector<std::string> reasons = found.obstacles;
    for (const DeviceFacts& facts : found.devices) {
      try {
        opened.push_back(std::make_unique<LevelZeroDevice>(drivers.api(), facts, settings_));
      } catch (const Error& error) {
        reasons.push_back(fmt::format("{}: {}", facts.properties.name, error.what()));
      }
    }
    unavailable_.reset();
    if (opened.empty()) {
      unavailable_ = runtime::Unavailable{fmt::format("{}", fmt::join(reasons, "; "))};
    }
    return opened;
  }

  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  const Settings settings_;
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace

const Api& shared_api() noexcept {
  return Drivers::instance().api();
}

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings) {
  return std::make_unique<LevelZeroBackend>(settings);
}

}  // namespace salvo::backends::level_zero
