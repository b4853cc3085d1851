// What a CUDA driver says of one of its devices.
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/cuda/cuda_api.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::cuda {

/// A device as its driver describes it, asked once in a process (P1).
struct DeviceFacts {
  Ordinal ordinal = 0;
  int capability = 0;                      // 90: Hopper
  int driver_version = 0;                  // 12010: CUDA 12.1
  bool pools = false;                      // stream-ordered memory
  std::uint32_t largest_shared_bytes = 0;  // of a block that asks for it
  DeviceProperties properties;             // as CUDA/PTX sees it
  std::string obstacle;                    // why it cannot be used; empty if it can
};

/// Room for kernel parameters: more than the old 4 KiB from CUDA 12.1 on.
inline constexpr std::uint64_t kSmallParameterBytes = 4096;
inline constexpr std::uint64_t kLargeParameterBytes = 32'764;

DeviceFacts read_facts(const Api& api, int index);

}  // namespace salvo::backends::cuda
