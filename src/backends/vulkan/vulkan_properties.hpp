// What a driver says of one of its devices, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "backends/vulkan/vulkan_api.hpp"
#include "codegen/spirv/options.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::vulkan {

/// More than any driver offers today; launches put them together in an array of this size.
inline constexpr std::uint32_t kMostPushConstants = 256;

struct DeviceFacts {
  VkPhysicalDevice handle = nullptr;
  DeviceProperties properties;
  std::string obstacle;  // why it cannot be used; empty if it can
  codegen::spirv::Options options;

  std::uint32_t queue_family = 0;
  VkPhysicalDeviceMemoryProperties memory{};
  std::uint32_t table_bytes = 0;  // largest argument table
  std::uint32_t table_alignment = 256;
  double timestamp_ns = 0;  // of one tick; 0: no timestamps
  bool atomics_shared_i64 = false;
  std::uint64_t storage_buffer_bytes = 0;  // largest that can be bound
  std::uint32_t storage_buffers = 0;       // most that a kernel can have bound
  /// What every pipeline cache of the device starts with: it takes no other's (W73).
  VkPipelineCacheHeaderVersionOne pipeline_cache{};

  // Features to switch on.
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  bool float_atomics = false;  // VK_EXT_shader_atomic_float
};

DeviceFacts read_facts(const InstanceApi& api, VkPhysicalDevice handle);

/// The device has no cooperative matrices from now on.
void use_no_matrices(DeviceFacts& facts);

/// Spans are storage buffers from now on, though the device may have addresses.
void use_storage_buffers(DeviceFacts& facts);

}  // namespace salvo::backends::vulkan
