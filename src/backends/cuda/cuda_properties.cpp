// What a CUDA driver says of one of its devices.
// SPDX-License-Identifier: MIT
#include "backends/cuda/cuda_properties.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace salvo::backends::cuda {
namespace {

using cuda_family::Api;
using cuda_family::DeviceAttribute;
using cuda_family::DeviceFacts;

/// The release that CUDA's own version number does not tell apart; empty where the system hides it.
std::string release() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  std::getline(file, version);
  return version;
}

/// Those of the wmma instructions. bfloat16 came with compute capability 8.0, and its assembler's
/// language is asked for from CUDA 12.1 on.
std::vector<CooperativeMatrixShape> cuda_matrices(int capability, int driver_version) {
  using ir::Scalar;
  std::vector<CooperativeMatrixShape> all{{16, 16, 16, Scalar::F16, Scalar::F32},
                                          {16, 16, 16, Scalar::F16, Scalar::F16}};
  if (capability >= 80 && driver_version >= 12010) {
    all.push_back({16, 16, 16, Scalar::BF16, Scalar::F32});
  }
  return all;
}

}  // namespace

DeviceFacts read_facts(const Api& api, int index) {
  const cuda_family::DeviceQuery query(api, "CUDA", index);
  DeviceFacts facts;
  facts.ordinal = query.ordinal();
  DeviceProperties& is = facts.properties;
  is.name = query.name();
  is.vendor = "NVIDIA";
  facts.capability = static_cast<int>(query.value(DeviceAttribute::capability_major) * 10 +
                                      query.value(DeviceAttribute::capability_minor));
  facts.driver_version = query.driver_version();
  if (facts.capability < 70) {
    facts.obstacle = fmt::format("compute capability 7.0 is needed and it has {}.{}",
                                 facts.capability / 10, facts.capability % 10);
    return facts;
  }
  is.driver_version = fmt::format("CUDA {}.{} {}", facts.driver_version / 1000,
                                  facts.driver_version % 1000 / 10, release());
  is.platform = fmt::format("sm_{}", facts.capability);
  is.is_integrated = query.value(DeviceAttribute::integrated) != 0;

  is.memory_bytes = is.max_allocation_bytes = query.memory_bytes();
  is.shared_bytes_per_block = query.value(DeviceAttribute::max_shared_per_block);
  facts.largest_shared_bytes = static_cast<std::uint32_t>(query.value_or(
      DeviceAttribute::max_shared_per_block_optin, static_cast<int>(is.shared_bytes_per_block)));
  is.parameter_bytes = facts.driver_version >= 12010 ? cuda_family::kLargeParameterBytes
                                                     : cuda_family::kSmallParameterBytes;
  is.max_threads_per_block = query.value(DeviceAttribute::max_threads_per_block);
  is.max_block = {query.value(DeviceAttribute::max_block_x),
                  query.value(DeviceAttribute::max_block_y),
                  query.value(DeviceAttribute::max_block_z)};
  is.max_grid = {query.value(DeviceAttribute::max_grid_x), query.value(DeviceAttribute::max_grid_y),
                 query.value(DeviceAttribute::max_grid_z)};
  is.compute_units = query.value(DeviceAttribute::multiprocessors);
  is.warp_size = query.value(DeviceAttribute::warp_size);
  facts.pools = api.PoolCreate && api.PoolDestroy && api.PoolSet && api.PoolShare && api.PoolTrim &&
                api.PoolAlloc && api.PoolFree &&
                query.value_or(DeviceAttribute::memory_pools, 0) != 0;

  is.cooperative_matrices = cuda_matrices(facts.capability, facts.driver_version);
  // From compute capability 7.0 on, every device has all of these.
  cuda_family::set_common_features(is);
  return facts;
}

}  // namespace salvo::backends::cuda
