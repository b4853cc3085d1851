// The functions of subgroups for an OpenCL driver that has none, as LLVM assembly.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace salvo::test::level_zero {

/// Of subgroups of `width` threads in the order of their numbers. The threads of a block exchange
/// through shared memory and barriers, so that all of them must come to each operation.
std::string warp_library(std::uint32_t width);

}  // namespace salvo::test::level_zero
