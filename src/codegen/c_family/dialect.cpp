// What most of the C-like languages write alike.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/dialect.hpp"

#include <array>

#include <fmt/format.h>

#include "codegen/c_family/helpers.hpp"
#include "codegen/c_family/literals.hpp"
#include "codegen/c_family/names.hpp"

namespace salvo::codegen::c_family {

using ir::Scalar;

std::string_view Dialect::type(Scalar type) const {
  return type == Scalar::Bool ? "bool" : memory_type(type);
}

std::string_view Dialect::memory_type(Scalar type) const {
  static constexpr std::array<std::string_view, ir::kScalarCount> kTypes{
      "uchar", "char",  "uchar",  "short",  "ushort", "int",   "uint",
      "long",  "ulong", "ushort", "ushort", "float",  "double"};
  return kTypes[static_cast<std::size_t>(type)];
}

std::string Dialect::in_space(ir::Space space, std::string_view type) const {
  return fmt::format("{}{}", address_space(space), type);
}

std::string Dialect::constant(Scalar type, std::uint64_t bits) const {
  return constant_literal(type, bits, wide_suffix(), *this);
}

std::string Dialect::load(const Place& place, Helpers& helpers) const {
  switch (place.type) {
    case Scalar::Bool:
      return read(place) + " != 0";
    case Scalar::F16:
      return load_f16(place, helpers);
    case Scalar::BF16:
      return load_bf16(place);
    default:
      return read(place);  // widens by C's rules
  }
}

std::string Dialect::load_bf16(const Place& place) const {
  return bitcast(Scalar::F32, Scalar::U32,
                 fmt::format("({}){} << 16", type(Scalar::U32), read(place)));
}

std::string Dialect::store(const Place& place, std::string_view value, Helpers& helpers) const {
  switch (place.type) {
    case Scalar::F16:
      return store_f16(place, value, helpers);
    case Scalar::BF16:
      return fmt::format("{} = {}({})", place.lvalue, helpers.to_bf16(), value);
    case Scalar::Bool:
    case Scalar::I8:
    case Scalar::U8:
    case Scalar::I16:
    case Scalar::U16:
      return fmt::format("{} = ({}){}", place.lvalue, memory_type(place.type), value);
    default:
      return fmt::format("{} = {}", place.lvalue, value);
  }
}

std::string Dialect::vector_type(ir::Scalar type, std::size_t count) const {
  return fmt::format("{}{}", memory_type(type), count);
}

std::string Dialect::declare_array(ir::Space space, std::string_view type, std::string_view name,
                                   std::uint32_t count) const {
  return fmt::format("{} {}[{}];", in_space(space, type), name, count);
}

std::string Dialect::slot_name(const ParameterText& text, std::uint32_t slot) {
  return text.parameter->slots == 1 ? text.name : fmt::format("{}_{}", text.name, slot);
}

void Dialect::add_scalar(std::string_view element, std::string_view name,
                         Signature& signature) const {
  signature.arguments.push_back(fmt::format("const {} {}", element, name));
}

Declared Dialect::declare_scalar(const ParameterText& scalar, Names& names, Signature& signature,
                                 Helpers& helpers) const {
  const Scalar stored = scalar.parameter->type;
  const Scalar computed = ir::compute_type(stored);
  const bool converts = type(computed) != memory_type(stored);
  Declared declared;
  for (std::uint32_t i = 0; i < scalar.parameter->slots; ++i) {
    const std::string name = names.fresh(slot_name(scalar, i));
    const std::string argument = converts ? names.fresh(name + "_stored") : name;
    add_scalar(scalar.element, argument, signature);
    if (converts) {
      const Place place{stored, ir::Space::Local, argument};
      signature.prologue.push_back(
          fmt::format("const {} {} = {};", type(computed), name, load(place, helpers)));
    }
    declared.slots.push_back({name, ""});
  }
  return declared;
}

Bound Dialect::pick(const Declared& declared, std::string_view slot) const {
  Bound chosen;
  const std::size_t last = declared.slots.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    chosen.data += fmt::format("{} == {} ? {} : ", slot, i, declared.slots[i].data);
    chosen.length += fmt::format("{} == {} ? {} : ", slot, i, declared.slots[i].length);
  }
  chosen.data += declared.slots[last].data;
  chosen.length += declared.slots[last].length;
  return chosen;
}

}  // namespace salvo::codegen::c_family
