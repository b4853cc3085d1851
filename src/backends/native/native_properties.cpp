// The host's processor, as device properties and as what code is generated for.
// SPDX-License-Identifier: MIT
#include "backends/native/native_properties.hpp"

#include <unistd.h>

#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "backends/native/native_error.hpp"

namespace salvo::backends::native {
namespace {

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "Processor";
}

std::uint64_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
             : 0;
}

}  // namespace

Processor host_processor(const Api& api, const std::string& features) {
  Processor host;
  host.triple = take_message(api, api.GetDefaultTargetTriple());
  host.name = take_message(api, api.GetHostCPUName());
  host.features = take_message(api, api.GetHostCPUFeatures());
  if (!features.empty()) {
    host.name = "generic";
    host.features = features;
  }
  const auto has = [&](const char* feature) {
    return ("," + host.features + ",").find(fmt::format(",+{},", feature)) != std::string::npos;
  };
#if defined(__x86_64__) || defined(__i386__)
  const bool wide = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  host.lanes = wide ? 16 : has("avx2") ? 8 : 4;
  host.fma = has("fma");
  host.half = has("f16c");
#else
  host.lanes = 4;
  host.fma = true;
  host.half = true;
#endif
  return host;
}

DeviceProperties device_properties(const Api& api, const Processor& processor,
                                   const Scheduler& scheduler) {
  DeviceProperties properties;
  properties.name = model_name();
  properties.vendor = "Salvo";
  properties.driver_version = fmt::format("LLVM {}", api.version);
  properties.platform =
      scheduler.reason().empty()
          ? fmt::format("{} lanes, {} threads", processor.lanes, scheduler.threads())
          : fmt::format("{} lanes, 1 thread ({})", processor.lanes, scheduler.reason());
  properties.is_cpu = true;
  properties.is_integrated = true;
  properties.memory_bytes = host_memory_bytes();
  properties.max_allocation_bytes = properties.memory_bytes;
  properties.shared_bytes_per_block = kMaxSharedBytes;
  properties.max_threads_per_block = kMaxThreadsPerBlock;
  properties.max_block = {kMaxThreadsPerBlock, kMaxThreadsPerBlock, kMaxThreadsPerBlock};
  properties.max_grid.fill(std::numeric_limits<std::int32_t>::max());  // indices are I32
  properties.compute_units = scheduler.threads();
  properties.warp_size = processor.lanes;
  properties.fp64 = true;
  properties.fp16_storage = true;
  properties.atomics_i64 = true;
  properties.atomics_f32 = true;
  properties.atomics_f64 = true;
  properties.warp_operations = true;
  properties.fast_fma = processor.fma;
  return properties;
}

}  // namespace salvo::backends::native
