// The Vulkan functions this backend calls, loaded at run time.
// SPDX-License-Identifier: MIT
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>

#include "runtime/library.hpp"

namespace salvo::backends::vulkan {

// clang-format off
#define SALVO_VULKAN_INSTANCE_FUNCTIONS(apply)                                                     \
  apply(CreateDevice) apply(EnumerateDeviceExtensionProperties) apply(EnumeratePhysicalDevices)    \
  apply(GetDeviceProcAddr) apply(GetPhysicalDeviceFeatures2)                                       \
  apply(GetPhysicalDeviceMemoryProperties) apply(GetPhysicalDeviceProperties2)                     \
  apply(GetPhysicalDeviceQueueFamilyProperties)

#define SALVO_VULKAN_DEVICE_FUNCTIONS(apply)                                                       \
  apply(AllocateCommandBuffers) apply(AllocateDescriptorSets) apply(AllocateMemory)                \
  apply(BeginCommandBuffer) apply(BindBufferMemory) apply(CmdBindDescriptorSets)                   \
  apply(CmdBindPipeline) apply(CmdCopyBuffer) apply(CmdDispatch) apply(CmdFillBuffer)             \
  apply(CmdPipelineBarrier)                                                                        \
  apply(CmdPushConstants) apply(CmdResetQueryPool) apply(CmdWriteTimestamp) apply(CreateBuffer)    \
  apply(CreateCommandPool) apply(CreateComputePipelines) apply(CreateDescriptorPool)               \
  apply(CreateDescriptorSetLayout) apply(CreateFence) apply(CreatePipelineCache)                   \
  apply(CreatePipelineLayout) apply(CreateQueryPool) apply(CreateSemaphore)                        \
  apply(CreateShaderModule) apply(DestroyBuffer) apply(DestroyCommandPool)                         \
  apply(DestroyDescriptorPool) apply(DestroyDescriptorSetLayout) apply(DestroyDevice)              \
  apply(DestroyFence) apply(DestroyPipeline) apply(DestroyPipelineCache)                           \
  apply(DestroyPipelineLayout) apply(DestroyQueryPool) apply(DestroySemaphore)                     \
  apply(DestroyShaderModule) apply(DeviceWaitIdle) apply(EndCommandBuffer) apply(FreeMemory)       \
  apply(GetBufferDeviceAddress) apply(GetBufferMemoryRequirements) apply(GetDeviceQueue)           \
  apply(GetFenceStatus) apply(GetPipelineCacheData) apply(GetQueryPoolResults)                     \
  apply(GetSemaphoreCounterValue) apply(MapMemory) apply(QueueSubmit) apply(ResetCommandPool)      \
  apply(ResetFences) apply(UpdateDescriptorSets) apply(WaitForFences) apply(WaitSemaphores)
// clang-format on

/// Structures of VK_KHR_cooperative_matrix, which may be younger than the headers at hand: laid out
/// as the specification has VkPhysicalDeviceCooperativeMatrixFeaturesKHR and
/// VkCooperativeMatrixPropertiesKHR.
struct MatrixFeatures {
  VkStructureType type = static_cast<VkStructureType>(1000506000);
  void* next = nullptr;
  VkBool32 matrices = VK_FALSE;
  VkBool32 robust_buffer_access = VK_FALSE;
};
struct MatrixProperties {
  VkStructureType type = static_cast<VkStructureType>(1000506001);
  void* next = nullptr;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t a_type = 0;  // VkComponentTypeKHR
  std::uint32_t b_type = 0;
  std::uint32_t c_type = 0;
  std::uint32_t result_type = 0;
  VkBool32 saturates = VK_FALSE;
  std::uint32_t scope = 0;  // VkScopeKHR
};
using GetMatrices = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, MatrixProperties*);

/// What the loader library itself offers.
struct Loader {
  runtime::Library shared_object;
  runtime::Function<PFN_vkGetInstanceProcAddr> GetInstanceProcAddr;
  runtime::Function<PFN_vkCreateInstance> CreateInstance;
  runtime::Function<PFN_vkEnumerateInstanceLayerProperties> EnumerateInstanceLayerProperties;
  runtime::Function<PFN_vkEnumerateInstanceExtensionProperties>
      EnumerateInstanceExtensionProperties;
  runtime::Function<PFN_vkEnumerateInstanceVersion> EnumerateInstanceVersion;

  /// Fills the table. Returns why it cannot be used, or an empty string.
  std::string load();
};

#define SALVO_VULKAN_DECLARE(name) runtime::Function<PFN_vk##name> name;
struct InstanceApi {
  SALVO_VULKAN_INSTANCE_FUNCTIONS(SALVO_VULKAN_DECLARE)
  /// vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR; not there before its extension.
  runtime::Function<GetMatrices> GetPhysicalDeviceMatrices;
  std::string load(const Loader& loader, VkInstance instance);
};

/// Functions of one device, past the loader's dispatch; each counts its calls.
struct DeviceApi {
  SALVO_VULKAN_DEVICE_FUNCTIONS(SALVO_VULKAN_DECLARE)
  std::string load(const InstanceApi& api, VkDevice device);
  runtime::CallCounts calls() const;
};
#undef SALVO_VULKAN_DECLARE

}  // namespace salvo::backends::vulkan
