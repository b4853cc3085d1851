// The host's processor, as device properties and as what code is generated for.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/native/native_api.hpp"
#include "backends/native/native_scheduler.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::native {

inline constexpr std::uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr std::uint32_t kMaxSharedBytes = 64 * 1024;

/// What LLVM says of the host. `lanes` is how many threads of a block a vector holds: as many F32
/// as the widest register does.
struct Processor {
  std::string triple;
  std::string name;      // as LLVM calls it
  std::string features;  // "+avx2,-avx512f,..."
  unsigned lanes = 4;
  bool fma = false;
  bool half = false;  // converts binary16
};

/// `features` replaces what the host has, for tests; empty: the host's.
Processor host_processor(const Api& api, const std::string& features);

DeviceProperties device_properties(const Api& api, const Processor& processor,
                                   const Scheduler& scheduler);

}  // namespace salvo::backends::native
