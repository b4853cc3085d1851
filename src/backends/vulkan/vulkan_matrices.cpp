// Which cooperative matrices a device has, by VK_KHR_cooperative_matrix (K12).
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_matrices.hpp"

#include <algorithm>
#include <optional>

#include "backends/vulkan/vulkan_error.hpp"

namespace salvo::backends::vulkan {
namespace {

/// Of VkComponentTypeKHR.
std::optional<ir::Scalar> scalar_of(std::uint32_t component) {
  if (component == 0) return ir::Scalar::F16;
  if (component == 1) return ir::Scalar::F32;
  return std::nullopt;
}

}  // namespace

std::vector<CooperativeMatrixShape> read_matrices(const InstanceApi& api, VkPhysicalDevice device) {
  MatrixFeatures has;
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &has;
  api.GetPhysicalDeviceFeatures2(device, &features);
  if (has.matrices == VK_FALSE || !api.GetPhysicalDeviceMatrices) return {};

  constexpr auto kCall = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
  std::uint32_t count = 0;
  check(api.GetPhysicalDeviceMatrices(device, &count, nullptr), kCall, Errc::backend_unavailable);
  std::vector<MatrixProperties> all(count);
  check(api.GetPhysicalDeviceMatrices(device, &count, all.data()), kCall,
        Errc::backend_unavailable);

  constexpr std::uint32_t kSubgroup = 3;  // VK_SCOPE_SUBGROUP_KHR
  std::vector<CooperativeMatrixShape> shapes;
  for (const MatrixProperties& one : all) {
    const auto inputs = scalar_of(one.a_type), sum = scalar_of(one.c_type);
    if (one.scope != kSubgroup || one.saturates != VK_FALSE || inputs != ir::Scalar::F16 || !sum ||
        one.b_type != one.a_type || one.result_type != one.c_type) {
      continue;
    }
    const CooperativeMatrixShape shape{one.m, one.n, one.k, *inputs, *sum};
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

}  // namespace salvo::backends::vulkan
