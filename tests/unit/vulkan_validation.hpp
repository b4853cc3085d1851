// Whether tests run Vulkan under its validation layers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <cstring>

namespace salvo::test {

/// Yes, unless SALVO_VULKAN_VALIDATION=0 says that the machine has no layers.
inline bool vulkan_validation() {
  const char* value = std::getenv("SALVO_VULKAN_VALIDATION");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

}  // namespace salvo::test
