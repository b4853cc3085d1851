// What the HIP runtime says of one of its devices.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "backends/cuda_family/cuda_family_properties.hpp"

namespace salvo::backends::hip {

/// 9 of "gfx90a:xnack-", 10 of "gfx1030"; 0 of what is no such name.
int generation(std::string_view architecture) noexcept;

/// `properties.platform` is what the compiler calls the device.
cuda_family::DeviceFacts read_facts(const cuda_family::Api& api, int index);

}  // namespace salvo::backends::hip
