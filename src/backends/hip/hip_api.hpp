// The HIP runtime, loaded at run time into the table of the driver it is shaped after.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/cuda_family/cuda_family_drivers.hpp"
#include "backends/hip/hiprtc_api.hpp"

namespace salvo::backends::hip {

using cuda_family::Api;
using cuda_family::kSuccess;
using cuda_family::Result;

/// Numbers of hipDeviceAttribute_t, the same from ROCm 5 on.
enum class Attribute : int {
  integrated = 16,
  max_block_x = 26,
  max_block_y = 27,
  max_block_z = 28,
  max_grid_x = 29,
  max_grid_y = 30,
  max_grid_z = 31,
  max_threads_per_block = 56,
  multiprocessors = 63,
  max_shared_per_block = 74,
  warp_size = 87,
};

/// Fills the table from libamdhip64 and starts the runtime. Returns why it cannot be used, or an
/// empty string. What HIP has no counterpart of stays empty: PTX, its linker and memory pools. HIP
/// knows a current device and no contexts: a Context stands for a device.
std::string load(Api& api);

/// "gfx90a:sramecc+:xnack-": what the compiler calls the device. Throws Errc::backend_unavailable.
std::string architecture(int device);

using Drivers = cuda_family::DriversWithCompiler<Hiprtc>;
/// The process's own; never destroyed, since drivers tear themselves down at exit.
Drivers& drivers();

}  // namespace salvo::backends::hip
