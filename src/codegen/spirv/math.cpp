// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/math.hpp"

#include <fmt/format.h>

namespace salvo::codegen::spirv {
namespace {

using ir::Op;

GLSLstd450 function_of(Op op) {
  switch (op) {
    case Op::Sqrt: return GLSLstd450Sqrt;
    case Op::Rsqrt: return GLSLstd450InverseSqrt;
    case Op::Sin: return GLSLstd450Sin;
    case Op::Cos: return GLSLstd450Cos;
    case Op::Tan: return GLSLstd450Tan;
    case Op::Asin: return GLSLstd450Asin;
    case Op::Acos: return GLSLstd450Acos;
    case Op::Atan: return GLSLstd450Atan;
    case Op::Atan2: return GLSLstd450Atan2;
    case Op::Sinh: return GLSLstd450Sinh;
    case Op::Cosh: return GLSLstd450Cosh;
    case Op::Tanh: return GLSLstd450Tanh;
    case Op::Exp: return GLSLstd450Exp;
    case Op::Exp2: return GLSLstd450Exp2;
    case Op::Log: return GLSLstd450Log;
    case Op::Log2: return GLSLstd450Log2;
    case Op::Pow: return GLSLstd450Pow;
    case Op::Floor: return GLSLstd450Floor;
    case Op::Ceil: return GLSLstd450Ceil;
    case Op::Trunc: return GLSLstd450Trunc;
    default: return GLSLstd450Bad;
  }
}

}  // namespace

Id math(Module& m, const ir::Node& node, std::span<const Id> in) {
  const GLSLstd450 function = function_of(node.op);
  const bool exact = node.op == Op::Sqrt || node.op == Op::Rsqrt || node.op == Op::Floor || node.op == Op::Ceil || node.op == Op::Trunc;
  if (function == GLSLstd450Bad || (node.type == Scalar::F64 && !exact)) {
    unsupported(m.kernel(), fmt::format("{} on {}", ir::name(node.op), ir::name(node.type)));
  }
  return in.size() == 1 ? m.glsl(function, node.type, {in[0]})
                        : m.glsl(function, node.type, {in[0], in[1]});
}

}  // namespace salvo::codegen::spirv
