// The two CUDA backends: PTX written here, and CUDA C++ compiled by NVRTC.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::cuda {

inline constexpr std::string_view kPtxName = "CUDA/PTX";
inline constexpr std::string_view kCName = "CUDA/C";

/// CUDA/PTX, which needs nothing but the driver.
std::unique_ptr<runtime::Backend> make_ptx_backend();
/// CUDA/C, which needs the driver and NVRTC.
std::unique_ptr<runtime::Backend> make_c_backend();

}  // namespace salvo::backends::cuda
