// The Vulkan backend: every device with Vulkan 1.2 and 64-bit integers.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_backend.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/vulkan/vulkan_device.hpp"
#include "backends/vulkan/vulkan_drivers.hpp"
#include "backends/vulkan/vulkan_error.hpp"

namespace salvo::backends::vulkan {
namespace {

class VulkanBackend final : public runtime::Backend {
 public:
  explicit VulkanBackend(const Settings& settings) : settings_(settings) {}

  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
    std::vector<std::string> reasons;
    try {
      Drivers& drivers = Drivers::of(settings_.validation);
      auto [devices, obstacles] = drivers.devices();
      reasons = std::move(obstacles);
      for (const DeviceFacts& facts : devices) {
        try {
          opened.push_back(std::make_unique<VulkanDevice>(drivers, facts, settings_));
        } catch (const Error& error) {
          reasons.push_back(fmt::format("{}: {}", facts.properties.name, error.what()));
        }
      }
    } catch (const Error& error) {
      reasons.push_back(error.what());
    }
    if (opened.empty()) {
      unavailable_ = runtime::Unavailable{fmt::format("{}", fmt::join(reasons, "; "))};
    } else {
      unavailable_.reset();
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

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings) {
  return std::make_unique<VulkanBackend>(settings);
}

}  // namespace salvo::backends::vulkan
