// How a printed kernel gets its arguments.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/layout.hpp"

#include <bit>
#include <cmath>

namespace salvo::codegen::wgsl {
namespace {

std::uint32_t from_half(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1fu) return sign | 0x7f800000u | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112u) << 23 | fraction << 13;
  const float value = std::ldexp(static_cast<float>(fraction), -24);  // exact
  return sign | std::bit_cast<std::uint32_t>(value);
}

}  // namespace

Layout::Layout(const ir::Kernel& kernel) {
  std::uint32_t binding = 1;
  for (const ir::Parameter& parameter : kernel.parameters) {
    Parameter& at = parameters.emplace_back();
    at.word = words;
    words += parameter.slots;
    if (!parameter.is_span) continue;
    at.length = words;
    words += parameter.slots;
    at.binding = binding;
    binding += parameter.slots;
  }
}

std::uint32_t word_of(ir::Scalar type, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  switch (type) {
    case ir::Scalar::I8:
      return static_cast<std::uint32_t>(static_cast<std::int8_t>(word));
    case ir::Scalar::I16:
      return static_cast<std::uint32_t>(static_cast<std::int16_t>(word));
    case ir::Scalar::BF16:
      return word << 16;
    case ir::Scalar::F16:
      return from_half(word);
    case ir::Scalar::Bool:
      return word & 0xffu;
    default:
      return word;
  }
}

}  // namespace salvo::codegen::wgsl
