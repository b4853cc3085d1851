// Numbers as the C-like languages spell them, such that they read back as the same bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

template <typename Int>
std::string integer_literal(Int value, std::string_view suffix) {
  constexpr Int kLowest = std::numeric_limits<Int>::min();
  // The lowest number has no literal: its digits without the sign do not fit.
  if (value == kLowest) return fmt::format("(-{}{} - 1)", -(kLowest + 1), suffix);
  return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

/// Of a zero or a normal number; empty for others, which have no digits.
template <typename Float>
std::string floating_literal(Float value, std::string_view suffix) {
  if (!std::isnormal(value) && value != 0) return {};
  std::string digits = fmt::format("{}", value);  // the shortest that reads back as the same bits
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return std::signbit(value) ? fmt::format("({}{})", digits, suffix)
                             : fmt::format("{}{}", digits, suffix);
}

/// A constant of a compute type. `wide` is the suffix of 64-bit integers: "l", "ll".
inline std::string constant_literal(ir::Scalar type, std::uint64_t bits, std::string_view wide,
                                    const Dialect& dialect) {
  using ir::Scalar;
  const auto word = static_cast<std::uint32_t>(bits);
  std::string digits;
  switch (type) {
    case Scalar::Bool:
      return bits != 0 ? "true" : "false";
    case Scalar::U32:
      return fmt::format("{}u", word);
    case Scalar::U64:
      return fmt::format("{}u{}", bits, wide);
    case Scalar::I32:
      return integer_literal(static_cast<std::int32_t>(bits), "");
    case Scalar::I64:
      return integer_literal(static_cast<std::int64_t>(bits), wide);
    case Scalar::F32:
      digits = floating_literal(std::bit_cast<float>(word), "f");
      if (!digits.empty()) return digits;
      return dialect.bitcast(type, Scalar::U32, fmt::format("0x{:08x}u", word));
    default:
      digits = floating_literal(std::bit_cast<double>(bits), "");
      if (!digits.empty()) return digits;
      return dialect.bitcast(type, Scalar::U64, fmt::format("0x{:016x}u{}", bits, wide));
  }
}

}  // namespace salvo::codegen::c_family
