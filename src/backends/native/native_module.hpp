// A kernel's module on its way through LLVM: parsed, optimised, made an object file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backends/native/native_api.hpp"

namespace salvo::backends::native {

/// Has a context of its own, so that threads may work on different modules at once. The steps are
/// called once each, in their order; each throws Errc::compile_failed with LLVM's words.
class Module {
 public:
  /// `machine` is this module's alone while it lives.
  Module(const Api& api, LlvmMachine* machine);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// A failure names the line that it is about.
  void parse(const std::string& text);
  void optimize();
  std::vector<std::byte> object();

 private:
  static void keep_diagnostic(LlvmDiagnostic* diagnostic, void* module);
  [[noreturn]] void refuse(const char* call, const std::string& message) const;

  const Api& api_;
  LlvmMachine* const machine_;
  LlvmContext* const context_;
  LlvmModule* module_ = nullptr;
  std::string log_;  // what LLVM said on the way
};

}  // namespace salvo::backends::native
