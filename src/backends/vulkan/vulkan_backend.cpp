// The Vulkan backend: every device with Vulkan 1.2 and 64-bit integers.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_backend.hpp"

#include "backends/vulkan/vulkan_device.hpp"
#include "backends/vulkan/vulkan_drivers.hpp"
#include "backends/vulkan/vulkan_error.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::vulkan {

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings) {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(
      kName, [settings] { return Drivers::of(settings.validation).devices(); },
      [settings](const DeviceFacts& facts) {
        return std::make_unique<VulkanDevice>(Drivers::of(settings.validation), facts, settings);
      });
}

}  // namespace salvo::backends::vulkan
