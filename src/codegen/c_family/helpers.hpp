// Small functions that printed kernels call, each defined once before the kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

/// The functions one source needs. Names start with "salvo_", which no other name does.
class Helpers {
 public:
  explicit Helpers(const Dialect& dialect) : dialect_(dialect) {}

  using Words = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Defines `name` unless it is there already, and returns it. `text` is its definition, in which
  /// $F stands for the function's qualifiers, $N for its name and each word for its replacement.
  std::string define(std::string name, std::string_view text, Words words);

  // The arithmetic whose C operators are undefined for some operands, or differ between devices.
  std::string divide(ir::Scalar integer);
  std::string remainder(ir::Scalar integer);
  std::string minimum(ir::Scalar floating);
  std::string maximum(ir::Scalar floating);
  /// An expression that makes one of `value` and `other`, for the reductions of a warp.
  std::string combination(ir::Op reduction, ir::Scalar type);
  /// A float that is not NaN as an integer, saturating, where the target's casts do not.
  std::string saturating_cast(ir::Scalar integer, ir::Scalar floating);
  /// Float bits rounded to the nearest bf16, ties to even.
  std::string to_bf16();

  const std::string& text() const noexcept { return text_; }

 private:
  std::string division(ir::Scalar integer, bool remainder);
  std::string extremum(ir::Scalar floating, bool maximum);

  const Dialect& dialect_;
  std::set<std::string> defined_;
  std::string text_;
};

}  // namespace salvo::codegen::c_family
