// The identifiers that the Metal Shading Language keeps for itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace salvo::codegen::c_family {

/// Keywords, types, functions and macros of MSL. All of `metal::` is in scope.
bool is_metal_word(std::string_view name);

}  // namespace salvo::codegen::c_family
