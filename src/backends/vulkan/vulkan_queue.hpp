// Queues and events of a Vulkan device.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "backends/vulkan/vulkan_recorder.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

/// A label: see Recorder.
class VulkanQueue final : public runtime::Queue {};

class VulkanEvent final : public runtime::Event {
 public:
  VulkanEvent(Recorder& recorder, VkQueryPool timestamp) : query(timestamp), recorder_(recorder) {}
  ~VulkanEvent() override {
    if (query != VK_NULL_HANDLE) recorder_.retire(query);
  }

  const VkQueryPool query;   // of one timestamp; null where the device has none
  std::uint64_t serial = 0;  // batch that reaches it; 0: never recorded

 private:
  Recorder& recorder_;
};

}  // namespace salvo::backends::vulkan
