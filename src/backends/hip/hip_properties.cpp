// What the HIP runtime says of one of its devices.
// SPDX-License-Identifier: MIT
#include "backends/hip/hip_properties.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "backends/cuda_family/cuda_family_error.hpp"
#include "backends/hip/hip_api.hpp"

namespace salvo::backends::hip {

using cuda_family::DeviceFacts;

int generation(std::string_view architecture) noexcept {
  constexpr std::string_view kPrefix = "gfx";
  if (!architecture.starts_with(kPrefix)) return 0;
  const std::string_view name = architecture.substr(0, architecture.find(':'));
  // The last two digits, hexadecimal ones, are minor version and stepping.
  if (name.size() < kPrefix.size() + 3) return 0;
  int major = 0;
  for (char c : name.substr(kPrefix.size(), name.size() - kPrefix.size() - 2)) {
    if (c < '0' || c > '9') return 0;
    major = 10 * major + (c - '0');
  }
  return major;
}

DeviceFacts read_facts(const Api& api, int index) {
  const cuda_family::Reporter reporter(api, "HIP");
  const auto check = [&](Result status, std::string_view operation) {
    reporter.check(status, operation, Errc::backend_unavailable);
  };
  DeviceFacts facts;
  check(api.DeviceGet(&facts.ordinal, index), "cuDeviceGet");
  const auto value = [&](Attribute what) {
    int result = 0;
    check(api.DeviceValue(&result, static_cast<int>(what), facts.ordinal), "cuDeviceGetAttribute");
    return static_cast<std::uint32_t>(result);
  };

  DeviceProperties& is = facts.properties;
  char name[256] = "";
  check(api.DeviceName(name, sizeof(name) - 1, facts.ordinal), "cuDeviceGetName");
  is.name = name;
  is.vendor = "AMD";
  is.platform = architecture(facts.ordinal);
  check(api.DriverVersion(&facts.driver_version), "cuDriverGetVersion");
  is.driver_version =
      fmt::format("HIP {}.{}.{}", facts.driver_version / 10'000'000,
                  facts.driver_version / 100'000 % 100, facts.driver_version % 100'000);
  if (generation(is.platform) < 9) {
    facts.obstacle =
        fmt::format("an architecture from gfx900 on is needed and it is '{}'", is.platform);
    return facts;
  }
  is.is_integrated = value(Attribute::integrated) != 0;

  std::size_t memory = 0;
  check(api.DeviceMemory(&memory, facts.ordinal), "cuDeviceTotalMem");
  is.memory_bytes = memory;
  is.max_allocation_bytes = memory;
  is.shared_bytes_per_block = value(Attribute::max_shared_per_block);
  is.parameter_bytes = cuda_family::kSmallParameterBytes;
  is.max_threads_per_block = value(Attribute::max_threads_per_block);
  is.max_block = {value(Attribute::max_block_x), value(Attribute::max_block_y),
                  value(Attribute::max_block_z)};
  // A dispatch counts threads, in 32 bits, where CUDA counts blocks.
  const std::uint64_t blocks = 0xffff'ffffu / std::max(1u, is.max_threads_per_block);
  is.max_grid = {std::min<std::uint64_t>(value(Attribute::max_grid_x), blocks),
                 std::min<std::uint64_t>(value(Attribute::max_grid_y), blocks),
                 std::min<std::uint64_t>(value(Attribute::max_grid_z), blocks)};
  is.compute_units = value(Attribute::multiprocessors);
  is.warp_size = value(Attribute::warp_size);

  // From this generation on, every device has all of these; adding to floats by compare-exchange
  // where there is no instruction that keeps denormals.
  cuda_family::set_common_features(is);
  return facts;
}

}  // namespace salvo::backends::hip
