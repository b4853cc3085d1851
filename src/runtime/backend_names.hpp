// The names of all backends there are or will be: what setters, variables and the tool accept (W2).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

namespace salvo::runtime {

/// In order of preference for the default device.
inline constexpr std::array<std::string_view, 10> kBackendNames{
    "CUDA/PTX", "CUDA/C", "HIP",    "Metal",  "LevelZero",
    "OpenCL",   "Vulkan", "WebGPU", "Native", "Interpreter"};

}  // namespace salvo::runtime
