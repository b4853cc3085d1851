// Collects PTX instructions and hands out virtual registers.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "salvo/ir.hpp"

namespace salvo::codegen::ptx {

/// Kinds of registers. Integers of either sign share a bank: an instruction names its type.
enum class Bank { predicate, b16, b32, b64, f32, f64 };

/// Where values of a compute type live.
Bank bank_of(ir::Scalar type) noexcept;

class Writer {
 public:
  /// A register nothing else uses: "%r7".
  std::string fresh(Bank bank);
  std::string fresh(ir::Scalar type) { return fresh(bank_of(type)); }
  std::string fresh_label() { return fmt::format("$L{}", ++labels_); }

  /// One instruction, without its semicolon.
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    text_ += '\t';
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += ";\n";
  }
  void raw(std::string_view text) { text_ += text; }
  void label(const std::string& name) { text_ += name + ":\n"; }
  /// The instructions that follow come from here.
  void location(std::size_t file, std::uint32_t line) {
    fmt::format_to(std::back_inserter(text_), "\t.loc {} {} 0\n", file, line);
  }

  /// Declarations of all registers handed out.
  std::string registers() const;
  const std::string& text() const noexcept { return text_; }

 private:
  std::array<unsigned, 6> counts_{};
  unsigned labels_ = 0;
  std::string text_;
};

}  // namespace salvo::codegen::ptx
