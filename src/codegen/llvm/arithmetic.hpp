// Pure operations of the IR in LLVM's instructions, on single values and on vectors alike.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "codegen/llvm/writer.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::llvm {

/// No instruction carries a fast-math flag and none is llvm.fmuladd: LLVM then neither contracts
/// nor reorders, and results are those that include/salvo/ir.hpp defines.
class Arithmetic {
 public:
  /// `half`: the processor converts binary16.
  Arithmetic(Writer& writer, bool half) : w_(writer), half_(half) {}

  /// `node` on `operands`, whose first has type `from` (Select: the second). `divisor` is the
  /// constant an integer is divided by, if it is one.
  Text operation(const ir::Node& node, ir::Scalar from, std::span<const Text> operands, unsigned n,
                 const ir::Node* divisor);

  Text cast(ir::Scalar to, ir::Scalar from, const Text& value, unsigned n);
  /// Two values to one, for atomics and reductions: Add, Sub, Min, Max, And, Or or Xor.
  Text combine(ir::Op op, ir::Scalar type, const Text& a, const Text& b, unsigned n);
  Text select(ir::Scalar type, const Text& condition, const Text& yes, const Text& no, unsigned n);

  /// Shift counts may have another integer type than the shifted value; they are taken modulo its
  /// width.
  Text shift_count(ir::Scalar type, ir::Scalar count_type, const Text& count, unsigned n);

  /// Between the element in memory, of `storage_type`, and the value in a register.
  Text widen(ir::Scalar element, const Text& bits, unsigned n);
  Text narrow(ir::Scalar element, const Text& value, unsigned n);
  /// "i8" for Bool, "i16" for the narrow floats ...
  static std::string_view storage_type(ir::Scalar element);

 private:
  Text intrinsic(const char* name, ir::Scalar type, std::span<const Text> operands, unsigned n);
  Text compare(const char* predicate, ir::Scalar type, const Text& a, const Text& b, unsigned n);
  Text binary(const char* instruction, ir::Scalar type, const Text& a, const Text& b, unsigned n);
  Text divide(const ir::Node& node, std::span<const Text> operands, unsigned n,
              const ir::Node* divisor);
  Text lesser(bool max, ir::Scalar type, const Text& a, const Text& b, unsigned n);
  Text bits(ir::Scalar float_type, const Text& value, unsigned n);
  Text from_f16(const Text& value, unsigned n);
  Text to_f16(const Text& value, unsigned n);
  Text to_bf16(const Text& value, unsigned n);
  static ir::Scalar bits_type(ir::Scalar float_type);
  Text convert(const char* instruction, std::string_view from, const Text& value,
               std::string_view to, unsigned n);

  Writer& w_;
  const bool half_;
};

}  // namespace salvo::codegen::llvm
