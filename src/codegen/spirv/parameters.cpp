// Reads a kernel's arguments from push constants and the argument table.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/parameters.hpp"

#include "codegen/spirv/storage.hpp"

namespace salvo::codegen::spirv {

Parameters::Parameters(Module& module, const Layout& layout)
    : m_(module), values_in_table_(layout.values_in_table) {
  const auto& parameters = m_.kernel().parameters;
  addresses_.resize(parameters.size());
  values_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_span) continue;
    addresses_[i] = add(table_, 64, parameters[i].slots, layout.places[i].address);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Place& place = layout.places[i];
    values_[i] = add(values_in_table_ ? table_ : push_, place.value_bytes * 8, parameters[i].slots,
                     place.value);
  }
  declare(table_, "Table");
  declare(push_, "Values");
  if (table_.variable != 0) {
    m_.addDecoration(table_.variable, spv::DecorationDescriptorSet, 0);
    m_.addDecoration(table_.variable, spv::DecorationBinding, 0);
  }
}

Parameters::Member Parameters::add(Block& block, unsigned bits, std::uint32_t slots,
                                   std::uint32_t offset) {
  Member member;
  member.index = static_cast<int>(block.types.size());
  member.type = m_.integer(bits);
  member.is_array = slots > 1;
  Id type = member.type;
  if (member.is_array) {
    type = m_.makeArrayType(type, m_.u32(slots), static_cast<int>(bits / 8));
    m_.addDecoration(type, spv::DecorationArrayStride, static_cast<int>(bits / 8));
  }
  block.types.push_back(type);
  block.offsets.push_back(offset);
  return member;
}

void Parameters::declare(Block& block, const char* name) {
  if (block.types.empty()) return;
  const Id type = m_.makeStructType(block.types, name);
  m_.addDecoration(type, spv::DecorationBlock);
  for (unsigned i = 0; i < block.offsets.size(); ++i) {
    m_.addMemberDecoration(type, i, spv::DecorationOffset, static_cast<int>(block.offsets[i]));
  }
  block.variable = m_.global(block.storage, type, name);
}

Id Parameters::load(const Block& block, const Member& member, Id slot) {
  const Id index = m_.u32(static_cast<std::uint32_t>(member.index));
  const Id first = slot == 0 ? m_.u32(0) : slot;
  const Id pointer = member.is_array
                         ? m_.part_of(block.storage, block.variable, member.type, {index, first})
                         : m_.part_of(block.storage, block.variable, member.type, {index});
  return m_.createLoad(pointer, spv::NoPrecision);
}

Id Parameters::address(std::uint32_t parameter, Id slot) {
  return load(table_, addresses_[parameter], slot);
}

Id Parameters::length(std::uint32_t parameter, Id slot) {
  const Id value = load(values_in_table_ ? table_ : push_, values_[parameter], slot);
  return m_.emit(spv::OpUConvert, Scalar::I64, {value});
}

Id Parameters::scalar(std::uint32_t parameter, Id slot) {
  return decode(m_, m_.kernel().parameters[parameter].type,
                load(values_in_table_ ? table_ : push_, values_[parameter], slot));
}

}  // namespace salvo::codegen::spirv
