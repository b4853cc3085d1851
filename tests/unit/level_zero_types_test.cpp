// The Level Zero types this library declares for itself are those of the system's header.
// SPDX-License-Identifier: MIT
#include <cstddef>

#include <gtest/gtest.h>
#include <level_zero/ze_api.h>

#include "backends/level_zero/level_zero_types.hpp"

namespace salvo::backends::level_zero {
namespace {

/// Size, and the offsets of first, middle and last fields, so that none in between is missing.
#define SALVO_SAME_SIZE(ours, theirs) EXPECT_EQ(sizeof(ours), sizeof(theirs))
#define SALVO_SAME_PLACE(ours, field, theirs, named) \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, named)) << #named
#define SALVO_SAME_VALUE(ours, theirs) \
  EXPECT_EQ(static_cast<std::uint32_t>(ours), static_cast<std::uint32_t>(theirs)) << #theirs

TEST(LevelZeroTypes, StructuresHaveTheHeadersLayout) {
  SALVO_SAME_SIZE(ze::DriverProperties, ze_driver_properties_t);
  SALVO_SAME_PLACE(ze::DriverProperties, driver_version, ze_driver_properties_t, driverVersion);
  SALVO_SAME_SIZE(ze::DriverExtensionProperties, ze_driver_extension_properties_t);
  SALVO_SAME_SIZE(ze::DeviceProperties, ze_device_properties_t);
  SALVO_SAME_PLACE(ze::DeviceProperties, flags, ze_device_properties_t, flags);
  SALVO_SAME_PLACE(ze::DeviceProperties, max_mem_alloc_size, ze_device_properties_t,
                   maxMemAllocSize);
  SALVO_SAME_PLACE(ze::DeviceProperties, slices, ze_device_properties_t, numSlices);
  SALVO_SAME_PLACE(ze::DeviceProperties, timer_resolution, ze_device_properties_t, timerResolution);
  SALVO_SAME_PLACE(ze::DeviceProperties, name, ze_device_properties_t, name);
  SALVO_SAME_SIZE(ze::DeviceComputeProperties, ze_device_compute_properties_t);
  SALVO_SAME_PLACE(ze::DeviceComputeProperties, max_shared_local_memory,
                   ze_device_compute_properties_t, maxSharedLocalMemory);
  SALVO_SAME_PLACE(ze::DeviceComputeProperties, sub_group_sizes, ze_device_compute_properties_t,
                   subGroupSizes);
  SALVO_SAME_SIZE(ze::DeviceModuleProperties, ze_device_module_properties_t);
  SALVO_SAME_PLACE(ze::DeviceModuleProperties, fp32_flags, ze_device_module_properties_t,
                   fp32flags);
  SALVO_SAME_PLACE(ze::DeviceModuleProperties, max_arguments_size, ze_device_module_properties_t,
                   maxArgumentsSize);
  SALVO_SAME_SIZE(ze::DeviceMemoryProperties, ze_device_memory_properties_t);
  SALVO_SAME_PLACE(ze::DeviceMemoryProperties, total_size, ze_device_memory_properties_t,
                   totalSize);
  SALVO_SAME_SIZE(ze::CommandQueueGroupProperties, ze_command_queue_group_properties_t);
  SALVO_SAME_PLACE(ze::CommandQueueGroupProperties, queue_count,
                   ze_command_queue_group_properties_t, numQueues);
  SALVO_SAME_SIZE(ze::ContextDesc, ze_context_desc_t);
  SALVO_SAME_SIZE(ze::CommandQueueDesc, ze_command_queue_desc_t);
  SALVO_SAME_PLACE(ze::CommandQueueDesc, mode, ze_command_queue_desc_t, mode);
  SALVO_SAME_PLACE(ze::CommandQueueDesc, priority, ze_command_queue_desc_t, priority);
  SALVO_SAME_SIZE(ze::EventPoolDesc, ze_event_pool_desc_t);
  SALVO_SAME_SIZE(ze::EventDesc, ze_event_desc_t);
  SALVO_SAME_PLACE(ze::EventDesc, wait, ze_event_desc_t, wait);
  SALVO_SAME_SIZE(ze::KernelTimestampResult, ze_kernel_timestamp_result_t);
  SALVO_SAME_PLACE(ze::KernelTimestampResult, context, ze_kernel_timestamp_result_t, context);
  SALVO_SAME_SIZE(ze::DeviceMemAllocDesc, ze_device_mem_alloc_desc_t);
  SALVO_SAME_SIZE(ze::HostMemAllocDesc, ze_host_mem_alloc_desc_t);
  SALVO_SAME_SIZE(ze::ModuleDesc, ze_module_desc_t);
  SALVO_SAME_PLACE(ze::ModuleDesc, build_flags, ze_module_desc_t, pBuildFlags);
  SALVO_SAME_SIZE(ze::KernelDesc, ze_kernel_desc_t);
  SALVO_SAME_SIZE(ze::KernelProperties, ze_kernel_properties_t);
  SALVO_SAME_PLACE(ze::KernelProperties, argument_count, ze_kernel_properties_t, numKernelArgs);
  SALVO_SAME_PLACE(ze::KernelProperties, spill_mem_size, ze_kernel_properties_t, spillMemSize);
  SALVO_SAME_SIZE(ze::GroupCount, ze_group_count_t);
}

TEST(LevelZeroTypes, ValuesAreTheHeaders) {
  SALVO_SAME_VALUE(ze::Structure::device_properties, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  SALVO_SAME_VALUE(ze::Structure::device_properties_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
  SALVO_SAME_VALUE(ze::Structure::command_queue_group_properties,
                   ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
  SALVO_SAME_VALUE(ze::Structure::device_memory_properties,
                   ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
  SALVO_SAME_VALUE(ze::Structure::context_desc, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  SALVO_SAME_VALUE(ze::Structure::command_queue_desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  SALVO_SAME_VALUE(ze::Structure::event_pool_desc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  SALVO_SAME_VALUE(ze::Structure::event_desc, ZE_STRUCTURE_TYPE_EVENT_DESC);
  SALVO_SAME_VALUE(ze::Structure::device_mem_alloc_desc, ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  SALVO_SAME_VALUE(ze::Structure::host_mem_alloc_desc, ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  SALVO_SAME_VALUE(ze::Structure::module_desc, ZE_STRUCTURE_TYPE_MODULE_DESC);
  SALVO_SAME_VALUE(ze::Structure::kernel_desc, ZE_STRUCTURE_TYPE_KERNEL_DESC);
  SALVO_SAME_VALUE(ze::Structure::kernel_properties, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
  SALVO_SAME_VALUE(ze::Result::not_ready, ZE_RESULT_NOT_READY);
  SALVO_SAME_VALUE(ze::Result::device_lost, ZE_RESULT_ERROR_DEVICE_LOST);
  SALVO_SAME_VALUE(ze::Result::out_of_device_memory, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  SALVO_SAME_VALUE(ze::Result::unsupported_feature, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  SALVO_SAME_VALUE(ze::Result::invalid_native_binary, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  SALVO_SAME_VALUE(ze::Result::overlapping_regions, ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  SALVO_SAME_VALUE(ze::DeviceType::gpu, ZE_DEVICE_TYPE_GPU);
  SALVO_SAME_VALUE(ze::DeviceType::cpu, ZE_DEVICE_TYPE_CPU);
  SALVO_SAME_VALUE(ze::kDeviceIntegrated, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED);
  SALVO_SAME_VALUE(ze::kModuleInt64Atomics, ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS);
  SALVO_SAME_VALUE(ze::kFpRoundedDivideSqrt, ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT);
  SALVO_SAME_VALUE(ze::kFpSoftFloat, ZE_DEVICE_FP_FLAG_SOFT_FLOAT);
  SALVO_SAME_VALUE(ze::kQueueGroupCompute, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
  SALVO_SAME_VALUE(ze::kPoolHostVisible, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  SALVO_SAME_VALUE(ze::kPoolKernelTimestamp, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
  SALVO_SAME_VALUE(ze::kScopeHost, ZE_EVENT_SCOPE_FLAG_HOST);
  SALVO_SAME_VALUE(ze::QueueMode::asynchronous, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  SALVO_SAME_VALUE(ze::QueuePriority::high, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
  SALVO_SAME_VALUE(ze::ModuleFormat::native, ZE_MODULE_FORMAT_NATIVE);
  SALVO_SAME_VALUE(ze::kIndirectAccessDevice, ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE);
  SALVO_SAME_VALUE(ze::version(1, 4), ZE_API_VERSION_1_4);
}

}  // namespace
}  // namespace salvo::backends::level_zero
