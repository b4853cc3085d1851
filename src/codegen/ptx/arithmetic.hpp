// PTX for the pure operations of the IR.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "codegen/ptx/writer.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::ptx {

/// "s32", "u64", "f32" ...: a compute type other than Bool as instructions name it.
std::string_view type_name(ir::Scalar type) noexcept;
/// "b32" or "b64": the same without its kind; "pred" for Bool.
std::string_view bits_name(ir::Scalar type) noexcept;

/// Whether PTX says `op` in a few instructions, rounded as the IR asks.
bool has_instruction(ir::Op op) noexcept;

/// Emits operations on registers and returns the register of the result.
class Arithmetic {
 public:
  Arithmetic(Writer& writer, bool contraction) : to_(writer), rounding_(contraction ? "" : ".rn") {}

  /// A pure operation that is no leaf. `operand_type` is that of the first operand; the count of a
  /// shift is a 32-bit word, whatever its type.
  std::string operation(const ir::Node& node, ir::Scalar operand_type,
                        std::span<const std::string> operands);
  std::string constant(ir::Scalar type, std::uint64_t bits);
  /// Any integer in a 32-bit register, cut to that.
  std::string low_word(ir::Scalar type, const std::string& value);
  std::string bitcast(ir::Scalar to, ir::Scalar from, const std::string& value);
  /// Div or Rem of integers by a number other than 0 and -1.
  std::string divide_by(ir::Op op, ir::Scalar type, const std::string& a, std::uint64_t divisor);
  /// Add, Sub, Mul, Min or Max of two values of `type`.
  std::string binary(ir::Op op, ir::Scalar type, const std::string& a, const std::string& b);
  std::string select(ir::Scalar type, const std::string& condition, const std::string& yes,
                     const std::string& no);
  void move(ir::Scalar type, const std::string& to, const std::string& from) {
    to_.put("mov.{} {}, {}", ir::is_float(type) ? type_name(type) : bits_name(type), to, from);
  }

 private:
  std::string integer_division(bool remainder, ir::Scalar type, const std::string& a,
                               const std::string& b);
  std::string unary(std::string_view instruction, ir::Scalar type, const std::string& a);
  std::string shift(ir::Op op, ir::Scalar type, const std::string& a, const std::string& count);
  std::string compare(ir::Op op, ir::Scalar type, const std::string& a, const std::string& b);
  std::string cast(ir::Scalar to, ir::Scalar from, const std::string& a);
  std::string count_bits(std::string_view instruction, ir::Scalar type, const std::string& a);
  std::string round(ir::Scalar type, const std::string& a);
  std::string absolute(ir::Scalar type, const std::string& a);

  Writer& to_;
  std::string_view rounding_;
};

}  // namespace salvo::codegen::ptx
