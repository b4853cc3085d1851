// Turns what Metal says of a failure into salvo::Error.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_error.hpp"

#include <utility>

#include <fmt/format.h>

namespace salvo::backends::metal {
namespace {

// Of MTLCommandBufferError.
constexpr Int kAccessRevoked = 4;
constexpr Int kOutOfMemory = 8;
constexpr Int kDeviceRemoved = 11;

Errc code_of(Int code) {
  switch (code) {
    case kOutOfMemory:
      return Errc::out_of_memory;
    case kAccessRevoked:
    case kDeviceRemoved:
      return Errc::device_lost;
    default:
      return Errc::launch_failed;
  }
}

}  // namespace

Error failure(Errc code, std::string_view operation, std::string message, std::string log) {
  return Error(Error::Details{.code = code,
                              .message = std::move(message),
                              .backend = std::string(kName),
                              .operation = std::string(operation),
                              .log = std::move(log)});
}

Error command_failure(const Api& api, Id error, const std::string& kernels) {
  const Pool pool(api);
  std::string message = api.words(error);
  if (!kernels.empty()) message += fmt::format("; the command buffer held {}", kernels);
  return Error(Error::Details{.code = code_of(error ? api.code(error) : 0),
                              .message = std::move(message),
                              .backend = std::string(kName),
                              .operation = "waitUntilCompleted",
                              .kernel = kernels,
                              .may_have_started = true});
}

}  // namespace salvo::backends::metal
