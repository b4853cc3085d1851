// Turns a CUDA-shaped driver's status codes into salvo::Error.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/cuda_family/cuda_family_api.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::cuda_family {

/// "CUDA_ERROR_OUT_OF_MEMORY: out of memory", in the driver's words.
std::string words(const Api& api, Result status);

/// Whether the context is lost with everything in it: each later call returns the same.
bool is_sticky(Result status) noexcept;

/// Turns the driver's answers into errors of one backend.
class Reporter {
 public:
  Reporter(const Api& api, std::string_view backend) noexcept : api_(api), backend_(backend) {}

  /// Throws what `status` of the call `operation` means unless it is success; `otherwise` where the
  /// code itself does not say that memory ran out or the context is gone.
  void check(Result status, std::string_view operation, Errc otherwise) const {
    if (status != kSuccess) [[unlikely]]
      fail(status, operation, otherwise);
  }
  [[noreturn]] void fail(Result status, std::string_view operation, Errc otherwise,
                         std::string log = {}) const;
  [[noreturn]] void fail(Errc code, std::string_view operation, std::string message) const;

  const Api& api() const noexcept { return api_; }
  std::string_view backend() const noexcept { return backend_; }

 private:
  std::string name_of(std::string_view operation) const {
    return std::string(api_.name_of ? api_.name_of(operation) : operation);
  }

  const Api& api_;
  std::string_view backend_;
};

/// Makes a context current in a scope, and leaves the thread's own as it was: the program may use
/// other CUDA libraries and other GPUs (R14). If that fails, the next call says so.
class Current {
 public:
  Current(const Reporter& reporter, Context context) noexcept;
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Api& api_;
  bool pushed_ = false;
};

}  // namespace salvo::backends::cuda_family
