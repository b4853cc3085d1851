// Level Zero's types, as far as this backend uses them, so that building needs no header of its.
// SPDX-License-Identifier: MIT
//
// Names are the specification's without prefix: ze_device_properties_t is DeviceProperties.
// Debian's header ends at specification 1.4; what came later is marked with its version. A test
// compares sizes, offsets and values with the system's header where there is one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace salvo::backends::level_zero::ze {

using Driver = struct DriverHandle*;
using Device = struct DeviceHandle*;
using Context = struct ContextHandle*;
using CommandList = struct CommandListHandle*;
using EventPool = struct EventPoolHandle*;
using Event = struct EventHandle*;
using Module = struct ModuleHandle*;
using BuildLog = struct BuildLogHandle*;
using Kernel = struct KernelHandle*;

/// Any 32-bit value may come from a driver.
enum class Result : std::uint32_t {
  success = 0,
  not_ready = 1,
  device_lost = 0x70000001,
  out_of_host_memory = 0x70000002,
  out_of_device_memory = 0x70000003,
  module_build_failure = 0x70000004,
  module_link_failure = 0x70000005,
  device_requires_reset = 0x70000006,
  device_in_low_power_state = 0x70000007,
  insufficient_permissions = 0x70010000,
  not_available = 0x70010001,
  dependency_unavailable = 0x70020000,
  uninitialized = 0x78000001,
  unsupported_version = 0x78000002,
  unsupported_feature = 0x78000003,
  invalid_argument = 0x78000004,
  invalid_null_handle = 0x78000005,
  handle_object_in_use = 0x78000006,
  invalid_null_pointer = 0x78000007,
  invalid_size = 0x78000008,
  unsupported_size = 0x78000009,
  unsupported_alignment = 0x7800000a,
  invalid_synchronization_object = 0x7800000b,
  invalid_enumeration = 0x7800000c,
  unsupported_enumeration = 0x7800000d,
  invalid_native_binary = 0x7800000f,
  invalid_kernel_name = 0x78000011,
  invalid_group_size_dimension = 0x78000013,
  invalid_kernel_argument_index = 0x78000015,
  invalid_kernel_argument_size = 0x78000016,
  invalid_module_unlinked = 0x78000018,
  invalid_command_list_type = 0x78000019,
  overlapping_regions = 0x7800001a,
  unknown = 0x7ffffffe,
};

/// What a structure is, in its first field.
enum class Structure : std::uint32_t {
  driver_properties = 0x1,
  device_properties = 0x3,
  device_compute_properties = 0x4,
  device_module_properties = 0x5,
  command_queue_group_properties = 0x6,
  device_memory_properties = 0x7,
  context_desc = 0xd,
  command_queue_desc = 0xe,
  event_pool_desc = 0x10,
  event_desc = 0x11,
  device_mem_alloc_desc = 0x15,
  host_mem_alloc_desc = 0x16,
  module_desc = 0x1b,
  kernel_desc = 0x1d,
  kernel_properties = 0x1e,
  kernel_max_group_size_ext_properties = 0x10013,  // 1.8
  device_properties_1_2 = 0x20006,
};

constexpr std::uint32_t version(std::uint32_t major, std::uint32_t minor) {
  return major << 16 | minor;
}

constexpr std::uint32_t kInitGpuOnly = 1;

struct DriverProperties {
  Structure stype = Structure::driver_properties;
  void* next = nullptr;
  std::array<std::uint8_t, 16> uuid{};
  std::uint32_t driver_version = 0;
};

struct DriverExtensionProperties {
  std::array<char, 256> name{};
  std::uint32_t version = 0;
};

enum class DeviceType : std::uint32_t { gpu = 1, cpu = 2 };
constexpr std::uint32_t kDeviceIntegrated = 1;

struct DeviceProperties {
  Structure stype = Structure::device_properties;
  void* next = nullptr;
  DeviceType type{};
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint32_t flags = 0;
  std::uint32_t subdevice_id = 0;
  std::uint32_t core_clock_rate = 0;
  std::uint64_t max_mem_alloc_size = 0;
  std::uint32_t max_hardware_contexts = 0;
  std::uint32_t max_command_queue_priority = 0;
  std::uint32_t threads_per_eu = 0;
  std::uint32_t physical_eu_simd_width = 0;
  std::uint32_t eus_per_subslice = 0;
  std::uint32_t subslices_per_slice = 0;
  std::uint32_t slices = 0;
  std::uint64_t timer_resolution = 0;  // device_properties_1_2: cycles a second; else nanoseconds
  std::uint32_t timestamp_valid_bits = 0;
  std::uint32_t kernel_timestamp_valid_bits = 0;
  std::array<std::uint8_t, 16> uuid{};
  std::array<char, 256> name{};
};

struct DeviceComputeProperties {
  Structure stype = Structure::device_compute_properties;
  void* next = nullptr;
  std::uint32_t max_total_group_size = 0;
  std::array<std::uint32_t, 3> max_group_size{};
  std::array<std::uint32_t, 3> max_group_count{};
  std::uint32_t max_shared_local_memory = 0;
  std::uint32_t sub_group_size_count = 0;
  std::array<std::uint32_t, 8> sub_group_sizes{};
};

constexpr std::uint32_t kModuleFp16 = 1, kModuleFp64 = 2, kModuleInt64Atomics = 4;
constexpr std::uint32_t kFpDenorm = 1, kFpFma = 1 << 5, kFpRoundedDivideSqrt = 1 << 6,
                        kFpSoftFloat = 1 << 7;

struct DeviceModuleProperties {
  Structure stype = Structure::device_module_properties;
  void* next = nullptr;
  std::uint32_t spirv_version_supported = 0;
  std::uint32_t flags = 0;
  std::uint32_t fp16_flags = 0;
  std::uint32_t fp32_flags = 0;
  std::uint32_t fp64_flags = 0;
  std::uint32_t max_arguments_size = 0;
  std::uint32_t printf_buffer_size = 0;
  std::array<std::uint8_t, 16> native_kernel_supported{};
};

struct DeviceMemoryProperties {
  Structure stype = Structure::device_memory_properties;
  void* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t max_clock_rate = 0;
  std::uint32_t max_bus_width = 0;
  std::uint64_t total_size = 0;
  std::array<char, 256> name{};
};

constexpr std::uint32_t kQueueGroupCompute = 1;

struct CommandQueueGroupProperties {
  Structure stype = Structure::command_queue_group_properties;
  void* next = nullptr;
  std::uint32_t flags = 0;
  std::size_t max_memory_fill_pattern_size = 0;
  std::uint32_t queue_count = 0;
};

struct ContextDesc {
  Structure stype = Structure::context_desc;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};

constexpr std::uint32_t kQueueInOrder = 2;  // 1.7
enum class QueueMode : std::uint32_t { standard = 0, synchronous = 1, asynchronous = 2 };
enum class QueuePriority : std::uint32_t { normal = 0, low = 1, high = 2 };

struct CommandQueueDesc {
  Structure stype = Structure::command_queue_desc;
  const void* next = nullptr;
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;
  std::uint32_t flags = 0;
  QueueMode mode = QueueMode::asynchronous;
  QueuePriority priority = QueuePriority::normal;
};

constexpr std::uint32_t kPoolHostVisible = 1, kPoolKernelTimestamp = 4;
constexpr std::uint32_t kScopeDevice = 2, kScopeHost = 4;

struct EventPoolDesc {
  Structure stype = Structure::event_pool_desc;
  const void* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t count = 0;
};

struct EventDesc {
  Structure stype = Structure::event_desc;
  const void* next = nullptr;
  std::uint32_t index = 0;
  std::uint32_t signal = 0;
  std::uint32_t wait = 0;
};

struct TimestampData {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

struct KernelTimestampResult {
  TimestampData global;
  TimestampData context;
};

struct DeviceMemAllocDesc {
  Structure stype = Structure::device_mem_alloc_desc;
  const void* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t ordinal = 0;
};

struct HostMemAllocDesc {
  Structure stype = Structure::host_mem_alloc_desc;
  const void* next = nullptr;
  std::uint32_t flags = 0;
};

enum class ModuleFormat : std::uint32_t { spirv = 0, native = 1 };

struct ModuleDesc {
  Structure stype = Structure::module_desc;
  const void* next = nullptr;
  ModuleFormat format = ModuleFormat::spirv;
  std::size_t input_size = 0;
  const std::uint8_t* input = nullptr;
  const char* build_flags = nullptr;
  const void* constants = nullptr;
};

struct KernelDesc {
  Structure stype = Structure::kernel_desc;
  const void* next = nullptr;
  std::uint32_t flags = 0;
  const char* name = nullptr;
};

struct KernelProperties {
  Structure stype = Structure::kernel_properties;
  void* next = nullptr;
  std::uint32_t argument_count = 0;
  std::array<std::uint32_t, 3> required_group_size{};
  std::uint32_t required_subgroup_count = 0;
  std::uint32_t required_subgroup_size = 0;
  std::uint32_t max_subgroup_size = 0;
  std::uint32_t max_subgroup_count = 0;
  std::uint32_t local_mem_size = 0;
  std::uint32_t private_mem_size = 0;
  std::uint32_t spill_mem_size = 0;
  std::array<std::uint8_t, 32> uuid{};
};

struct KernelMaxGroupSizeProperties {  // 1.8
  Structure stype = Structure::kernel_max_group_size_ext_properties;
  void* next = nullptr;
  std::uint32_t max_group_size = 0;
};

constexpr std::uint32_t kIndirectAccessDevice = 2;

struct GroupCount {
  std::uint32_t x = 0, y = 0, z = 0;
};

struct GroupSize {  // 1.14
  std::uint32_t x = 0, y = 0, z = 0;
};

}  // namespace salvo::backends::level_zero::ze
