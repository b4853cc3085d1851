// The text of one LLVM function: names, types, constants, blocks and the intrinsics it calls.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "salvo/ir.hpp"

namespace salvo::codegen::llvm {

/// An operand or the name of a value, as LLVM writes it.
using Text = std::string;

/// Appends instructions. Values exist as one number or as a vector of `lanes` of them; `n` below is
/// 1 or `lanes`.
///
/// Pointers: LLVM 14 knows only typed ones, LLVM 17 only opaque ones, and no text suits both. All
/// addresses are therefore i8 pointers computed in bytes, and only what touches memory names the
/// type it finds there, through `pointer`: a cast in typed text, nothing in opaque text.
class Writer {
 public:
  Writer(unsigned lanes, bool typed_pointers) : lanes_(lanes), typed_(typed_pointers) {}

  unsigned lanes() const noexcept { return lanes_; }

  // Types.
  static std::string_view scalar(ir::Scalar type);  // in a register: "i1", "i32", "float" ...
  Text type(ir::Scalar type, unsigned n) const { return vector_of(scalar(type), n); }
  static Text vector_of(std::string_view element, unsigned n);
  /// "v16f32", "i64": how intrinsics name a type.
  static Text suffix(std::string_view element, unsigned n);
  std::string_view address_type() const noexcept { return typed_ ? "i8*" : "ptr"; }
  Text mask_type() const { return vector_of("i1", lanes_); }
  Text bits_type() const { return fmt::format("i{}", lanes_); }  // of a mask as a number

  // Constants.
  static Text literal(ir::Scalar type, std::uint64_t bits);
  /// The same element in each of `n` lanes.
  static Text repeat(std::string_view element_type, const Text& element, unsigned n);
  Text constant(ir::Scalar type, std::uint64_t bits, unsigned n) const {
    return repeat(scalar(type), literal(type, bits), n);
  }
  Text all_lanes() const { return repeat("i1", "true", lanes_); }

  // Instructions.
  template <typename... Args>
  Text let(fmt::format_string<Args...> format, Args&&... args) {
    Text name = fmt::format("%v{}", next_++);
    line(fmt::format("{} = {}", name, fmt::format(format, std::forward<Args>(args)...)));
    return name;
  }
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...));
  }
  Text call(std::string_view result, const std::string& function,
            std::initializer_list<std::pair<Text, Text>> arguments);  // type, value
  /// A variable of the function; `type` in words of LLVM.
  Text variable(std::string_view type, unsigned align = 0);
  Text load(std::string_view type, const Text& address, unsigned align);
  void store(std::string_view type, const Text& value, const Text& address, unsigned align);
  Text get(std::string_view type, const Text& variable);
  void set(std::string_view type, const Text& value, const Text& variable);
  /// `address`, an i8 pointer, as a pointer to `type`; and its type.
  Text pointer(std::string_view type, const Text& address);
  Text pointer_type(std::string_view type) const {
    return typed_ ? fmt::format("{}*", type) : Text("ptr");
  }
  /// The same for a vector of addresses.
  Text pointers(std::string_view element, const Text& addresses);
  Text pointers_type(std::string_view element) const {
    return vector_of(pointer_type(element), lanes_);
  }
  /// How intrinsics name `pointer_type` of a type whose own suffix is given.
  Text pointer_suffix(const Text& of) const { return typed_ ? "p0" + of : Text("p0"); }
  Text offset(const Text& address, const Text& bytes);  // i64
  Text broadcast(std::string_view element, const Text& value);

  // Blocks.
  Text label() { return fmt::format("b{}", next_++); }
  void place(const Text& label);
  void branch(const Text& label);
  void branch(const Text& condition, const Text& yes, const Text& no);
  /// Ends the block with a terminator written by the caller.
  template <typename... Args>
  void end(fmt::format_string<Args...> format, Args&&... args) {
    put(format, std::forward<Args>(args)...);
    ended_ = true;
  }

  /// Suffix of every line from here on, for line tables.
  void debug(std::string suffix) { debug_ = std::move(suffix); }

  const std::string& text() const noexcept { return text_; }
  const std::string& variables() const noexcept { return variables_; }
  std::string declarations() const;

 private:
  void line(const std::string& instruction);

  unsigned lanes_;
  bool typed_;
  unsigned next_ = 0;
  bool ended_ = false;
  std::string text_;
  std::string variables_;
  std::string debug_;
  std::set<std::string> declarations_;
  std::map<Text, Text> broadcasts_;  // within the current block
};

}  // namespace salvo::codegen::llvm
