// Turns Level Zero results into salvo::Error.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/level_zero/level_zero_types.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::level_zero {

inline constexpr std::string_view kName = "LevelZero";

/// "ZE_RESULT_ERROR_DEVICE_LOST"; "Level Zero error 0x..." for a value of the vendor's own.
std::string result_name(ze::Result result);

/// Throws what `result` of the call `operation` means; `otherwise` where the code itself does not
/// say that memory ran out or the device is gone.
[[noreturn]] void fail(ze::Result result, std::string_view operation, Errc otherwise,
                       std::string log = {});
/// The same for a call that waited, and so may tell of a launch before it (W62).
[[noreturn]] void fail_late(ze::Result result, std::string_view operation, Errc otherwise);

inline void check(ze::Result result, std::string_view operation, Errc otherwise) {
  if (result != ze::Result::success) [[unlikely]]
    fail(result, operation, otherwise);
}
inline void check_late(ze::Result result, std::string_view operation, Errc otherwise) {
  if (result != ze::Result::success) [[unlikely]]
    fail_late(result, operation, otherwise);
}

/// Whether the driver or the loader does not know the call.
inline bool is_unsupported(ze::Result result) noexcept {
  return result == ze::Result::unsupported_feature || result == ze::Result::unsupported_version ||
         result == ze::Result::uninitialized;
}

}  // namespace salvo::backends::level_zero
