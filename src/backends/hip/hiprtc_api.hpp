// The run-time compiler of HIP C++, loaded at run time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/library.hpp"

namespace salvo::backends::hip {

// clang-format off
// apply(name here, symbol, parameters)
#define SALVO_HIPRTC_FUNCTIONS(apply)                                           \
  apply(Version, "hiprtcVersion", (int*, int*))                                 \
  apply(Create, "hiprtcCreateProgram",                                          \
        (void**, const char*, const char*, int, const char**, const char**))    \
  apply(Destroy, "hiprtcDestroyProgram", (void**))                              \
  apply(Compile, "hiprtcCompileProgram", (void*, int, const char**))            \
  apply(LogSize, "hiprtcGetProgramLogSize", (void*, std::size_t*))              \
  apply(Log, "hiprtcGetProgramLog", (void*, char*))                             \
  apply(CodeSize, "hiprtcGetCodeSize", (void*, std::size_t*))                   \
  apply(Code, "hiprtcGetCode", (void*, char*))
// clang-format on

/// The compiler. It needs no device: what it compiles for is an option. One compilation at a time;
/// `compile` sees to that.
class Hiprtc {
 public:
  /// Fills the table, from libamdhip64 itself up to ROCm 6 and from libhiprtc where it stands
  /// alone. Returns why it cannot be used, or an empty string.
  std::string load();

  /// A code object. Throws Errc::compile_failed with the compiler's words.
  std::string compile(const std::string& code, const std::string& file,
                      const std::vector<std::string>& options) const;

  /// "9.0": of the compiler's interface, which changes with each release.
  const std::string& version() const noexcept { return version_; }

 private:
  runtime::Library library_;
#define SALVO_HIPRTC_DECLARE(name, symbol, parameters) runtime::Function<int(*) parameters> name##_;
  SALVO_HIPRTC_FUNCTIONS(SALVO_HIPRTC_DECLARE)
#undef SALVO_HIPRTC_DECLARE
  std::string version_;
};

/// The options that a kernel is compiled with for `architecture` (W51): the last of them forbids
/// contraction, whatever came before.
std::vector<std::string> compile_options(const std::string& architecture,
                                         const std::vector<std::string>& users = {});

}  // namespace salvo::backends::hip
