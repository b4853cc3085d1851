// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/math.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace salvo::codegen::spirv {
namespace {

using ir::Op;

GLSLstd450 function_of(Op op) {
  switch (op) {
    case Op::Sqrt:
      return GLSLstd450Sqrt;
    case Op::Floor:
      return GLSLstd450Floor;
    case Op::Ceil:
      return GLSLstd450Ceil;
    case Op::Trunc:
      return GLSLstd450Trunc;
    default:
      return GLSLstd450Bad;
  }
}

}  // namespace

Id math(Module& m, const ir::Node& node, std::span<const Id> in) {
  const GLSLstd450 function = function_of(node.op);
  if (function == GLSLstd450Bad) {
    unsupported(m.kernel(), fmt::format("{} on {}", ir::name(node.op), ir::name(node.type)));
  }
  if (function == GLSLstd450Sqrt && node.type == Scalar::F32 && !m.options().exact_divide_sqrt &&
      m.options().f64_arithmetic) {
    // Rounded to F32 it is the exact root, rounded once: F64 has more than twice the digits.
    const Id wide = m.emit(spv::OpFConvert, Scalar::F64, {in[0]});
    return m.emit(spv::OpFConvert, Scalar::F32, {m.glsl(function, Scalar::F64, {wide})});
  }
  return m.glsl(function, node.type, {in[0]});
}

Id user_code(Module& m, const ir::Node& node, std::span<const Id> in) {
  constexpr std::string_view kSet = "GLSL.std.450 ";
  const ir::UserCode& code = *m.kernel().user_calls[node.index].code;
  const std::string text = code.text("Vulkan").value_or("");
  unsigned number = 0;
  const char* const digits = text.data() + std::min(kSet.size(), text.size());
  const auto [end, failed] = std::from_chars(digits, text.data() + text.size(), number);
  if (node.op == Op::Native || !text.starts_with(kSet) || failed != std::errc{} ||
      end != text.data() + text.size() || number == 0 || number >= GLSLstd450Count) {
    unsupported(m.kernel(), fmt::format("'{}': SPIR-V has no text; Vulkan takes intrinsics as "
                                        "\"GLSL.std.450 <number of an instruction>\"",
                                        code.name()));
  }
  return m.glsl(static_cast<GLSLstd450>(number), node.type, in);
}

}  // namespace salvo::codegen::spirv
