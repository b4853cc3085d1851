// Which cooperative matrices a device has, by VK_KHR_cooperative_matrix (K12).
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "backends/vulkan/vulkan_api.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::vulkan {

inline constexpr const char* kMatrixExtension = "VK_KHR_cooperative_matrix";

/// Those of a subgroup whose types kernels have. The device must have the extension.
std::vector<CooperativeMatrixShape> read_matrices(const InstanceApi& api, VkPhysicalDevice device);

}  // namespace salvo::backends::vulkan
