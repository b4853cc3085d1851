// Turns what Metal says of a failure into salvo::Error.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/metal/metal_api.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::metal {

inline constexpr std::string_view kName = "Metal";

Error failure(Errc code, std::string_view operation, std::string message, std::string log = {});

/// Of a command buffer that was found failed when it was waited for; `kernels` are its launches.
Error command_failure(const Api& api, Id error, const std::string& kernels);

}  // namespace salvo::backends::metal
