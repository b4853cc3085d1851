// The run-time compiler of HIP C++, loaded at run time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "backends/cuda_family/cuda_family_compiler.hpp"

namespace salvo::backends::hip {

/// The compiler. One compilation at a time; `compile` sees to that.
class Hiprtc final : public cuda_family::RuntimeCompiler {
 public:
  Hiprtc() : RuntimeCompiler({"hiprtc", "hiprtc", "HIP"}) {}

  /// Fills the table, from libamdhip64 itself up to ROCm 6 and from libhiprtc where it stands
  /// alone. Returns why it cannot be used, or an empty string.
  std::string load();

  /// A code object. Throws Errc::compile_failed with the compiler's words.
  std::string compile(const std::string& code, const std::string& file,
                      const std::vector<std::string>& options) const;

  /// "9.0": of the compiler's interface, which changes with each release.
  std::string version() const;

 private:
  Form code_{"GetCode"};
};

/// The options that a kernel is compiled with for `architecture` (W51): the last of them forbids
/// contraction, whatever came before.
std::vector<std::string> compile_options(const std::string& architecture,
                                         const std::vector<std::string>& users = {});

}  // namespace salvo::backends::hip
