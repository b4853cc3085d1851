// The VkDevice, and the layouts that all its kernels share.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_handles.hpp"

#include <string>
#include <utility>
#include <vector>

#include "backends/vulkan/vulkan_error.hpp"
#include "backends/vulkan/vulkan_matrices.hpp"

namespace salvo::backends::vulkan {

Handles::Handles(const InstanceApi& instance, const DeviceFacts& facts) {
  create(instance, facts);
  const std::string missing = api.load(instance, device);
  if (!missing.empty()) {
    throw Error(Error::Details{.code = Errc::backend_unavailable,
                               .message = missing,
                               .backend = std::string(kName),
                               .operation = "vkGetDeviceProcAddr"});
  }
  try {
    make_layouts(facts);
  } catch (...) {
    destroy();
    throw;
  }
}

void Handles::destroy() noexcept {
  api.DestroyPipelineLayout(device, pipeline_layout, nullptr);
  api.DestroyDescriptorSetLayout(device, table_layout, nullptr);
  api.DestroyDevice(device, nullptr);
}

void Handles::create(const InstanceApi& instance, const DeviceFacts& facts) {
  // Linked structures stay in this frame until the call returns (P8).
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.features = facts.features;
  VkPhysicalDeviceVulkan11Features features11 = facts.features11;
  VkPhysicalDeviceVulkan12Features features12 = facts.features12;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics{};
  float_atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  float_atomics.shaderBufferFloat32AtomicAdd = VK_TRUE;
  features.pNext = &features11;
  features11.pNext = &features12;
  MatrixFeatures matrices;
  matrices.matrices = VK_TRUE;
  std::vector<const char*> extensions;
  if (facts.float_atomics) {
    extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
    float_atomics.pNext = std::exchange(features12.pNext, &float_atomics);
  }
  if (!facts.properties.cooperative_matrices.empty()) {
    extensions.push_back(kMatrixExtension);
    features12.shaderFloat16 = VK_TRUE;
    matrices.next = std::exchange(features12.pNext, &matrices);
  }

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = facts.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(instance.CreateDevice(facts.handle, &info, nullptr, &device), "vkCreateDevice",
        Errc::backend_unavailable);
}

/// All kernels share one layout, so that binding an argument table survives a change of pipeline.
void Handles::make_layouts(const DeviceFacts& facts) {
  VkDescriptorSetLayoutBinding binding{};
  binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
  binding.descriptorCount = 1;
  binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = 1;
  set.pBindings = &binding;
  check(api.CreateDescriptorSetLayout(device, &set, nullptr, &table_layout),
        "vkCreateDescriptorSetLayout", Errc::backend_unavailable);
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, facts.options.push_constant_room};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &table_layout;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  check(api.CreatePipelineLayout(device, &layout, nullptr, &pipeline_layout),
        "vkCreatePipelineLayout", Errc::backend_unavailable);
}

}  // namespace salvo::backends::vulkan
