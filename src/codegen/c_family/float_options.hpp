// Compiler options that would let a device compiler change floating-point results.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

namespace salvo::codegen::c_family {

/// The first of a user's options that relaxes floating point (W51), spelled as the user did; empty
/// if none does. Options may be one or several words, with values after `=` or in the next word, in
/// the spelling of any of the device compilers: Clang's (HIP, OpenCL), NVRTC's and OpenCL's.
std::string relaxing_option(std::span<const std::string> options);

}  // namespace salvo::codegen::c_family
