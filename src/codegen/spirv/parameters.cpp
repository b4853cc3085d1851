// Reads a kernel's arguments: a shader's from push constants and a table, a kernel's own.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/parameters.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "codegen/spirv/storage.hpp"

namespace salvo::codegen::spirv {
namespace {

/// A structure of integers and arrays of them, laid out by hand.
class Structure {
 public:
  explicit Structure(Module& module) : m_(module) {}

  /// `slots` integers from `offset` on. Members are told apart by their offsets.
  void add(unsigned bits, std::uint32_t slots, std::uint32_t offset) {
    members_.push_back({m_.integer(bits), slots > 1, bits, slots, offset});
  }
  bool empty() const { return members_.empty(); }

  Id type(const char* name) {
    // In the order of their offsets, as a kernel's structure has no other layout.
    std::ranges::sort(members_, {}, &Member::offset);
    const bool shader = m_.options().flavour == Flavour::shader;
    std::vector<Id> types;
    for (const Member& member : members_) {
      Id type = member.type;
      if (member.is_array) {
        const int stride = shader ? static_cast<int>(member.bits / 8) : 0;
        type = m_.makeArrayType(type, m_.u32(member.slots), stride);
        if (shader) m_.addDecoration(type, spv::DecorationArrayStride, stride);
      }
      types.push_back(type);
    }
    const Id made = m_.makeStructType(types, name);
    if (!shader) return made;
    m_.addDecoration(made, spv::DecorationBlock);
    for (unsigned i = 0; i < members_.size(); ++i) {
      m_.addMemberDecoration(made, i, spv::DecorationOffset, static_cast<int>(members_[i].offset));
    }
    return made;
  }

  /// From now on the structure is what `pointer` points to.
  void place(spv::StorageClass storage, Id pointer) {
    storage_ = storage;
    pointer_ = pointer;
  }

  Id load(std::uint32_t offset, Id slot) {
    const auto found = std::ranges::lower_bound(members_, offset, {}, &Member::offset);
    const Id index = m_.u32(static_cast<std::uint32_t>(found - members_.begin()));
    const Id first = slot == 0 ? m_.u32(0) : slot;
    const Id part = found->is_array ? m_.part_of(storage_, pointer_, found->type, {index, first})
                                    : m_.part_of(storage_, pointer_, found->type, {index});
    return m_.createLoad(part, spv::NoPrecision);
  }

 private:
  struct Member {
    Id type = 0;
    bool is_array = false;
    unsigned bits = 0;
    std::uint32_t slots = 1;
    std::uint32_t offset = 0;
  };

  Module& m_;
  std::vector<Member> members_;
  spv::StorageClass storage_{};
  Id pointer_ = 0;
};

void add_addresses(Structure& to, const ir::Kernel& kernel, const Layout& layout) {
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (!kernel.parameters[i].is_span) continue;
    to.add(64, kernel.parameters[i].slots, layout.places[i].address);
  }
}

void add_values(Structure& to, const ir::Kernel& kernel, const Layout& layout) {
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Place& place = layout.places[i];
    to.add(place.value_bytes * 8, kernel.parameters[i].slots, place.value);
  }
}

class ShaderParameters final : public Parameters {
 public:
  ShaderParameters(Module& module, const Layout& layout)
      : m_(module), layout_(layout), table_(module), push_(module) {
    m_.open_shader();
    add_addresses(addresses(), m_.kernel(), layout);
    add_values(values(), m_.kernel(), layout);
    if (const Id variable = declare(table_, spv::StorageClassUniform, "Table")) {
      m_.addDecoration(variable, spv::DecorationDescriptorSet, kTableSet);
      m_.addDecoration(variable, spv::DecorationBinding, 0);
    }
    declare(push_, spv::StorageClassPushConstant, "Values");
  }

  Id base(std::uint32_t parameter, Id slot) override {
    return addresses().load(layout_.places[parameter].address, slot);
  }
  Id element(std::uint32_t parameter, Id slot, Id base, unsigned bits, Id offset) override {
    const Id byte = m_.emit(spv::OpIAdd, Scalar::U64, {base, offset});
    if (m_.options().buffer_addresses) {
      const Id type = m_.makePointer(spv::StorageClassPhysicalStorageBufferEXT, m_.integer(bits));
      return m_.emit_typed(spv::OpConvertUToPtr, type, {byte});
    }
    const Id shift =
        m_.constant(Scalar::U64, static_cast<std::uint64_t>(std::countr_zero(bits / 8)));
    const Id index = m_.emit(spv::OpUConvert, Scalar::U32,
                             {m_.emit(spv::OpShiftRightLogical, Scalar::U64, {byte, shift})});
    const Id variable = buffer(parameter, bits);
    if (m_.kernel().parameters[parameter].slots == 1) {
      return m_.part_of(kBuffer, variable, m_.integer(bits), {m_.u32(0), index});
    }
    const Id member = slot == 0 ? m_.u32(0) : slot;
    return m_.part_of(kBuffer, variable, m_.integer(bits), {member, m_.u32(0), index});
  }
  Id array_element(std::uint32_t parameter, Id slot, Id base, unsigned bits, Id offset) override {
    if (!m_.options().buffer_addresses) return element(parameter, slot, base, bits, offset);
    constexpr auto kStorage = spv::StorageClassPhysicalStorageBufferEXT;
    const Id byte = m_.emit(spv::OpIAdd, Scalar::U64, {base, offset});
    const Id pointer =
        m_.emit_typed(spv::OpConvertUToPtr, m_.makePointer(kStorage, array(bits)), {byte});
    return m_.part_of(kStorage, pointer, m_.integer(bits), {m_.u32(0), m_.u32(0)});
  }
  Id length(std::uint32_t parameter, Id slot) override {
    const Id value = values().load(layout_.places[parameter].value, slot);
    return m_.emit(spv::OpUConvert, Scalar::I64, {value});
  }
  Id scalar(std::uint32_t parameter, Id slot) override {
    return decode(m_, m_.kernel().parameters[parameter].type,
                  values().load(layout_.places[parameter].value, slot));
  }

 private:
  static constexpr auto kBuffer = spv::StorageClassStorageBuffer;

  Structure& values() { return layout_.values_in_table ? table_ : push_; }
  Structure& addresses() { return layout_.addresses_in_table ? table_ : push_; }

  /// The storage buffers of a parameter as arrays of integers so wide. Those of other parameters,
  /// and of other widths, may be the same memory.
  Id buffer(std::uint32_t parameter, unsigned bits) {
    Id& variable = buffers_[{parameter, bits}];
    if (variable != 0) return variable;
    const Id content = new_array(bits);
    const ir::Parameter& of = m_.kernel().parameters[parameter];
    Id type = content;
    if (of.slots > 1) {
      m_.addCapability(spv::CapabilityStorageBufferArrayDynamicIndexing);
      type = m_.makeArrayType(content, m_.u32(of.slots), 0);
    }
    variable = m_.global(kBuffer, type, of.name.c_str());
    m_.addDecoration(variable, spv::DecorationDescriptorSet, kBufferSet);
    m_.addDecoration(variable, spv::DecorationBinding, static_cast<int>(parameter));
    m_.addDecoration(variable, spv::DecorationAliased);
    return variable;
  }

  /// A structure of nothing but an array of integers.
  Id new_array(unsigned bits) {
    const Id array = m_.makeRuntimeArray(m_.integer(bits));
    m_.addDecoration(array, spv::DecorationArrayStride, static_cast<int>(bits / 8));
    const Id content = m_.makeStructType({array}, "Buffer");
    m_.addDecoration(content, spv::DecorationBlock);
    m_.addMemberDecoration(content, 0, spv::DecorationOffset, 0);
    return content;
  }
  Id array(unsigned bits) {
    Id& known = arrays_[bits];
    if (known == 0) known = new_array(bits);
    return known;
  }

  Id declare(Structure& structure, spv::StorageClass storage, const char* name) {
    if (structure.empty()) return 0;
    const Id variable = m_.global(storage, structure.type(name), name);
    structure.place(storage, variable);
    return variable;
  }

  Module& m_;
  const Layout& layout_;
  Structure table_;
  Structure push_;
  std::map<std::pair<std::uint32_t, unsigned>, Id> buffers_;  // by parameter and width
  std::map<unsigned, Id> arrays_;                             // by width
};

class KernelParameters final : public Parameters {
 public:
  explicit KernelParameters(Module& module)
      : m_(module),
        entry_(lay_out_entry(module.kernel())),
        table_(module),
        ids_(module.kernel().parameters.size()) {
    std::vector<Id> types;
    for (const EntryArgument& argument : entry_.arguments) types.push_back(type_of(argument));
    const std::vector<Id> ids = m_.open_kernel(types);
    for (std::size_t i = 0; i < ids.size(); ++i) bind(entry_.arguments[i], ids[i]);
  }

  Id base(std::uint32_t parameter, Id slot) override {
    if (!in_table_) return ids_[parameter].value;
    const Id address = table_.load(entry_.table.places[parameter].address, slot);
    return m_.emit_typed(spv::OpConvertUToPtr, bytes_pointer(), {address});
  }
  Id element(std::uint32_t, Id, Id base, unsigned bits, Id offset) override {
    const Id first = m_.element_of(base, bytes_pointer(), offset);
    if (bits == 8) return first;
    const Id type = m_.makePointer(spv::StorageClassCrossWorkgroup, m_.integer(bits));
    return m_.emit_typed(spv::OpBitcast, type, {first});
  }
  Id length(std::uint32_t parameter, Id slot) override {
    // A kernel that never asks for the length is not given it.
    if (!in_table_) return ids_[parameter].length;
    const Id value = table_.load(entry_.table.places[parameter].value, slot);
    return m_.emit(spv::OpUConvert, Scalar::I64, {value});
  }
  Id scalar(std::uint32_t parameter, Id slot) override {
    const Id bits =
        in_table_ ? table_.load(entry_.table.places[parameter].value, slot) : ids_[parameter].value;
    return decode(m_, m_.kernel().parameters[parameter].type, bits);
  }
  Id dynamic_shared() const override { return dynamic_; }

 private:
  struct Ids {
    Id value = 0;
    Id length = 0;
  };

  Id bytes_pointer() { return m_.makePointer(spv::StorageClassCrossWorkgroup, m_.integer(8)); }

  Id type_of(const EntryArgument& argument) {
    switch (argument.kind) {
      case EntryArgument::Kind::span:
        return bytes_pointer();
      case EntryArgument::Kind::table:
        add_addresses(table_, m_.kernel(), entry_.table);
        add_values(table_, m_.kernel(), entry_.table);
        return m_.makePointer(spv::StorageClassFunction, table_.type("Table"));
      case EntryArgument::Kind::dynamic_shared:
        return m_.makePointer(spv::StorageClassWorkgroup, m_.integer(32));
      default:
        return m_.integer(argument.bytes * 8);
    }
  }

  void bind(const EntryArgument& argument, Id id) {
    switch (argument.kind) {
      case EntryArgument::Kind::length:
        ids_[argument.parameter].length = id;
        return;
      case EntryArgument::Kind::table:
        in_table_ = true;
        table_.place(spv::StorageClassFunction, id);
        m_.addDecoration(id, spv::DecorationFuncParamAttr, spv::FunctionParameterAttributeByVal);
        return;
      case EntryArgument::Kind::dynamic_shared:
        dynamic_ = id;
        return;
      case EntryArgument::Kind::span:
        if (argument.parameter < 64 && (m_.options().may_alias >> argument.parameter & 1) == 0) {
          m_.addDecoration(id, spv::DecorationFuncParamAttr,
                           spv::FunctionParameterAttributeNoAlias);
        }
        [[fallthrough]];
      default:
        ids_[argument.parameter].value = id;
    }
  }

  Module& m_;
  const EntryLayout entry_;
  Structure table_;
  std::vector<Ids> ids_;  // by parameter
  bool in_table_ = false;
  Id dynamic_ = 0;
};

}  // namespace

std::unique_ptr<Parameters> open_entry(Module& module, const Layout& layout) {
  if (module.options().flavour == Flavour::shader) {
    return std::make_unique<ShaderParameters>(module, layout);
  }
  return std::make_unique<KernelParameters>(module);
}

}  // namespace salvo::codegen::spirv
