// Cooperative matrices, by SPV_KHR_cooperative_matrix.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "codegen/spirv/memory.hpp"
#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// A kernel's matrices: each is a variable of the function, of a type that a subgroup holds
/// together.
class Matrices {
 public:
  explicit Matrices(Module& module) : m_(module) {}

  /// Throws Errc::unsupported for bf16, whose type is an extension of its own.
  void declare();
  void fill(const ir::Node& node, Id value);
  /// MatrixLoad and MatrixStore; `stride` is of any integer type.
  void access(const ir::Node& node, const Memories::Elements& elements, Id stride);
  void multiply_add(const ir::Node& node);
  void copy(const ir::Node& node);

 private:
  struct Declared {
    Id type = 0;
    Id variable = 0;
  };

  Id component(Scalar type);
  Id read(std::uint32_t matrix);

  Module& m_;
  std::vector<Declared> matrices_;
};

}  // namespace salvo::codegen::spirv
