// What the HIP runtime says of one of its devices.
// SPDX-License-Identifier: MIT
#include "backends/hip/hip_properties.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

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
  const cuda_family::DeviceQuery query(api, "HIP", index);
  DeviceFacts facts;
  facts.ordinal = query.ordinal();
  DeviceProperties& is = facts.properties;
  is.name = query.name();
  is.vendor = "AMD";
  is.platform = architecture(facts.ordinal);
  facts.driver_version = query.driver_version();
  is.driver_version =
      fmt::format("HIP {}.{}.{}", facts.driver_version / 10'000'000,
                  facts.driver_version / 100'000 % 100, facts.driver_version % 100'000);
  if (generation(is.platform) < 9) {
    facts.obstacle =
        fmt::format("an architecture from gfx900 on is needed and it is '{}'", is.platform);
    return facts;
  }
  is.is_integrated = query.value(Attribute::integrated) != 0;

  is.memory_bytes = is.max_allocation_bytes = query.memory_bytes();
  is.shared_bytes_per_block = query.value(Attribute::max_shared_per_block);
  is.parameter_bytes = cuda_family::kSmallParameterBytes;
  is.max_threads_per_block = query.value(Attribute::max_threads_per_block);
  is.max_block = {query.value(Attribute::max_block_x), query.value(Attribute::max_block_y),
                  query.value(Attribute::max_block_z)};
  // A dispatch counts threads, in 32 bits, where CUDA counts blocks.
  const std::uint64_t blocks = 0xffff'ffffu / std::max(1u, is.max_threads_per_block);
  is.max_grid = {std::min<std::uint64_t>(query.value(Attribute::max_grid_x), blocks),
                 std::min<std::uint64_t>(query.value(Attribute::max_grid_y), blocks),
                 std::min<std::uint64_t>(query.value(Attribute::max_grid_z), blocks)};
  is.compute_units = query.value(Attribute::multiprocessors);
  is.warp_size = query.value(Attribute::warp_size);

  // From this generation on, every device has all of these; adding to floats by compare-exchange
  // where there is no instruction that keeps denormals.
  cuda_family::set_common_features(is);
  return facts;
}

}  // namespace salvo::backends::hip
