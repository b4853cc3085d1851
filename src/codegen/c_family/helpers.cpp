// Small functions that printed kernels call, each defined once before the kernel.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/helpers.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace salvo::codegen::c_family {
namespace {

using ir::Scalar;

Scalar unsigned_of(Scalar type) {
  return ir::size_of(type) == 8 ? Scalar::U64 : Scalar::U32;
}

void replace_all(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) {
    text.replace(at, word.size(), by);
  }
}

}  // namespace

std::string Helpers::define(std::string name, std::string_view text, Words words) {
  if (defined_.insert(name).second) {
    std::string definition(text);
    for (const auto& [word, by] : words) replace_all(definition, word, by);
    replace_all(definition, "$F", dialect_.function_qualifiers());
    replace_all(definition, "$N", name);
    text_ += definition;
    text_ += '\n';
  }
  return name;
}

std::string Helpers::division(Scalar integer, bool remainder) {
  const std::string name = fmt::format("salvo_{}_{}", remainder ? "rem" : "div", ir::name(integer));
  const std::string_view type = dialect_.type(integer);
  if (!ir::is_signed(integer)) {
    return define(name,
                  remainder ? "$F $T $N($T a, $T b) { return b == 0 ? a : a % b; }\n"
                            : "$F $T $N($T a, $T b) { return b == 0 ? 0 : a / b; }\n",
                  {{"$T", type}});
  }
  // By -1 the most negative number overflows; its negation wraps as K3 asks.
  return define(name,
                remainder ? "$F $T $N($T a, $T b) {\n"
                            "  return b == 0 ? a : b == -1 ? 0 : a % b;\n"
                            "}\n"
                          : "$F $T $N($T a, $T b) {\n"
                            "  return b == 0 ? 0 : b == -1 ? ($T)(0 - ($U)a) : a / b;\n"
                            "}\n",
                {{"$T", type}, {"$U", dialect_.type(unsigned_of(integer))}});
}

std::string Helpers::extremum(Scalar floating, bool maximum) {
  // The devices' own functions may return either zero for -0 and +0. Equal values differ in the
  // sign of zero only, so that one bit operation on them gives the smaller or larger.
  const Scalar bits = unsigned_of(floating);
  const std::string equal =
      dialect_.bitcast(floating, bits,
                       fmt::format("{} {} {}", dialect_.bitcast(bits, floating, "a"),
                                   maximum ? "&" : "|", dialect_.bitcast(bits, floating, "b")));
  return define(fmt::format("salvo_{}_{}", maximum ? "max" : "min", ir::name(floating)),
                "$F $T $N($T a, $T b) {\n"
                "  return a $C b || b != b ? a : b $C a || a != a ? b : $E;\n"
                "}\n",
                {{"$T", dialect_.type(floating)}, {"$C", maximum ? ">" : "<"}, {"$E", equal}});
}

std::string Helpers::divide(Scalar integer) {
  return division(integer, false);
}
std::string Helpers::remainder(Scalar integer) {
  return division(integer, true);
}
std::string Helpers::minimum(Scalar floating) {
  return extremum(floating, false);
}
std::string Helpers::maximum(Scalar floating) {
  return extremum(floating, true);
}

std::string Helpers::combination(ir::Op reduction, Scalar type) {
  if (reduction == ir::Op::WarpAdd) {
    if (!ir::is_signed(type)) return "value + other";
    return fmt::format("({0})(({1})value + ({1})other)", dialect_.type(type),
                       dialect_.type(unsigned_of(type)));
  }
  const bool least = reduction == ir::Op::WarpMin;
  if (ir::is_float(type)) return (least ? minimum(type) : maximum(type)) + "(value, other)";
  return least ? "other < value ? other : value" : "other > value ? other : value";
}

std::string Helpers::saturating_cast(Scalar integer, Scalar floating) {
  const int bits = static_cast<int>(8 * ir::size_of(integer));
  const bool is_signed = ir::is_signed(integer);
  const auto power = [&](double value) {
    return dialect_.constant(floating, floating == Scalar::F64 ? std::bit_cast<std::uint64_t>(value)
                                                               : std::bit_cast<std::uint32_t>(
                                                                     static_cast<float>(value)));
  };
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
  return define(
      fmt::format("salvo_{}_to_{}", ir::name(floating), ir::name(integer)),
      "$F $T $N($S a) {\n"
      "  return a >= $H ? $B : a <= $L ? $A : ($T)a;\n"
      "}\n",
      {{"$T", dialect_.type(integer)},
       {"$S", dialect_.type(floating)},
       // Powers of two, which every float type has.
       {"$H", power(std::ldexp(1.0, is_signed ? bits - 1 : bits))},
       {"$B", dialect_.constant(integer, is_signed ? all >> 1 : all)},
       {"$L", power(is_signed ? -std::ldexp(1.0, bits - 1) : 0.0)},
       {"$A", dialect_.constant(integer, is_signed ? std::uint64_t{1} << (bits - 1) : 0)}});
}

std::string Helpers::to_bf16() {
  return define(
      "salvo_to_bf16",
      "$F $H $N($T a) {\n"
      "  const $U bits = $B;\n"
      "  return a != a ? ($H)0x7fc0 : ($H)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);\n"
      "}\n",
      {{"$H", dialect_.memory_type(Scalar::BF16)},
       {"$T", dialect_.type(Scalar::F32)},
       {"$U", dialect_.type(Scalar::U32)},
       {"$B", dialect_.bitcast(Scalar::U32, Scalar::F32, "a")}});
}

}  // namespace salvo::codegen::c_family
