// Small functions that printed kernels call, each defined once before the kernel.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/helpers.hpp"

#include <utility>

#include <fmt/format.h>

namespace salvo::codegen::wgsl {
namespace {

using ir::Op;
using ir::Scalar;

// NaN is told by its bits: a compiler may take it that there is none.
constexpr std::string_view kIsNan =
    "fn $N(a: f32) -> bool {\n"
    "  return (bitcast<u32>(a) & 0x7fffffffu) > 0x7f800000u;\n"
    "}\n";
constexpr std::string_view kIsInf =
    "fn $N(a: f32) -> bool {\n"
    "  return (bitcast<u32>(a) & 0x7fffffffu) == 0x7f800000u;\n"
    "}\n";
constexpr std::string_view kCopysign =
    "fn $N(a: f32, b: f32) -> f32 {\n"
    "  return bitcast<f32>((bitcast<u32>(a) & 0x7fffffffu) | (bitcast<u32>(b) & 0x80000000u));\n"
    "}\n";
// Half away from zero, where WGSL's own goes to even. The difference is exact.
constexpr std::string_view kRound =
    "fn $N(a: f32) -> f32 {\n"
    "  let whole = trunc(a);\n"
    "  let one = bitcast<f32>(0x3f800000u | (bitcast<u32>(a) & 0x80000000u));\n"
    "  return select(whole, whole + one, abs(a - whole) >= 0.5f);\n"
    "}\n";
// By whole-number arithmetic on the mantissas: exact, whatever the division is.
constexpr std::string_view kFmod =
    "fn $N(a: f32, b: f32) -> f32 {\n"
    "  let sign = bitcast<u32>(a) & 0x80000000u;\n"
    "  let top = bitcast<u32>(a) & 0x7fffffffu;\n"
    "  let by = bitcast<u32>(b) & 0x7fffffffu;\n"
    "  if (by == 0u || top >= 0x7f800000u || by > 0x7f800000u) {\n"
    "    return bitcast<f32>(top | 0x7fc00000u);\n"
    "  }\n"
    "  if (top < by) {\n"
    "    return a;\n"
    "  }\n"
    "  var exponent = max(top >> 23u, 1u);\n"
    "  let last = max(by >> 23u, 1u);\n"
    "  var left = (top & 0x7fffffu) | select(0u, 0x800000u, top >= 0x800000u);\n"
    "  let divisor = (by & 0x7fffffu) | select(0u, 0x800000u, by >= 0x800000u);\n"
    "  left = left % divisor;\n"
    "  while (exponent > last && left != 0u) {\n"
    "    left = (left << 1u) % divisor;\n"
    "    exponent--;\n"
    "  }\n"
    "  if (left == 0u) {\n"
    "    return bitcast<f32>(sign);\n"
    "  }\n"
    "  while (left < 0x800000u && exponent > 1u) {\n"
    "    left = left << 1u;\n"
    "    exponent--;\n"
    "  }\n"
    "  let normal = (exponent << 23u) | (left & 0x7fffffu);\n"
    "  return bitcast<f32>(sign | select(left, normal, left >= 0x800000u));\n"
    "}\n";
// WGSL's own is for positive bases.
constexpr std::string_view kPow =
    "fn $N(a: f32, b: f32) -> f32 {\n"
    "  if (b == 0.0f || a == 1.0f) {\n"
    "    return 1.0f;\n"
    "  }\n"
    "  let power = pow(abs(a), b);\n"
    "  if (bitcast<u32>(a) < 0x80000000u) {\n"
    "    return power;\n"
    "  }\n"
    "  let half = b * 0.5f;\n"
    "  if (trunc(b) != b) {\n"
    "    let nan = bitcast<f32>(bitcast<u32>(a) | 0x7fc00000u);\n"
    "    return select(power, nan, a < 0.0f && (bitcast<u32>(a) & 0x7fffffffu) < 0x7f800000u);\n"
    "  }\n"
    "  return select(power, -power, trunc(half) != half);\n"
    "}\n";
constexpr std::string_view kToBf16 =
    "fn $N(a: f32) -> f32 {\n"
    "  let bits = bitcast<u32>(a);\n"
    "  let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) & 0xffff0000u;\n"
    "  return bitcast<f32>(select(rounded, 0x7fc00000u, (bits & 0x7fffffffu) > 0x7f800000u));\n"
    "}\n";

void replace_all(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) {
    text.replace(at, word.size(), by);
  }
}

std::string_view math_text(Op op) {
  switch (op) {
    case Op::IsNan:
      return kIsNan;
    case Op::IsInf:
      return kIsInf;
    case Op::Copysign:
      return kCopysign;
    case Op::Round:
      return kRound;
    case Op::Fmod:
    case Op::Rem:
      return kFmod;
    case Op::Pow:
      return kPow;
    case Op::Log10:
      return "fn $N(a: f32) -> f32 {\n  return log2(a) * 0.30102999566f;\n}\n";
    default:
      return {};
  }
}

}  // namespace

std::string_view type_name(Scalar type) {
  switch (type) {
    case Scalar::Bool:
      return "bool";
    case Scalar::U8:
    case Scalar::U16:
    case Scalar::U32:
      return "u32";
    case Scalar::F16:
    case Scalar::BF16:
    case Scalar::F32:
      return "f32";
    default:
      return "i32";  // lengths too
  }
}

std::string Helpers::define(std::string name, std::string_view text) {
  if (defined_.insert(name).second) {
    std::string definition(text);
    replace_all(definition, "$N", name);
    text_ += definition + "\n";
  }
  return name;
}

std::string Helpers::runtime(Scalar type) {
  return define(fmt::format("salvo_runtime_{}", type_name(type)),
                fmt::format("fn $N(a: {0}) -> {0} {{\n  return a;\n}}\n", type_name(type)));
}

std::string Helpers::float_of_bits() {
  return define("salvo_float", "fn $N(bits: u32) -> f32 {\n  return bitcast<f32>(bits);\n}\n");
}

std::string Helpers::divide(Scalar integer) {
  if (integer == Scalar::U32) {
    return define("salvo_div_u32",
                  "fn $N(a: u32, b: u32) -> u32 {\n"
                  "  return select(a / max(b, 1u), 0u, b == 0u);\n"
                  "}\n");
  }
  // By -1 the most negative number overflows; its negation wraps as K3 asks.
  return define("salvo_div_i32",
                "fn $N(a: i32, b: i32) -> i32 {\n"
                "  if (b == 0i) {\n"
                "    return 0i;\n"
                "  }\n"
                "  if (b == -1i) {\n"
                "    return -a;\n"
                "  }\n"
                "  return a / b;\n"
                "}\n");
}

std::string Helpers::remainder(Scalar integer) {
  if (integer == Scalar::U32) {
    return define("salvo_rem_u32",
                  "fn $N(a: u32, b: u32) -> u32 {\n"
                  "  return select(a % max(b, 1u), a, b == 0u);\n"
                  "}\n");
  }
  return define("salvo_rem_i32",
                "fn $N(a: i32, b: i32) -> i32 {\n"
                "  if (b == 0i) {\n"
                "    return a;\n"
                "  }\n"
                "  if (b == -1i) {\n"
                "    return 0i;\n"
                "  }\n"
                "  return a % b;\n"
                "}\n");
}

std::string Helpers::extremum(bool maximum) {
  // WGSL's own may return either zero for -0 and +0. Equal values differ in the sign of zero only.
  return define(maximum ? "salvo_max_f32" : "salvo_min_f32",
                fmt::format("fn $N(a: f32, b: f32) -> f32 {{\n"
                            "  if (a {0} b || {1}(b)) {{\n"
                            "    return a;\n"
                            "  }}\n"
                            "  if (b {0} a || {1}(a)) {{\n"
                            "    return b;\n"
                            "  }}\n"
                            "  return bitcast<f32>(bitcast<u32>(a) {2} bitcast<u32>(b));\n"
                            "}}\n",
                            maximum ? ">" : "<", math(Op::IsNan), maximum ? "&" : "|"));
}

std::string Helpers::minimum() {
  return extremum(false);
}
std::string Helpers::maximum() {
  return extremum(true);
}

std::string Helpers::to_integer(Scalar integer) {
  const std::string is_nan = math(Op::IsNan);
  const bool is_signed = ir::is_signed(integer);
  return define(
      fmt::format("salvo_f32_to_{}", ir::name(integer)),
      fmt::format("fn $N(a: f32) -> {0} {{\n"
                  "  if ({1}(a)) {{\n"
                  "    return {2};\n"
                  "  }}\n"
                  "  if (a >= {3}) {{\n"
                  "    return {4};\n"
                  "  }}\n"
                  "  if (a <= {5}) {{\n"
                  "    return {6};\n"
                  "  }}\n"
                  "  return {0}(a);\n"
                  "}}\n",
                  type_name(integer), is_nan, is_signed ? "0i" : "0u",
                  is_signed ? "2147483648.0f" : "4294967296.0f",
                  is_signed ? "2147483647i" : "4294967295u", is_signed ? "-2147483648.0f" : "0.0f",
                  is_signed ? "(-2147483647i - 1i)" : "0u"));
}

std::string Helpers::math(Op op) {
  return define(fmt::format("salvo_{}", ir::name(op == Op::Rem ? Op::Fmod : op)), math_text(op));
}

std::string Helpers::round_to_bf16() {
  return define("salvo_round_to_bf16", kToBf16);
}

}  // namespace salvo::codegen::wgsl
