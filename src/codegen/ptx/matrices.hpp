// PTX for cooperative matrices: the wmma instructions of shape m16n16k16.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/ptx/memory.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::ptx {

/// The registers that hold a thread's part of a matrix, and the words that name it in instructions.
struct Fragment {
  const ir::Matrix* matrix = nullptr;
  std::string_view layout;  // "row", "col": of its loads, for a and b
  std::vector<std::string> registers;
};

/// One kernel's matrices. A fragment is a list of registers: of f32, or of 32 bits with two
/// elements of 16; which elements a thread has is the hardware's own.
class Matrices {
 public:
  Matrices(const ir::Kernel& kernel, Writer& writer, MemoryAccess& access)
      : kernel_(kernel), to_(writer), access_(access) {}

  /// Hands out the registers. Throws Errc::unsupported for a matrix that wmma does not have.
  void declare();
  void fill(const ir::Node& node, const std::string& value);
  /// MatrixLoad and MatrixStore; `stride` is 32 bits wide.
  void access(const ir::Node& node, const Place& place, const std::string& stride);
  void multiply_add(const ir::Node& node);
  void copy(const ir::Node& node);

 private:
  const ir::Kernel& kernel_;
  Writer& to_;
  MemoryAccess& access_;
  std::vector<Fragment> fragments_;  // by matrix
};

}  // namespace salvo::codegen::ptx
