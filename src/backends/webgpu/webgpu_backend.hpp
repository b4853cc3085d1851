// The WebGPU backend: registered, and never available, since kernels are only printed for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::webgpu {

inline constexpr std::string_view kName = "WebGPU";

std::unique_ptr<runtime::Backend> make_backend();

}  // namespace salvo::backends::webgpu
