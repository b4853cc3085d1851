// The CUDA driver, loaded at run time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/cuda/nvrtc_api.hpp"
#include "backends/cuda_family/cuda_family_drivers.hpp"

namespace salvo::backends::cuda {

/// Fills the table from libcuda and starts the driver. Returns why it cannot be used, or an empty
/// string.
std::string load(cuda_family::Api& api);

using Drivers = cuda_family::DriversWithCompiler<Nvrtc>;
/// The process's own; never destroyed, since drivers tear themselves down at exit, in an order
/// nobody can rely on.
Drivers& drivers();

}  // namespace salvo::backends::cuda
