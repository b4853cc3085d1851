// How far a queue has come: by a timeline semaphore, or by fences where a device has none.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "backends/vulkan/vulkan_properties.hpp"

namespace salvo::backends::vulkan {

/// Submissions of one queue, numbered from 1 without a gap. Not thread-safe.
class Progress {
 public:
  static std::unique_ptr<Progress> make(const DeviceApi& api, VkDevice device,
                                        const DeviceFacts& facts);
  /// All that was submitted has completed.
  virtual ~Progress() = default;

  virtual VkResult submit(VkQueue queue, VkCommandBuffer commands, std::uint64_t serial) = 0;
  /// Sets `serial` to the last submission that is known to have completed.
  virtual VkResult completed(std::uint64_t& serial) = 0;
  virtual VkResult wait(std::uint64_t serial) = 0;
  /// The call that `wait` makes.
  virtual const char* waits_by() const noexcept = 0;
};

}  // namespace salvo::backends::vulkan
