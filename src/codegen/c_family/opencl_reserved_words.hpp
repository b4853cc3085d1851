// The identifiers that OpenCL C keeps for itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace salvo::codegen::c_family {

/// Keywords, types, built-in functions and common predefined macros, of every version to 3.0.
bool is_opencl_word(std::string_view name);

}  // namespace salvo::codegen::c_family
