// Loads, stores and atomics on spans, shared and local arrays.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/memory.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "codegen/spirv/storage.hpp"

namespace salvo::codegen::spirv {

using ir::Space;

Memories::Memories(Module& module, bool shared_between_threads, Id dynamic_shared, Element element)
    : m_(module),
      shared_between_threads_(shared_between_threads),
      element_(std::move(element)),
      dynamic_(dynamic_shared) {}

Id Memories::load(const ir::Node& node, Id index) {
  const Leaf at = leaf(node, index);
  const Scalar type = m_.kernel().field_of(node).type;
  Id bits = read(at, at.pointer);
  if (at.second != 0) {
    const Id high = m_.emit(spv::OpUConvert, Scalar::U64, {read(at, at.second)});
    bits = m_.emit(
        spv::OpBitwiseOr, Scalar::U64,
        {m_.emit(spv::OpUConvert, Scalar::U64, {bits}),
         m_.emit(spv::OpShiftLeftLogical, Scalar::U64, {high, m_.constant(Scalar::U64, 32)})});
  } else if (at.bits < 32) {
    bits = m_.emit(spv::OpUConvert, Scalar::U32, {bits});
  }
  return decode(m_, type, bits);
}

Memories::Elements Memories::matrix(const ir::Node& node, Id offset) {
  Leaf at = leaf(node, offset);
  // More is known of a line of a matrix than of an element.
  if (at.alignment != 0) {
    at.alignment = ir::line_alignment(m_.kernel().matrices[node.index],
                                      static_cast<ir::MatrixLayout>(node.axis));
  }
  return {at.pointer, access_of(at), at.alignment};
}

void Memories::store(const ir::Node& node, Id index, Id value) {
  const Scalar type = m_.kernel().field_of(node).type;
  Id bits = encode(m_, type, value);
  const Leaf at = leaf(node, index);
  if (at.second != 0) {
    const Id high =
        m_.emit(spv::OpShiftRightLogical, Scalar::U64, {bits, m_.constant(Scalar::U64, 32)});
    write(at, at.second, m_.emit(spv::OpUConvert, Scalar::U32, {high}));
    bits = m_.emit(spv::OpUConvert, Scalar::U32, {bits});
  } else if (at.bits < 32) {
    bits = m_.emit_typed(spv::OpUConvert, m_.integer(at.bits), {bits});
  } else if (at.storage == spv::StorageClassFunction && stored_bits(type) < 32) {
    // A local array holds whole words, but the value as it would be read back from memory.
    bits = m_.emit(spv::OpBitwiseAnd, Scalar::U32, {bits, m_.u32((1u << stored_bits(type)) - 1)});
  }
  write(at, at.pointer, bits);
}

/// In a shader, what threads see of each other's stores is said at each access.
spv::MemoryAccessMask Memories::access_of(const Leaf& at) const {
  unsigned access = spv::MemoryAccessMaskNone;
  if (at.alignment != 0) access |= spv::MemoryAccessAlignedMask;
  const bool global = at.storage == m_.words().global;
  // Of shared memory only Vulkan's own model has it said.
  const bool said = global || m_.options().vulkan_memory_model;
  if (shared_between_threads_ && said && at.storage != spv::StorageClassFunction) {
    access |= m_.words().sharing;
  }
  return static_cast<spv::MemoryAccessMask>(access);
}

Id Memories::read(const Leaf& at, Id pointer) {
  return m_.createLoad(pointer, spv::NoPrecision, access_of(at), spv::ScopeMax, at.alignment);
}

void Memories::write(const Leaf& at, Id pointer, Id value) {
  m_.createStore(value, pointer, access_of(at), spv::ScopeMax, at.alignment);
}

Memories::Leaf Memories::leaf(const ir::Node& node, Id index) {
  const ir::Memory& memory = m_.kernel().memories[node.memory];
  if (memory.space == Space::Global) return span_leaf(node, index);
  return memory.count == 0 ? dynamic_leaf(node, index) : array_leaf(node, index);
}

/// Byte offset of the leaf within its span or array.
Id Memories::offset_of(const ir::Node& node, Id index, Scalar as) {
  const Scalar type = m_.kernel().node(node.operands[0]).type;
  const ir::Element& element = m_.kernel().memories[node.memory].element;
  if (ir::size_of(type) != ir::size_of(as)) {
    const bool extends = ir::is_signed(type) && ir::size_of(as) > ir::size_of(type);
    index = m_.emit(extends ? spv::OpSConvert : spv::OpUConvert, as, {index});
  }
  const Id scaled = m_.emit(spv::OpIMul, as, {index, m_.constant(as, element.size)});
  const std::uint32_t offset = m_.kernel().field_of(node).offset;
  return offset == 0 ? scaled : m_.emit(spv::OpIAdd, as, {scaled, m_.constant(as, offset)});
}

Memories::Leaf Memories::span_leaf(const ir::Node& node, Id index) {
  const ir::Element& element = m_.kernel().memories[node.memory].element;
  const ir::Field& field = m_.kernel().field_of(node);
  Leaf at;
  at.bits = stored_bits(field.type);
  at.storage = m_.words().global;
  // Of a packed record's leaf no more is known than what size and offset have in common.
  at.alignment = std::min<std::uint32_t>(at.bits / 8,
                                         1u << std::countr_zero(element.size | field.offset | 16u));
  allow_small(at);
  if (!m_.options().buffer_addresses && at.alignment < at.bits / 8) {
    m_.unsupported(
        fmt::format("{} elements, whose fields are not aligned, without addresses", element.name));
  }
  at.pointer = element_(node, at.bits, offset_of(node, index, Scalar::U64));
  return at;
}

void Memories::allow_small(const Leaf& at) {
  const bool global = at.storage == m_.words().global;
  if (m_.is_kernel()) {
    if (at.bits == 16) m_.addCapability(spv::CapabilityInt16);
    return;
  }
  const Options& has = m_.options();
  if (at.bits < 32 && !(global ? has.small_global : has.small_shared)) {
    m_.unsupported(fmt::format("{}-bit elements in {} memory, which this device lacks", at.bits,
                               global ? "global" : "shared"));
  }
  if (at.bits == 8) {
    m_.addCapability(global ? spv::CapabilityStorageBuffer8BitAccess : spv::CapabilityInt8);
  } else if (at.bits == 16) {
    m_.addCapability(global ? spv::CapabilityStorageBuffer16BitAccess : spv::CapabilityInt16);
  }
}

/// Each leaf of an element has an array of its own: nothing takes its address.
Id Memories::array_of(ir::MemoryId id, std::uint32_t field) {
  Id& variable = arrays_[{id, field}];
  if (variable != 0) return variable;
  const ir::Memory& memory = m_.kernel().memories[id];
  const bool shared = memory.space == Space::Shared;
  unsigned bits = stored_bits(memory.element.fields[field].type);
  if (!shared) bits = std::max(bits, 32u);
  const Id type = m_.makeArrayType(m_.integer(bits), m_.u32(memory.count), 0);
  variable = shared ? m_.global(spv::StorageClassWorkgroup, type, memory.name.c_str())
                    : m_.createVariable(spv::NoPrecision, spv::StorageClassFunction, type,
                                        memory.name.c_str());
  return variable;
}

Memories::Leaf Memories::array_leaf(const ir::Node& node, Id index) {
  const ir::Memory& memory = m_.kernel().memories[node.memory];
  Leaf at;
  const bool shared = memory.space == Space::Shared;
  at.storage = shared ? spv::StorageClassWorkgroup : spv::StorageClassFunction;
  at.bits = stored_bits(m_.kernel().field_of(node).type);
  if (!shared) at.bits = std::max(at.bits, 32u);
  allow_small(at);
  at.pointer =
      m_.part_of(at.storage, array_of(node.memory, node.field), m_.integer(at.bits), {index});
  return at;
}

Id Memories::dynamic_word(Id index) {
  if (m_.is_kernel()) {
    return m_.element_of(dynamic_, m_.makePointer(spv::StorageClassWorkgroup, m_.integer(32)),
                         index);
  }
  if (dynamic_ == 0) {
    const Id count = m_.specialised(kDynamicWords, 4);
    dynamic_ = m_.global(spv::StorageClassWorkgroup, m_.makeArrayType(m_.integer(32), count, 0),
                         "dynamic_shared");
  }
  return m_.part_of(spv::StorageClassWorkgroup, dynamic_, m_.integer(32), {index});
}

/// All dynamic arrays of a kernel are the same bytes, as in CUDA: words that each reads its way.
Memories::Leaf Memories::dynamic_leaf(const ir::Node& node, Id index) {
  const ir::Field& field = m_.kernel().field_of(node);
  const ir::Element& element = m_.kernel().memories[node.memory].element;
  if (stored_bits(field.type) < 32 || element.size % 4 != 0 || field.offset % 4 != 0) {
    m_.unsupported(fmt::format("dynamic shared memory of {} elements", element.name));
  }
  Leaf at;
  at.storage = spv::StorageClassWorkgroup;
  const Id first = m_.emit(spv::OpShiftRightLogical, Scalar::U32,
                           {offset_of(node, index, Scalar::U32), m_.u32(2)});
  at.pointer = dynamic_word(first);
  if (stored_bits(field.type) == 64) {
    const Id next = m_.emit(spv::OpIAdd, Scalar::U32, {first, m_.u32(1)});
    at.second = dynamic_word(next);
  }
  return at;
}

}  // namespace salvo::codegen::spirv
