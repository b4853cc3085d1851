// How a C-like language writes cooperative matrices (K12).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "codegen/c_family/dialect.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::c_family {

/// A matrix of the kernel being printed.
struct MatrixText {
  const ir::Matrix* matrix = nullptr;
  std::string name;
  ir::MatrixLayout layout = ir::MatrixLayout::row_major;  // of its loads, for uses a and b
};

/// One target's words. All give a statement without its semicolon.
class MatrixWords {
 public:
  virtual ~MatrixWords() = default;

  /// Whether the target has this type and shape.
  virtual bool has(const ir::Matrix& matrix) const = 0;
  virtual std::string declare(const MatrixText& matrix) const = 0;
  /// `value` is an f32.
  virtual std::string fill(const MatrixText& matrix, std::string_view value,
                           Helpers& helpers) const = 0;
  /// A load or store at `place`, its first element, whose lvalue is of the memory type.
  virtual std::string access(ir::Op op, const MatrixText& matrix, const Place& place,
                             std::string_view stride, ir::MatrixLayout layout,
                             Helpers& helpers) const = 0;
  /// `operands`: a, b and c.
  virtual std::string multiply_add(const MatrixText& result,
                                   const std::array<const MatrixText*, 3>& operands,
                                   Helpers& helpers) const = 0;
  virtual std::string copy(const MatrixText& to, const MatrixText& from,
                           Helpers& helpers) const = 0;
  /// What a shared array that matrices are loaded from or stored to is declared with, so that its
  /// start is aligned: "__align__(32) ".
  virtual std::string_view alignment() const = 0;
};

}  // namespace salvo::codegen::c_family
