// The identifiers that WGSL keeps for itself, and those of its functions that printed kernels call.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace salvo::codegen::wgsl {

bool is_wgsl_word(std::string_view name);

}  // namespace salvo::codegen::wgsl
