// Turns a CUDA-shaped driver's status codes into salvo::Error.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_error.hpp"

#include <utility>

#include <fmt/format.h>

namespace salvo::backends::cuda_family {

std::string words(const Api& api, Result status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.ErrorName(status, &name) != kSuccess || !name)
    return fmt::format("CUDA error {}", status);
  if (api.ErrorText(status, &text) != kSuccess || !text) return name;
  return fmt::format("{}: {}", name, text);
}

bool is_sticky(Result status) noexcept {
  switch (status) {
    case 214:  // uncorrectable ECC error
    case 700:  // illegal address
    case 702:  // launch timeout
    case 709:  // context destroyed
    case 710:  // assertion in a kernel
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failed
      return true;
    default:
      return false;
  }
}

void Reporter::fail(Result status, std::string_view operation, Errc otherwise,
                    std::string log) const {
  constexpr Result kOutOfMemory = 2;
  Errc code = otherwise;
  if (status == kOutOfMemory) code = Errc::out_of_memory;
  if (is_sticky(status)) code = Errc::device_lost;
  throw Error(Error::Details{.code = code,
                             .message = words(api_, status),
                             .backend = std::string(backend_),
                             .operation = name_of(operation),
                             // An earlier launch failed, or this one did half-way.
                             .may_have_started = is_sticky(status),
                             .log = std::move(log)});
}

void Reporter::fail(Errc code, std::string_view operation, std::string message) const {
  throw Error(Error::Details{.code = code,
                             .message = std::move(message),
                             .backend = std::string(backend_),
                             .operation = name_of(operation)});
}

Current::Current(const Reporter& reporter, Context context) noexcept : api_(reporter.api()) {
  Context now = nullptr;
  if (api_.ContextGet(&now) == kSuccess && now == context) return;
  pushed_ = api_.ContextPush(context) == kSuccess;
}

Current::~Current() {
  Context own = nullptr;
  if (pushed_) api_.ContextPop(&own);
}

}  // namespace salvo::backends::cuda_family
