// What the run-time compilers of CUDA C++ and HIP C++ have in common: their calls and their errors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/library.hpp"

namespace salvo::backends::cuda_family {

/// A compiler whose functions are those of NVRTC, with a prefix of their own. It needs no device:
/// what it compiles for is an option.
class RuntimeCompiler {
 public:
  RuntimeCompiler(const RuntimeCompiler&) = delete;
  RuntimeCompiler& operator=(const RuntimeCompiler&) = delete;

  const std::string& shared_object_name() const noexcept { return shared_object_.name(); }

 protected:
  struct Names {
    std::string_view prefix;   // "nvrtc": of its functions
    std::string_view spoken;   // "NVRTC": in messages
    std::string_view backend;  // whose it is
  };
  /// A form in which the compiler hands out its result, with a function for the size and one for
  /// the bytes.
  struct Form {
    explicit Form(std::string what) : symbol(std::move(what)) {}
    const std::string symbol;  // of the second; the first's ends with "Size"
    runtime::Function<int (*)(void*, std::size_t*)> size;
    runtime::Function<int (*)(void*, char*)> bytes;
  };

  explicit RuntimeCompiler(const Names& names) : names_(names) {}
  ~RuntimeCompiler() = default;

  /// Takes the common functions and `forms` from `library`. Returns why that cannot be, or an empty
  /// string.
  std::string take(runtime::Library library, std::vector<Form*> forms);
  const runtime::Library& library() const noexcept { return shared_object_; }
  int major() const noexcept { return major_; }
  int minor() const noexcept { return minor_; }

  /// Throws Errc::compile_failed with the compiler's words.
  std::string compile_to(const Form& form, const std::string& code, const std::string& file,
                         const std::vector<std::string>& options) const;

 private:
  [[noreturn]] void fail(std::string_view operation, int status, std::string log = {}) const;
  void check(std::string_view operation, int status) const {
    if (status != 0) fail(operation, status);
  }
  std::string log_of(void* program) const;

  const Names names_;
  runtime::Library shared_object_;
  int major_ = 0;
  int minor_ = 0;
  runtime::Function<int (*)(int*, int*)> version_;
  runtime::Function<int (*)(void**, const char*, const char*, int, const char* const*,
                            const char* const*)>
      create_;
  runtime::Function<int (*)(void**)> destroy_;
  runtime::Function<int (*)(void*, int, const char* const*)> compile_;
  runtime::Function<int (*)(void*, std::size_t*)> log_size_;
  runtime::Function<int (*)(void*, char*)> log_;
};

}  // namespace salvo::backends::cuda_family
