// Compiles MSL for one device, floating point left alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "backends/metal/metal_api.hpp"

namespace salvo::backends::metal {

/// A kernel, compiled, with what Metal says of it.
struct Pipeline {
  Owned handle;
  std::uint32_t max_threads = 1;
  std::uint32_t warp_size = 1;
};

/// Thread-safe once made.
class Compiler {
 public:
  /// `device` outlives it. Where the options against relaxed floating point cannot be built, a
  /// warning is logged, once in a process (W55).
  Compiler(const Api& api, Id device);

  /// Whether the device's compiler was told to leave floating point alone.
  bool is_exact() const noexcept { return exact_; }
  /// Of the language, as major << 16 | minor.
  std::uint32_t language_version() const noexcept { return language_version_; }

  /// Throws Errc::compile_failed with the compiler's words in the log, in the kernel's `name`.
  Pipeline compile(const std::string& source, const std::string& entry,
                   const std::string& name) const;

 private:
  bool forbid_fast_math();

  const Api& api_;
  const Id device_;
  Owned options_;  // MTLCompileOptions; null where there are none
  bool exact_ = false;
  std::uint32_t language_version_ = 0;
};

}  // namespace salvo::backends::metal
