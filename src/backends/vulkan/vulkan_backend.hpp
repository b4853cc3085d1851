// The Vulkan backend: every device with Vulkan 1.2 and 64-bit integers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

/// Features to treat as absent: how tests run what stands in for them.
struct Lacking {
  bool buffer_addresses = false;
  bool timeline_semaphores = false;
  bool memory_model = false;
};

struct Settings {
  std::uint32_t batch = 32;           // dispatches in a command buffer (W74)
  bool validation = false;            // layers check every call; what they say becomes an error
  bool large_push_constants = false;  // the device's own limit instead of 128 bytes (W37)
  Lacking lacking{};
};

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings = {});

}  // namespace salvo::backends::vulkan
