// From the text of a module to the bytes of an object file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/native/native_facts.hpp"

namespace salvo::backends::native {

/// Any thread may compile; each call has a context of its own.
class Compiler {
 public:
  Compiler(const Api& api, Processor processor);

  /// Throws Errc::compile_failed with LLVM's words and the line they are about.
  std::vector<std::byte> compile(const std::string& module) const;

  const Processor& processor() const noexcept { return processor_; }

 private:
  const Api& api_;
  const Processor processor_;
  LlvmTarget* target_ = nullptr;  // LLVM's own
};

}  // namespace salvo::backends::native
