// HIP C++, as hiprtc compiles it: CUDA C++ but for the words that differ.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

/// Parameters lie as in CUDA C++. Warps are as wide as the device's: 32 or 64 threads.
const Dialect& hip_dialect();

}  // namespace salvo::codegen::c_family
