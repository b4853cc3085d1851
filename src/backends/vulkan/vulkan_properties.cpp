// What a driver says of one of its devices, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_properties.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "backends/vulkan/vulkan_error.hpp"
#include "backends/vulkan/vulkan_matrices.hpp"

namespace salvo::backends::vulkan {
namespace {

/// Some drivers allow a million, and then take minutes to make a layout with as many.
constexpr std::uint32_t kMostStorageBuffers = 1024;

/// Structures that a query links: they live together, in one place that outlives the call (P8).
struct Answers {
  VkPhysicalDeviceFeatures2 features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics{};
  VkPhysicalDeviceProperties2 properties{};
  VkPhysicalDeviceVulkan11Properties properties11{};
  VkPhysicalDeviceVulkan12Properties properties12{};
};

void ask(const InstanceApi& api, VkPhysicalDevice device, bool has_float_atomics, Answers& to) {
  to.features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  to.features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  to.features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  to.float_atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  to.features.pNext = &to.features11;
  to.features11.pNext = &to.features12;
  if (has_float_atomics) to.features12.pNext = &to.float_atomics;
  api.GetPhysicalDeviceFeatures2(device, &to.features);

  to.properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  to.properties11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  to.properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  to.properties.pNext = &to.properties11;
  to.properties11.pNext = &to.properties12;
  api.GetPhysicalDeviceProperties2(device, &to.properties);
}

bool has_extension(const InstanceApi& api, VkPhysicalDevice device, const char* name) {
  std::uint32_t count = 0;
  check(api.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr),
        "vkEnumerateDeviceExtensionProperties", Errc::backend_unavailable);
  std::vector<VkExtensionProperties> all(count);
  check(api.EnumerateDeviceExtensionProperties(device, nullptr, &count, all.data()),
        "vkEnumerateDeviceExtensionProperties", Errc::backend_unavailable);
  return std::any_of(all.begin(), all.end(), [&](const VkExtensionProperties& one) {
    return std::strcmp(one.extensionName, name) == 0;
  });
}

std::string missing_features(const Answers& answers) {
  std::string missing;
  const auto require = [&](VkBool32 there, const char* name) {
    if (!there) missing += fmt::format("{}{}", missing.empty() ? "it lacks " : ", ", name);
  };
  require(answers.features.features.shaderInt64, "shaderInt64");
  require(answers.features12.bufferDeviceAddress ||
              answers.features.features.shaderStorageBufferArrayDynamicIndexing,
          "bufferDeviceAddress and shaderStorageBufferArrayDynamicIndexing");
  require(answers.features12.uniformBufferStandardLayout, "uniformBufferStandardLayout");
  return missing;
}

/// What is switched on: of all there is, what modules may use.
void choose_features(const Answers& has, DeviceFacts& facts) {
  facts.features.shaderInt64 = VK_TRUE;
  facts.features.shaderInt16 = has.features.features.shaderInt16;
  facts.features.shaderFloat64 = has.features.features.shaderFloat64;
  facts.features.shaderStorageBufferArrayDynamicIndexing =
      has.features.features.shaderStorageBufferArrayDynamicIndexing;
  facts.features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  facts.features11.storageBuffer16BitAccess = has.features11.storageBuffer16BitAccess;
  VkPhysicalDeviceVulkan12Features& with = facts.features12;
  with.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  with.bufferDeviceAddress = has.features12.bufferDeviceAddress;
  with.timelineSemaphore = has.features12.timelineSemaphore;
  with.vulkanMemoryModel = has.features12.vulkanMemoryModel;
  with.uniformBufferStandardLayout = VK_TRUE;
  with.storageBuffer8BitAccess = has.features12.storageBuffer8BitAccess;
  with.shaderInt8 = has.features12.shaderInt8;
  with.shaderBufferInt64Atomics = has.features12.shaderBufferInt64Atomics;
  with.shaderSharedInt64Atomics = has.features12.shaderSharedInt64Atomics;
  with.shaderSubgroupExtendedTypes = has.features12.shaderSubgroupExtendedTypes;
  facts.float_atomics = has.float_atomics.shaderBufferFloat32AtomicAdd == VK_TRUE;
}

void choose_options(const Answers& has, DeviceFacts& facts) {
  codegen::spirv::Options& options = facts.options;
  const VkPhysicalDeviceVulkan12Properties& is = has.properties12;
  options.f32 = {is.shaderDenormPreserveFloat32 == VK_TRUE,
                 is.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE,
                 is.shaderRoundingModeRTEFloat32 == VK_TRUE};
  options.f64 = {is.shaderDenormPreserveFloat64 == VK_TRUE,
                 is.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE,
                 is.shaderRoundingModeRTEFloat64 == VK_TRUE};
  if (is.denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE) {
    options.f32.denormals = options.f64.denormals = options.f32.denormals && options.f64.denormals;
  }
  if (is.roundingModeIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE) {
    options.f32.round_to_even = options.f64.round_to_even =
        options.f32.round_to_even && options.f64.round_to_even;
  }
  // Nothing in Vulkan says whether Fma rounds once. NVIDIA's does; Mesa's CPU driver multiplies
  // and adds, and so do some of AMD's GPUs.
  options.fma_rounds_once = is.driverID == VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  // Vulkan asks 2.5 units in the last place of a division; on the host's cores it is exact.
  options.exact_divide_sqrt = is.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
  options.f64_arithmetic = has.features.features.shaderFloat64 == VK_TRUE;
  options.small_global = has.features11.storageBuffer16BitAccess == VK_TRUE &&
                         has.features12.storageBuffer8BitAccess == VK_TRUE;
  options.small_shared =
      has.features.features.shaderInt16 == VK_TRUE && has.features12.shaderInt8 == VK_TRUE;
  options.warp_size = has.properties11.subgroupSize;
  options.float_atomics = facts.float_atomics;
  options.vulkan_memory_model = facts.features12.vulkanMemoryModel == VK_TRUE;
  options.push_constant_room =
      std::min(has.properties.properties.limits.maxPushConstantsSize, kMostPushConstants);
}

std::string_view vendor_name(std::uint32_t id) {
  switch (id) {
    case 0x1002:
      return "AMD";
    case 0x10de:
      return "NVIDIA";
    case 0x13b5:
      return "ARM";
    case 0x5143:
      return "Qualcomm";
    case 0x8086:
      return "Intel";
    case VK_VENDOR_ID_MESA:
      return "Mesa";
    default:
      return "";
  }
}

void describe(const Answers& has, DeviceFacts& facts) {
  DeviceProperties& is = facts.properties;
  const VkPhysicalDeviceProperties& device = has.properties.properties;
  const VkPhysicalDeviceLimits& limits = device.limits;
  const VkPhysicalDeviceVulkan12Properties& driver = has.properties12;
  is.vendor = vendor_name(device.vendorID);
  is.platform = driver.driverName;
  is.driver_version =
      fmt::format("{}; {}; Vulkan {}.{}.{}", driver.driverInfo, device.driverVersion,
                  VK_API_VERSION_MAJOR(device.apiVersion), VK_API_VERSION_MINOR(device.apiVersion),
                  VK_API_VERSION_PATCH(device.apiVersion));
  is.is_cpu = device.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  is.is_integrated = is.is_cpu || device.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;

  for (std::uint32_t i = 0; i < facts.memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = facts.memory.memoryHeaps[i];
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      is.memory_bytes = std::max<std::uint64_t>(is.memory_bytes, heap.size);
    }
  }
  is.max_allocation_bytes =
      std::min<std::uint64_t>(has.properties11.maxMemoryAllocationSize, is.memory_bytes);
  is.shared_bytes_per_block = limits.maxComputeSharedMemorySize;
  facts.table_bytes = std::min(limits.maxUniformBufferRange, 65536u);
  facts.table_alignment =
      std::max(16u, static_cast<std::uint32_t>(limits.minUniformBufferOffsetAlignment));
  // Positions in a storage buffer are signed numbers of 32 bits.
  facts.storage_buffer_bytes = std::min(limits.maxStorageBufferRange, 1u << 31);
  facts.storage_buffers = std::min({limits.maxPerStageDescriptorStorageBuffers,
                                    limits.maxDescriptorSetStorageBuffers, kMostStorageBuffers});
  facts.pipeline_cache = {.headerSize = sizeof(facts.pipeline_cache),
                          .headerVersion = VK_PIPELINE_CACHE_HEADER_VERSION_ONE,
                          .vendorID = device.vendorID,
                          .deviceID = device.deviceID,
                          .pipelineCacheUUID = {}};
  std::ranges::copy(device.pipelineCacheUUID, facts.pipeline_cache.pipelineCacheUUID);
  is.parameter_bytes = facts.table_bytes;
  is.max_threads_per_block = limits.maxComputeWorkGroupInvocations;
  for (int axis = 0; axis < 3; ++axis) {
    is.max_block[axis] = limits.maxComputeWorkGroupSize[axis];
    // Positions in a kernel are 32 bits.
    is.max_grid[axis] = std::min<std::uint64_t>(limits.maxComputeWorkGroupCount[axis],
                                                std::numeric_limits<std::int32_t>::max());
  }
  // Of GPUs Vulkan does not say.
  is.compute_units = is.is_cpu ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  is.warp_size = has.properties11.subgroupSize;

  is.fp64 = facts.features.shaderFloat64 == VK_TRUE;
  is.fp16_storage = facts.options.small_global;
  is.atomics_i64 = facts.features12.shaderBufferInt64Atomics == VK_TRUE;
  facts.atomics_shared_i64 = facts.features12.shaderSharedInt64Atomics == VK_TRUE;
  is.atomics_f32 = true;  // by compare-exchange on 32 bits
  is.atomics_f64 = is.fp64 && is.atomics_i64;
  constexpr VkSubgroupFeatureFlags kWarp =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  is.warp_operations =
      (has.properties11.subgroupSupportedOperations & kWarp) == kWarp &&
      (has.properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
      has.features12.shaderSubgroupExtendedTypes == VK_TRUE;
  is.fast_fma = facts.options.fma_rounds_once;
  is.exact_divide_sqrt = facts.options.exact_divide_sqrt || is.fp64;
  is.denormals_f32 = facts.options.f32.denormals || driver.driverID == VK_DRIVER_ID_MESA_LLVMPIPE;
}

/// A family for compute and nothing else, where there is one: graphics work does not delay it.
std::string choose_queue(const InstanceApi& api, DeviceFacts& facts, float timestamp_period) {
  std::uint32_t count = 0;
  api.GetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.GetPhysicalDeviceQueueFamilyProperties(facts.handle, &count, families.data());
  std::uint32_t chosen = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    const bool alone = (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0;
    if (chosen == count || alone) chosen = i;
    if (alone) break;
  }
  if (chosen == count) return "it has no queue for compute";
  facts.queue_family = chosen;
  if (families[chosen].timestampValidBits != 0) facts.timestamp_ns = timestamp_period;
  return {};
}

}  // namespace

DeviceFacts read_facts(const InstanceApi& api, VkPhysicalDevice handle) {
  DeviceFacts facts;
  facts.handle = handle;
  Answers answers;
  ask(api, handle, false, answers);
  const VkPhysicalDeviceProperties& device = answers.properties.properties;
  facts.properties.name = device.deviceName;
  if (device.apiVersion < VK_API_VERSION_1_2) {
    facts.obstacle =
        fmt::format("it needs Vulkan 1.2 and has {}.{}", VK_API_VERSION_MAJOR(device.apiVersion),
                    VK_API_VERSION_MINOR(device.apiVersion));
    return facts;
  }
  if (has_extension(api, handle, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) {
    ask(api, handle, true, answers);
  }
  facts.obstacle = missing_features(answers);
  if (facts.obstacle.empty()) {
    facts.obstacle = choose_queue(api, facts, device.limits.timestampPeriod);
  }
  if (!facts.obstacle.empty()) return facts;
  api.GetPhysicalDeviceMemoryProperties(handle, &facts.memory);
  choose_features(answers, facts);
  choose_options(answers, facts);
  describe(answers, facts);
  // The extension asks for Vulkan's own memory model, and modules for f16 in registers.
  if (has_extension(api, handle, kMatrixExtension) && facts.options.vulkan_memory_model &&
      facts.options.small_global && facts.options.small_shared &&
      answers.features12.shaderFloat16 == VK_TRUE) {
    facts.properties.cooperative_matrices = read_matrices(api, handle);
  }
  if (facts.features12.bufferDeviceAddress == VK_FALSE) use_storage_buffers(facts);
  return facts;
}

void use_no_matrices(DeviceFacts& facts) {
  facts.properties.cooperative_matrices.clear();
}

void use_storage_buffers(DeviceFacts& facts) {
  facts.features12.bufferDeviceAddress = VK_FALSE;
  facts.options.buffer_addresses = false;
  // The instruction takes a pointer to a float, and the buffers are integers.
  facts.float_atomics = facts.options.float_atomics = false;
  facts.properties.argument_slots = facts.storage_buffers;
  facts.properties.max_allocation_bytes =
      std::min(facts.properties.max_allocation_bytes, facts.storage_buffer_bytes);
}

}  // namespace salvo::backends::vulkan
