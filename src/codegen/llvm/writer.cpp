// The text of one LLVM function: names, types, constants, blocks and the intrinsics it calls.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/writer.hpp"

#include <bit>
#include <cmath>

namespace salvo::codegen::llvm {

using ir::Scalar;

std::string_view Writer::scalar(Scalar type) {
  switch (type) {
    case Scalar::Bool:
      return "i1";
    case Scalar::I8:
    case Scalar::U8:
      return "i8";
    case Scalar::I16:
    case Scalar::U16:
    case Scalar::BF16:
    case Scalar::F16:
      return "i16";
    case Scalar::I64:
    case Scalar::U64:
      return "i64";
    case Scalar::F32:
      return "float";
    case Scalar::F64:
      return "double";
    default:
      return "i32";
  }
}

Text Writer::vector_of(std::string_view element, unsigned n) {
  return n == 1 ? Text(element) : fmt::format("<{} x {}>", n, element);
}

Text Writer::suffix(std::string_view element, unsigned n) {
  const Text name = element == "float" ? "f32" : element == "double" ? "f64" : Text(element);
  return n == 1 ? name : fmt::format("v{}{}", n, name);
}

Text Writer::literal(Scalar type, std::uint64_t bits) {
  switch (type) {
    case Scalar::Bool:
      return bits != 0 ? "true" : "false";
    case Scalar::F32: {
      // LLVM writes a float as the double of the same value; a NaN would not keep its bits so.
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      if (std::isnan(value)) return fmt::format("bitcast (i32 {} to float)", bits);
      return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(static_cast<double>(value)));
    }
    case Scalar::F64:
      return fmt::format("0x{:016X}", bits);
    case Scalar::I64:
    case Scalar::U64:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    default:
      return fmt::format("{}", static_cast<std::int32_t>(bits));
  }
}

Text Writer::repeat(std::string_view element_type, const Text& element, unsigned n) {
  if (n == 1) return element;
  if (element == "0" || element == "false") return "zeroinitializer";
  Text text = "<";
  for (unsigned i = 0; i < n; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", element_type, element);
  }
  return text + ">";
}

void Writer::line(const std::string& instruction) {
  // What follows a jump in the same block is dead, yet must be in a block.
  if (ended_) place(label());
  text_ += fmt::format("  {}{}\n", instruction, debug_);
}

Text Writer::call(std::string_view result, const std::string& function,
                  std::initializer_list<std::pair<Text, Text>> arguments) {
  Text types, values;
  for (const auto& [type, value] : arguments) {
    const char* comma = types.empty() ? "" : ", ";
    types += comma + type;
    values += fmt::format("{}{} {}", comma, type, value);
  }
  declarations_.insert(fmt::format("declare {} @{}({})\n", result, function, types));
  if (result != "void") return let("call {} @{}({})", result, function, values);
  put("call void @{}({})", function, values);
  return {};
}

Text Writer::variable(std::string_view type, unsigned align) {
  Text name = fmt::format("%a{}", next_++);
  variables_ += fmt::format("  {} = alloca {}{}\n", name, type,
                            align == 0 ? "" : fmt::format(", align {}", align));
  return name;
}

Text Writer::pointer(std::string_view type, const Text& address) {
  return typed_ ? let("bitcast i8* {} to {}*", address, type) : address;
}

Text Writer::pointers(std::string_view element, const Text& addresses) {
  if (!typed_) return addresses;
  return let("bitcast {} {} to {}", vector_of("i8*", lanes_), addresses, pointers_type(element));
}

Text Writer::load(std::string_view type, const Text& address, unsigned align) {
  const Text typed = pointer(type, address);
  return let("load {}, {} {}, align {}", type, pointer_type(type), typed, align);
}

void Writer::store(std::string_view type, const Text& value, const Text& address, unsigned align) {
  const Text typed = pointer(type, address);
  put("store {} {}, {} {}, align {}", type, value, pointer_type(type), typed, align);
}

Text Writer::get(std::string_view type, const Text& variable) {
  return let("load {}, {} {}", type, pointer_type(type), variable);
}

void Writer::set(std::string_view type, const Text& value, const Text& variable) {
  put("store {} {}, {} {}", type, value, pointer_type(type), variable);
}

Text Writer::offset(const Text& address, const Text& bytes) {
  if (bytes == "0") return address;
  return let("getelementptr i8, {} {}, i64 {}", address_type(), address, bytes);
}

Text Writer::broadcast(std::string_view element, const Text& value) {
  if (value[0] != '%') return repeat(element, value, lanes_);
  const auto known = broadcasts_.find(value);
  if (known != broadcasts_.end()) return known->second;
  const Text vector = vector_of(element, lanes_);
  const Text first = let("insertelement {} undef, {} {}, i32 0", vector, element, value);
  return broadcasts_[value] = let("shufflevector {} {}, {} undef, {} zeroinitializer", vector,
                                  first, vector, vector_of("i32", lanes_));
}

void Writer::place(const Text& label) {
  if (!ended_) text_ += fmt::format("  br label %{}{}\n", label, debug_);
  text_ += label + ":\n";
  ended_ = false;
  broadcasts_.clear();
}

void Writer::branch(const Text& label) {
  if (ended_) return;
  put("br label %{}", label);
  ended_ = true;
}

void Writer::branch(const Text& condition, const Text& yes, const Text& no) {
  put("br i1 {}, label %{}, label %{}", condition, yes, no);
  ended_ = true;
}

std::string Writer::declarations() const {
  std::string all;
  for (const std::string& declaration : declarations_) all += declaration;
  return all;
}

}  // namespace salvo::codegen::llvm
