// Small functions that printed kernels call, each defined once before the kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "ir/kernel.hpp"

namespace salvo::codegen::wgsl {

/// "i32", "f32" ...: what values of a compute type are in a register.
std::string_view type_name(ir::Scalar type);

/// The functions one source needs. Names start with "salvo_", which no other name does. Each member
/// returns the name to call.
class Helpers {
 public:
  /// The argument: keeps the compiler from working out an expression of constants, which it refuses
  /// where that overflows or is no finite number.
  std::string runtime(ir::Scalar type);
  /// The float with these bits, which may be no finite number.
  std::string float_of_bits();

  std::string divide(ir::Scalar integer);
  std::string remainder(ir::Scalar integer);
  std::string minimum();
  std::string maximum();
  /// An integer of a float, saturating; 0 of NaN.
  std::string to_integer(ir::Scalar integer);
  /// Math that WGSL has not, or not for all arguments.
  std::string math(ir::Op op);
  /// A float rounded to the nearest bf16, ties to even.
  std::string round_to_bf16();

  const std::string& text() const noexcept { return text_; }

 private:
  std::string extremum(bool maximum);
  std::string define(std::string name, std::string_view text);

  std::set<std::string> defined_;
  std::string text_;
};

}  // namespace salvo::codegen::wgsl
