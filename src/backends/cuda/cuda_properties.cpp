// What a CUDA driver says of one of its devices.
// SPDX-License-Identifier: MIT
#include "backends/cuda/cuda_properties.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda_family/cuda_family_error.hpp"

namespace salvo::backends::cuda {
namespace {

using cuda_family::Api;
using cuda_family::DeviceAttribute;
using cuda_family::DeviceFacts;
using cuda_family::kSuccess;
using cuda_family::Result;

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
  const cuda_family::Reporter reporter(api, "CUDA");
  const auto check = [&](Result status, std::string_view operation) {
    reporter.check(status, operation, Errc::backend_unavailable);
  };
  DeviceFacts facts;
  check(api.DeviceGet(&facts.ordinal, index), "cuDeviceGet");
  const auto value = [&](DeviceAttribute what) {
    int result = 0;
    check(api.DeviceValue(&result, static_cast<int>(what), facts.ordinal), "cuDeviceGetAttribute");
    return static_cast<std::uint32_t>(result);
  };
  const auto value_or = [&](DeviceAttribute what, int otherwise) {
    int result = 0;
    return api.DeviceValue(&result, static_cast<int>(what), facts.ordinal) == kSuccess ? result
                                                                                       : otherwise;
  };

  DeviceProperties& is = facts.properties;
  char name[256] = "";
  check(api.DeviceName(name, sizeof(name) - 1, facts.ordinal), "cuDeviceGetName");
  is.name = name;
  is.vendor = "NVIDIA";
  facts.capability = static_cast<int>(value(DeviceAttribute::capability_major) * 10 +
                                      value(DeviceAttribute::capability_minor));
  check(api.DriverVersion(&facts.driver_version), "cuDriverGetVersion");
  if (facts.capability < 70) {
    facts.obstacle = fmt::format("compute capability 7.0 is needed and it has {}.{}",
                                 facts.capability / 10, facts.capability % 10);
    return facts;
  }
  is.driver_version = fmt::format("CUDA {}.{} {}", facts.driver_version / 1000,
                                  facts.driver_version % 1000 / 10, release());
  is.platform = fmt::format("sm_{}", facts.capability);
  is.is_integrated = value(DeviceAttribute::integrated) != 0;

  std::size_t memory = 0;
  check(api.DeviceMemory(&memory, facts.ordinal), "cuDeviceTotalMem");
  is.memory_bytes = memory;
  is.max_allocation_bytes = memory;
  is.shared_bytes_per_block = value(DeviceAttribute::max_shared_per_block);
  facts.largest_shared_bytes = static_cast<std::uint32_t>(value_or(
      DeviceAttribute::max_shared_per_block_optin, static_cast<int>(is.shared_bytes_per_block)));
  is.parameter_bytes = facts.driver_version >= 12010 ? cuda_family::kLargeParameterBytes
                                                     : cuda_family::kSmallParameterBytes;
  is.max_threads_per_block = value(DeviceAttribute::max_threads_per_block);
  is.max_block = {value(DeviceAttribute::max_block_x), value(DeviceAttribute::max_block_y),
                  value(DeviceAttribute::max_block_z)};
  is.max_grid = {value(DeviceAttribute::max_grid_x), value(DeviceAttribute::max_grid_y),
                 value(DeviceAttribute::max_grid_z)};
  is.compute_units = value(DeviceAttribute::multiprocessors);
  is.warp_size = value(DeviceAttribute::warp_size);
  facts.pools = api.PoolCreate && api.PoolDestroy && api.PoolSet && api.PoolShare && api.PoolTrim &&
                api.PoolAlloc && api.PoolFree && value_or(DeviceAttribute::memory_pools, 0) != 0;

  is.cooperative_matrices = cuda_matrices(facts.capability, facts.driver_version);
  // From compute capability 7.0 on, every device has all of these.
  cuda_family::set_common_features(is);
  return facts;
}

}  // namespace salvo::backends::cuda
