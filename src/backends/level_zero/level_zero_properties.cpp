// What a driver says of its device, asked once in a process (P1, P2).
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_properties.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "backends/level_zero/level_zero_error.hpp"

namespace salvo::backends::level_zero {
namespace {

template <typename T, typename Function>
std::vector<T> list_of(const Function& function, ze::Device id, std::string_view operation) {
  std::uint32_t count = 0;
  check(function(id, &count, nullptr), operation, Errc::backend_unavailable);
  std::vector<T> list(count);
  if (count > 0) {
    check(function(id, &count, list.data()), operation, Errc::backend_unavailable);
    list.resize(std::min<std::size_t>(count, list.size()));
  }
  return list;
}

void read_device(const Api& api, DeviceFacts& facts) {
  ze::DeviceProperties device;
  const bool in_cycles = facts.driver->api_version >= ze::version(1, 2);
  if (in_cycles) device.stype = ze::Structure::device_properties_1_2;
  check(api.DeviceGetProperties(facts.id, &device), "zeDeviceGetProperties",
        Errc::backend_unavailable);
  DeviceProperties& is = facts.properties;
  is.name = device.name.data();
  is.vendor = device.vendor_id == 0x8086 ? "Intel" : fmt::format("0x{:04x}", device.vendor_id);
  is.is_cpu = device.type == ze::DeviceType::cpu;
  is.is_integrated = (device.flags & ze::kDeviceIntegrated) != 0;
  is.max_allocation_bytes = device.max_mem_alloc_size;
  is.compute_units = std::max(1u, device.slices * device.subslices_per_slice);
  const auto resolution = static_cast<double>(std::max<std::uint64_t>(device.timer_resolution, 1));
  facts.ticks_per_ms = in_cycles ? resolution * 1e-3 : 1e6 / resolution;
  facts.timestamp_bits = device.kernel_timestamp_valid_bits;
  if (facts.timestamp_bits < 1 || facts.timestamp_bits > 64) facts.timestamp_bits = 64;
}

void read_limits(const Api& api, DeviceFacts& facts) {
  ze::DeviceComputeProperties compute;
  check(api.DeviceGetComputeProperties(facts.id, &compute), "zeDeviceGetComputeProperties",
        Errc::backend_unavailable);
  DeviceProperties& is = facts.properties;
  is.max_threads_per_block = compute.max_total_group_size;
  is.shared_bytes_per_block = compute.max_shared_local_memory;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    is.max_block[axis] = compute.max_group_size[axis];
    // Positions in a kernel are 32 bits.
    is.max_grid[axis] = std::min<std::uint32_t>(compute.max_group_count[axis],
                                                std::numeric_limits<std::int32_t>::max());
  }
  // Kernels with warp operations ask for one width; the one in the middle suits most.
  const std::size_t count =
      std::min<std::size_t>(compute.sub_group_size_count, compute.sub_group_sizes.size());
  if (count > 0) {
    std::vector<std::uint32_t> sizes(
        compute.sub_group_sizes.begin(),
        compute.sub_group_sizes.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(sizes);
    is.warp_size = sizes[count / 2];
    is.warp_operations = true;
  }
}

void read_arithmetic(const Api& api, DeviceFacts& facts) {
  ze::DeviceModuleProperties module;
  check(api.DeviceGetModuleProperties(facts.id, &module), "zeDeviceGetModuleProperties",
        Errc::backend_unavailable);
  DeviceProperties& is = facts.properties;
  is.parameter_bytes = module.max_arguments_size;
  is.fp64 = (module.flags & ze::kModuleFp64) != 0;
  is.fp16_storage = true;  // in integers
  is.atomics_i64 = (module.flags & ze::kModuleInt64Atomics) != 0;
  is.atomics_f32 = true;  // by compare-exchange on 32 bits
  is.atomics_f64 = is.fp64 && is.atomics_i64;
  is.fast_fma =
      (module.fp32_flags & ze::kFpFma) != 0 && (module.fp32_flags & ze::kFpSoftFloat) == 0;
  is.denormals_f32 = (module.fp32_flags & ze::kFpDenorm) != 0;
  facts.offers_exact_divide_sqrt = (module.fp32_flags & ze::kFpRoundedDivideSqrt) != 0;
  // Where the device does not round them itself, they are computed in F64.
  is.exact_divide_sqrt = facts.offers_exact_divide_sqrt || is.fp64;

  codegen::spirv::Options& spirv = facts.spirv;
  spirv.flavour = codegen::spirv::Flavour::kernel;
  spirv.f64_arithmetic = is.fp64;
  spirv.fma_rounds_once = (module.fp32_flags & ze::kFpFma) != 0;
  spirv.exact_divide_sqrt = facts.offers_exact_divide_sqrt;
  spirv.warp_size = is.warp_size;
}

void read_queues(const Api& api, DeviceFacts& facts) {
  const auto groups = list_of<ze::CommandQueueGroupProperties>(
      api.DeviceGetCommandQueueGroupProperties, facts.id, "zeDeviceGetCommandQueueGroupProperties");
  const auto found = std::ranges::find_if(
      groups, [](const auto& group) { return (group.flags & ze::kQueueGroupCompute) != 0; });
  if (found == groups.end()) {
    facts.obstacle = "it has no queue that runs kernels";
    return;
  }
  facts.queue_ordinal = static_cast<std::uint32_t>(found - groups.begin());
  facts.queue_count = std::max(1u, found->queue_count);
}

}  // namespace

DeviceFacts read_facts(const Api& api, const DriverFacts& driver, ze::Device id) {
  DeviceFacts facts;
  facts.id = id;
  facts.driver = &driver;
  read_device(api, facts);
  read_limits(api, facts);
  read_arithmetic(api, facts);
  read_queues(api, facts);
  for (const auto& memory : list_of<ze::DeviceMemoryProperties>(api.DeviceGetMemoryProperties, id,
                                                                "zeDeviceGetMemoryProperties")) {
    facts.properties.memory_bytes += memory.total_size;
  }
  DeviceProperties& is = facts.properties;
  is.platform = "Level Zero";
  is.driver_version = driver.version;
  is.max_allocation_bytes = std::min(is.max_allocation_bytes, is.memory_bytes);
  return facts;
}

}  // namespace salvo::backends::level_zero
