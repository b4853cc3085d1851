// A kernel compiled for the host.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/native/native_object.hpp"
#include "backends/native/native_properties.hpp"
#include "codegen/llvm/launch_record.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::native {

class NativeExecutable final : public runtime::Executable {
 public:
  /// `lowered` is the kernel that the code was made of, kept to name what goes out of bounds; null
  /// where bounds are not checked.
  NativeExecutable(const ir::Kernel& kernel, std::unique_ptr<const ir::Kernel> lowered,
                   std::unique_ptr<Code> code, const std::string& entry,
                   std::vector<std::byte> object);

  std::uint32_t max_threads_per_block() const noexcept override { return kMaxThreadsPerBlock; }
  std::vector<std::byte> binary() const override { return object_; }

  /// Throws launch_failed or unsupported for a launch that the kernel is not made for.
  void check(const runtime::LaunchShape& shape, std::size_t arguments, unsigned lanes) const;
  [[noreturn]] void throw_fault(const codegen::llvm::LaunchFault& fault) const;

  codegen::llvm::KernelEntry entry() const noexcept { return entry_; }
  const codegen::llvm::KernelFacts& facts() const noexcept { return facts_; }
  /// By argument, tables spread out.
  const std::vector<bool>& spans() const noexcept { return spans_; }

 private:
  std::unique_ptr<const ir::Kernel> lowered_;
  std::unique_ptr<Code> code_;
  std::vector<std::byte> object_;
  codegen::llvm::KernelEntry entry_ = nullptr;
  codegen::llvm::KernelFacts facts_;
  std::vector<bool> spans_;
  std::uint64_t shared_bytes_ = 0;
  bool uses_warps_ = false;
};

}  // namespace salvo::backends::native
