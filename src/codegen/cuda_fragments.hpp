// How NVIDIA's wmma instructions name cooperative matrices, for both ways of writing CUDA code.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "ir/kernel.hpp"

namespace salvo::codegen {

/// Registers that a thread's part of a matrix takes; 0 for a matrix that wmma's m16n16k16 lacks.
inline int fragment_registers(const ir::Matrix& matrix) noexcept {
  if (matrix.rows != 16 || matrix.columns != 16) return 0;
  if (matrix.use == ir::MatrixUse::accumulator) return matrix.type == ir::Scalar::F32 ? 8 : 4;
  return matrix.type == ir::Scalar::F16 ? 8 : 4;
}

inline std::string_view layout_word(ir::MatrixLayout layout) noexcept {
  return layout == ir::MatrixLayout::row_major ? "row" : "col";
}

/// "a", "b", "c" of a load, "d" of a store. Only accumulators can be stored.
inline std::string_view operand_word(ir::MatrixUse use, bool loads) noexcept {
  if (use == ir::MatrixUse::accumulator) return loads ? "c" : "d";
  return name(use);
}

/// The types at the end of wmma.mma.
inline std::string multiply_types(ir::Scalar inputs, ir::Scalar accumulator) {
  if (inputs == ir::Scalar::BF16) return "f32.bf16.bf16.f32";
  return accumulator == ir::Scalar::F32 ? "f32.f32" : "f16.f16";
}

}  // namespace salvo::codegen
