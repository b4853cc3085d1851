// What the backend throws, and LLVM's messages as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/native/native_api.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::native {

inline constexpr std::string_view kName = "Native";

[[noreturn]] void fail(Errc code, std::string operation, std::string message, std::string log = {});

/// A message that LLVM allocated, as text; freed.
std::string take_message(const Api& api, char* message);
/// What an error of LLVM says; consumed. Empty for success.
std::string take_error(const Api& api, LlvmError* error);

}  // namespace salvo::backends::native
