// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/math.hpp"

#include <fmt/format.h>

namespace salvo::codegen::spirv {

using ir::Op;

Id math(Module& m, const ir::Node& node, std::span<const Id> in) {
  if (extended_instruction(m.options().flavour, node.op) < 0) {
    m.unsupported(fmt::format("{} on {}", ir::name(node.op), ir::name(node.type)));
  }
  if (node.op == Op::Sqrt && node.type == Scalar::F32 && !m.options().exact_divide_sqrt &&
      m.options().f64_arithmetic) {
    // Rounded to F32 it is the exact root, rounded once: F64 has more than twice the digits.
    const Id wide = m.emit(spv::OpFConvert, Scalar::F64, {in[0]});
    return m.emit(spv::OpFConvert, Scalar::F32, {m.extended(Op::Sqrt, Scalar::F64, {wide})});
  }
  if (node.operand_count == 2) return m.extended(node.op, node.type, {in[0], in[1]});
  return m.extended(node.op, node.type, {in[0]});
}

}  // namespace salvo::codegen::spirv
