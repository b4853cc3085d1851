// All built-in backends, a line each.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/vulkan/vulkan_backend.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends {

/// What the environment chooses of backends.
struct Settings {
  vulkan::Settings vulkan;
  level_zero::Settings level_zero{};
};

/// Fresh, unopened backends. Nothing is loaded until one is opened.
std::vector<std::unique_ptr<runtime::Backend>> built_in(const Settings& settings);

}  // namespace salvo::backends
