// Turns OpenCL status codes into salvo::Error.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/opencl/opencl_api.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::opencl {

inline constexpr std::string_view kName = "OpenCL";

/// "CL_OUT_OF_RESOURCES"; "OpenCL error -9999" for a code of the vendor's own.
std::string status_name(cl_int status);

/// Throws what `status` of the call `operation` means; `otherwise` where the code itself does not
/// say that memory ran out or the device is gone.
[[noreturn]] void fail(cl_int status, std::string_view operation, Errc otherwise,
                       std::string log = {});
/// The same for a call that waited, and so may tell of a launch before it (W62).
[[noreturn]] void fail_late(cl_int status, std::string_view operation, Errc otherwise);

inline void check(cl_int status, std::string_view operation, Errc otherwise) {
  if (status != CL_SUCCESS) [[unlikely]]
    fail(status, operation, otherwise);
}
inline void check_late(cl_int status, std::string_view operation, Errc otherwise) {
  if (status != CL_SUCCESS) [[unlikely]]
    fail_late(status, operation, otherwise);
}

/// What a query that takes a size and a place writes there.
template <typename T, typename Ask>
T ask(const Ask& question, std::string_view operation) {
  T value{};
  check(question(sizeof(value), &value), operation, Errc::compile_failed);
  return value;
}

}  // namespace salvo::backends::opencl
