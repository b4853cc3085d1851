// What is known of a device of the family, as its driver describes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/cuda_family/cuda_family_api.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::cuda_family {

/// Asked once in a process (P1). What stays 0 or false a driver need not know.
struct DeviceFacts {
  Ordinal ordinal = 0;
  int capability = 0;                      // CUDA; 90: Hopper
  int driver_version = 0;                  // in the driver's own numbers
  bool pools = false;                      // stream-ordered memory
  std::uint32_t largest_shared_bytes = 0;  // of a block that asks for it
  DeviceProperties properties;
  std::string obstacle;  // why it cannot be used; empty if it can
};

/// Room for kernel parameters: more than the old 4 KiB from CUDA 12.1 on.
inline constexpr std::uint64_t kSmallParameterBytes = 4096;
inline constexpr std::uint64_t kLargeParameterBytes = 32'764;

/// What every device of the family has whose architecture the backends accept.
void set_common_features(DeviceProperties& properties) noexcept;

}  // namespace salvo::backends::cuda_family
