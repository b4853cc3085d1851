// All built-in backends, a line each.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "backends/interpreter/options.hpp"
#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/native/native_backend.hpp"
#include "backends/vulkan/vulkan_backend.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends {

/// What the environment chooses of backends.
struct Settings {
  vulkan::Settings vulkan;
  native::Settings native{};
  level_zero::Settings level_zero{};
  interpreter::Options interpreter{};
};

/// Fresh, unopened backends. Nothing is loaded until one is opened.
std::vector<std::unique_ptr<runtime::Backend>> built_in(const Settings& settings);

}  // namespace salvo::backends
