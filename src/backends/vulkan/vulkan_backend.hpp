// The Vulkan backend: every device with Vulkan 1.2 and buffer addresses.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

struct Settings {
  std::uint32_t batch = 32;           // dispatches in a command buffer (W74)
  bool validation = false;            // layers check every call; what they say becomes an error
  bool large_push_constants = false;  // the device's own limit instead of 128 bytes (W37)
};

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings = {});

}  // namespace salvo::backends::vulkan
