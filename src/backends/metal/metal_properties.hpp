// What Metal says of a device, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/metal/metal_api.hpp"
#include "backends/metal/metal_compiler.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::metal {

struct DeviceFacts {
  Owned handle;
  std::unique_ptr<const Compiler> compiler;
  /// Copies bytes one by one: a blit takes offsets and sizes that are multiples of 4 alone.
  Pipeline byte_copy;
  DeviceProperties properties;
  bool unified_memory = false;
  bool fences = false;   // atomic_thread_fence, of Metal 3.2
  std::string obstacle;  // why it cannot be used; empty if it can
};

/// `device` is retained.
DeviceFacts read_facts(const Api& api, Id device);

}  // namespace salvo::backends::metal
