// The VkDevice, and the layouts that all its kernels share.
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/vulkan/vulkan_api.hpp"
#include "backends/vulkan/vulkan_properties.hpp"

namespace salvo::backends::vulkan {

/// In the order of making.
struct Handles {
  DeviceApi api;
  VkDevice device = nullptr;
  VkDescriptorSetLayout table_layout = VK_NULL_HANDLE;
  VkPipelineLayout pipeline_layout = VK_NULL_HANDLE;

  Handles(const InstanceApi& instance, const DeviceFacts& facts);
  ~Handles() { destroy(); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

 private:
  void create(const InstanceApi& instance, const DeviceFacts& facts);
  void make_layouts(const DeviceFacts& facts);
  void destroy() noexcept;
};

}  // namespace salvo::backends::vulkan
