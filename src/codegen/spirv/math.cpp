// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/math.hpp"

#include <fmt/format.h>
#include <glslang/SPIRV/GLSL.std.450.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

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

Id user_code(Module& m, const ir::Node& node, std::span<const Id> in) {
  const bool kernel = m.options().flavour == Flavour::kernel;
  const std::string_view set = kernel ? "OpenCL.std " : "GLSL.std.450 ";
  const std::string_view backend = kernel ? "LevelZero" : "Vulkan";
  const unsigned end_of_set = kernel ? 1024U : unsigned{GLSLstd450Count};
  const ir::UserCode& code = *m.kernel().user_calls[node.index].code;
  const std::string text = code.text(backend).value_or("");
  unsigned number = 0;
  const char* const digits = text.data() + std::min(set.size(), text.size());
  const auto [end, failed] = std::from_chars(digits, text.data() + text.size(), number);
  if (node.op == Op::Native || !text.starts_with(set) || failed != std::errc{} ||
      end != text.data() + text.size() || number == 0 || number >= end_of_set) {
    m.unsupported(fmt::format(
        "'{}': SPIR-V has no text; {} takes intrinsics as \"{}<number of an instruction>\"",
        code.name(), backend, set));
  }
  return m.extended_call(static_cast<int>(number), node.type, in);
}

}  // namespace salvo::codegen::spirv
