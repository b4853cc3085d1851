// The run-time compiler of CUDA C++, loaded at run time in any version that is installed.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda_family/cuda_family_compiler.hpp"

namespace salvo::backends::cuda {

/// The compiler and what it can compile for.
class Nvrtc final : public cuda_family::RuntimeCompiler {
 public:
  Nvrtc() : RuntimeCompiler({"nvrtc", "NVRTC", "CUDA/C"}) {}

  /// Fills the table from the first of the libraries that there is. Returns why it cannot be used,
  /// or an empty string.
  std::string load(std::initializer_list<std::string_view> names);
  /// The same, of every name that NVRTC has had.
  std::string load();

  /// Compiles to machine code where an option names sm_, to PTX where it names compute_. Throws
  /// Errc::compile_failed with the compiler's words.
  std::string compile(const std::string& code, const std::string& file,
                      const std::vector<std::string>& options) const;

  int version() const noexcept { return major() * 1000 + minor() * 10; }  // 13000 is 13.0
  /// The newest architecture up to `device` (90: Hopper) that it compiles for; 0 if there is none.
  int arch_for(int device) const noexcept;

 private:
  Form ptx_{"GetPTX"};
  Form cubin_{"GetCUBIN"};
  std::vector<int> archs_;
};

}  // namespace salvo::backends::cuda
