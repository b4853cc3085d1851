// The run-time compiler of CUDA C++, loaded at run time in any version that is installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/library.hpp"

namespace salvo::backends::cuda {

// clang-format off
// apply(name here, symbol, parameters)
#define SALVO_NVRTC_FUNCTIONS(apply)                                                              \
  apply(Version, "nvrtcVersion", (int*, int*))                                                    \
  apply(ArchCount, "nvrtcGetNumSupportedArchs", (int*))                                           \
  apply(Archs, "nvrtcGetSupportedArchs", (int*))                                                  \
  apply(Create, "nvrtcCreateProgram",                                                             \
        (void**, const char*, const char*, int, const char* const*, const char* const*))          \
  apply(Destroy, "nvrtcDestroyProgram", (void**))                                                 \
  apply(Compile, "nvrtcCompileProgram", (void*, int, const char* const*))                         \
  apply(LogSize, "nvrtcGetProgramLogSize", (void*, std::size_t*))                                 \
  apply(Log, "nvrtcGetProgramLog", (void*, char*))                                                \
  apply(PtxSize, "nvrtcGetPTXSize", (void*, std::size_t*))                                        \
  apply(Ptx, "nvrtcGetPTX", (void*, char*))                                                       \
  apply(CubinSize, "nvrtcGetCUBINSize", (void*, std::size_t*))                                    \
  apply(Cubin, "nvrtcGetCUBIN", (void*, char*))
// clang-format on

/// The compiler and what it can compile for.
class Nvrtc {
 public:
  /// Fills the table. Returns why it cannot be used, or an empty string.
  std::string load();

  /// Compiles to machine code where an option names sm_, to PTX where it names compute_. Throws
  /// Errc::compile_failed with the compiler's words.
  std::string compile(const std::string& code, const std::string& file,
                      const std::vector<std::string>& options) const;

  int version() const noexcept { return version_; }  // 13000 is 13.0
  const std::string& library_name() const noexcept { return library_.name(); }
  /// The newest architecture up to `device` (90: Hopper) that it compiles for; 0 if there is none.
  int arch_for(int device) const noexcept;

 private:
  runtime::Library library_;
#define SALVO_NVRTC_DECLARE(name, symbol, parameters) runtime::Function<int(*) parameters> name##_;
  SALVO_NVRTC_FUNCTIONS(SALVO_NVRTC_DECLARE)
#undef SALVO_NVRTC_DECLARE
  int version_ = 0;
  std::vector<int> archs_;
};

}  // namespace salvo::backends::cuda
