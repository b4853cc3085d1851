// Numbers as the C-like languages spell them, such that they read back as the same bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace salvo::codegen::c_family {

template <typename Int>
std::string integer_literal(Int value, std::string_view suffix) {
  constexpr Int kLowest = std::numeric_limits<Int>::min();
  // The lowest number has no literal: its digits without the sign do not fit.
  if (value == kLowest) return fmt::format("(-{}{} - 1)", -(kLowest + 1), suffix);
  return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

/// Of a zero or a normal number.
template <typename Float>
std::string floating_literal(Float value, bool negative, std::string_view suffix) {
  std::string digits = fmt::format("{}", value);  // the shortest that reads back as the same bits
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return negative ? fmt::format("({}{})", digits, suffix) : fmt::format("{}{}", digits, suffix);
}

}  // namespace salvo::codegen::c_family
