// An object file in executable memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "backends/native/native_api.hpp"

namespace salvo::backends::native {

/// Code of one kernel, linked and ready to be called for as long as this lives.
class Code {
 public:
  /// With `symbols` debuggers and profilers are told of it. Throws Errc::compile_failed for bytes
  /// that are no object file of this processor.
  Code(const Api& api, std::span<const std::byte> object, bool symbols);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  /// Address of a symbol. Throws Errc::compile_failed if the object has none of that name.
  void* find(const std::string& symbol);

 private:
  void add(std::span<const std::byte> object);
  void write_perf_map(std::span<const std::byte> object);
  [[noreturn]] void refuse(const char* call, const std::string& message);
  static void keep_report(void* context, LlvmError* error);

  const Api& api_;
  LlvmJit* jit_ = nullptr;
  std::string log_;  // what the linker said on the way
};

}  // namespace salvo::backends::native
