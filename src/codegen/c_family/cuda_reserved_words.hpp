// The identifiers that CUDA C++ keeps for itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace salvo::codegen::c_family {

/// Keywords, built-in types, variables and functions, up to C++20.
bool is_cuda_word(std::string_view name);

}  // namespace salvo::codegen::c_family
