// What a driver says of its device, asked once in a process (P1, P2).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/level_zero/level_zero_api.hpp"
#include "backends/level_zero/level_zero_extensions.hpp"
#include "codegen/spirv/options.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::level_zero {

/// A driver as the process found it. Never destroyed.
struct DriverFacts {
  ze::Driver handle = nullptr;
  std::uint32_t api_version = 0;
  std::string version;  // of the driver, in words
  std::shared_ptr<const Extensions> extensions;
  DriverApi functions;
};

struct DeviceFacts {
  ze::Device id = nullptr;
  const DriverFacts* driver = nullptr;
  DeviceProperties properties;
  std::string obstacle;  // why it cannot be used; empty if it can
  codegen::spirv::Options spirv;
  bool offers_exact_divide_sqrt = false;  // wants an option, then keeps the promise
  std::uint32_t queue_ordinal = 0;        // the first group of queues that run kernels
  std::uint32_t queue_count = 1;          // queues of that group
  double ticks_per_ms = 1;                // of kernel timestamps
  std::uint32_t timestamp_bits = 64;
};

DeviceFacts read_facts(const Api& api, const DriverFacts& driver, ze::Device id);

}  // namespace salvo::backends::level_zero
