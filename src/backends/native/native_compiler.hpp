// From the text of a module to the bytes of an object file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/native/native_properties.hpp"

namespace salvo::backends::native {

/// Any thread may compile, several at once.
class Compiler {
 public:
  Compiler(const Api& api, Processor processor);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Throws Errc::compile_failed with LLVM's words and the line they are about.
  std::vector<std::byte> compile(const std::string& module) const;

  /// LLVM's model of the processor, for one compilation at a time: making one takes longer than
  /// parsing a kernel, so that it is kept for the next when its owner is done with it.
  using Machine = std::unique_ptr<LlvmMachine, std::function<void(LlvmMachine*)>>;
  Machine machine() const;

  const Processor& processor() const noexcept { return processor_; }

 private:
  const Api& api_;
  const Processor processor_;
  LlvmTarget* target_ = nullptr;  // LLVM's own
  mutable std::mutex lock_;       // of what follows
  mutable std::vector<LlvmMachine*> idle_;
  mutable std::size_t machines_ = 0;
};

}  // namespace salvo::backends::native
