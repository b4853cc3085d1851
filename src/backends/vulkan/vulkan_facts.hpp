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
  std::uint32_t push_constant_bytes = 128;  // of the device; more than 128 on request only
  std::uint32_t table_bytes = 0;            // largest argument table
  std::uint32_t table_alignment = 256;
  double timestamp_ns = 0;  // of one tick; 0: no timestamps
  bool atomics_shared_i64 = false;

  // Features to switch on.
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  bool float_atomics = false;  // VK_EXT_shader_atomic_float
};

DeviceFacts read_facts(const InstanceApi& api, VkPhysicalDevice handle);

}  // namespace salvo::backends::vulkan
