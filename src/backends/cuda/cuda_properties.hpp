// What a CUDA driver says of one of its devices.
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/cuda_family/cuda_family_properties.hpp"

namespace salvo::backends::cuda {

/// `properties` are as CUDA/PTX sees them; `driver_version` 12010 is CUDA 12.1.
cuda_family::DeviceFacts read_facts(const cuda_family::Api& api, int index);

}  // namespace salvo::backends::cuda
