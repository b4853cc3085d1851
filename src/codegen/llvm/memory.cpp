// Loads and stores: rows of neighbours where the threads' elements are, gathers where not.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/llvm/function.hpp"
#include "codegen/llvm/launch_record.hpp"

namespace salvo::codegen::llvm {

using ir::kNoValue;
using ir::Node;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

// Addresses.

/// The index as a 64-bit number: of the first thread, or of the one thread that matters.
Text Function::wide_index(ValueId index) {
  const Scalar type = type_of(index);
  Text value = number(index);
  if (ir::size_of(type) == 8) return value;
  if (value[0] != '%') return value;
  return w_.let("{} i32 {} to i64", ir::is_signed(type) ? "sext" : "zext", value);
}

Text Function::wide_indices(ValueId index) {
  const Scalar type = type_of(index);
  Text value = vector(index);
  if (ir::size_of(type) == 8) return value;
  return w_.let("{} {} {} to {}", ir::is_signed(type) ? "sext" : "zext", w_.type(type, lanes_),
                value, w_.type(Scalar::I64, lanes_));
}

Text Function::byte_offsets(const Text& indices, std::uint64_t size, std::uint64_t offset) {
  const Text t = w_.type(Scalar::I64, lanes_);
  Text bytes = indices;
  if (size != 1) bytes = w_.let("mul {} {}, {}", t, bytes, w_.constant(Scalar::I64, size, lanes_));
  if (offset != 0) {
    bytes = w_.let("add {} {}, {}", t, bytes, w_.constant(Scalar::I64, offset, lanes_));
  }
  return bytes;
}

Text Function::base_of(const Node& node) {
  const ir::Memory& memory = kernel_.memories[node.memory];
  if (memory.space != Space::Global) return arrays_[node.memory];
  const ValueId slot = kernel_.slot_of(node);
  return slot == kNoValue ? parameters_[memory.parameter] : argument(memory.parameter, slot);
}

/// Whether neighbouring threads touch neighbouring elements, upwards or downwards. The address then
/// follows from the first thread's index alone, even if that thread is not active. An index of 32
/// bits may wrap on the way: signed ones that do are out of bounds in either form, unsigned ones
/// are not, and so must be known not to.
bool Function::rows(const Node& node, std::int64_t direction) const {
  const Shape& shape = shapes_[node.operands[0]];
  const ir::Element& element = kernel_.memories[node.memory].element;
  if (shape.kind != Shape::Kind::Strided || shape.stride != direction) return false;
  if (element.size != ir::size_of(kernel_.field_of(node).type)) return false;
  return type_of(node.operands[0]) != Scalar::U32 || shape.exact;
}

Place Function::place(const Node& node, const Mask& mask) {
  const ir::Memory& memory = kernel_.memories[node.memory];
  if (memory.space == Space::Local) return local_place(node, mask);
  const ir::Field& field = kernel_.field_of(node);
  const std::uint64_t size = memory.element.size;
  const ValueId index = node.operands[0];
  Place place;
  place.type = field.type;
  place.align = std::min<unsigned>(static_cast<unsigned>(ir::size_of(field.type)),
                                   std::max(memory.element.align, 1u));
  place.mask = mask;
  place.shared = memory.space == Space::Shared;
  const Text base = base_of(node);
  const bool up = rows(node, 1), down = rows(node, -1);
  if (shapes_[index].uniform() || up || down) {
    place.kind = up ? Place::Kind::Row : down ? Place::Kind::Reverse : Place::Kind::One;
    Text bytes = w_.let("mul i64 {}, {}", wide_index(index), size);
    const std::uint64_t back = down ? (lanes_ - 1) * size : 0;
    if (field.offset != back) {
      bytes = w_.let("add i64 {}, {}", bytes,
                     static_cast<std::int64_t>(field.offset) - static_cast<std::int64_t>(back));
    }
    place.address = w_.offset(base, bytes);
  } else {
    place.kind = Place::Kind::Spread;
    const Text offsets = byte_offsets(wide_indices(index), size, field.offset);
    place.address = w_.let("getelementptr i8, {} {}, {} {}", w_.address_type(), base,
                           w_.type(Scalar::I64, lanes_), offsets);
  }
  if (options_.bounds_checks) check_bounds(node, place);
  return place;
}

/// Arrays of a thread's own are laid out so that the same element of all threads is a row.
Place Function::local_place(const Node& node, const Mask& mask) {
  const ir::Memory& memory = kernel_.memories[node.memory];
  const ir::Field& field = kernel_.field_of(node);
  const bool spilled = plan_.array_storage(node.memory) == Storage::Spilled;
  const Text base = spilled ? spill_address(array_offsets_[node.memory]) : arrays_[node.memory];
  const std::uint64_t size = std::uint64_t{memory.element.size} * lanes_;
  const std::uint64_t offset = std::uint64_t{field.offset} * lanes_;
  const ValueId index = node.operands[0];
  Place place;
  place.type = field.type;
  place.align = 1;
  place.mask = mask;
  if (shapes_[index].uniform()) {
    place.kind = Place::Kind::Row;
    const Text bytes = w_.let("mul i64 {}, {}", wide_index(index), size);
    place.address = w_.offset(base, w_.let("add i64 {}, {}", bytes, offset));
  } else {
    place.kind = Place::Kind::Spread;
    const Text t = w_.type(Scalar::I64, lanes_);
    const Text steps = iota("i64", static_cast<std::int64_t>(ir::size_of(field.type)));
    const Text offsets =
        w_.let("add {} {}, {}", t, byte_offsets(wide_indices(index), size, offset), steps);
    place.address = w_.let("getelementptr i8, {} {}, {} {}", w_.address_type(), base, t, offsets);
  }
  if (options_.bounds_checks) check_bounds(node, place);
  return place;
}

// Accesses.

Text Function::reversed(std::string_view element, const Text& value) {
  const Text vector = Writer::vector_of(element, lanes_);
  Text order = "<";
  for (unsigned i = 0; i < lanes_; ++i) {
    order += fmt::format("{}i32 {}", i == 0 ? "" : ", ", lanes_ - 1 - i);
  }
  return w_.let("shufflevector {} {}, {} undef, {} {}>", vector, value, vector,
                Writer::vector_of("i32", lanes_), order);
}

Text Function::masked_load(const Place& place, std::string_view element) {
  const Text vector = Writer::vector_of(element, lanes_);
  const Text suffix = Writer::suffix(element, lanes_);
  const Text align = std::to_string(place.align);
  if (place.kind == Place::Kind::Spread) {
    const Text addresses = w_.pointers(element, place.address);
    const Text name = fmt::format("llvm.masked.gather.{}.v{}{}", suffix, lanes_,
                                  w_.pointer_suffix(Writer::suffix(element, 1)));
    return w_.call(vector, name,
                   {{w_.pointers_type(element), addresses},
                    {"i32", align},
                    {w_.mask_type(), mask_text(place.mask)},
                    {vector, "zeroinitializer"}});
  }
  const bool down = place.kind == Place::Kind::Reverse;
  if (place.mask.full()) {
    const Text value = w_.load(vector, place.address, place.align);
    return down ? reversed(element, value) : value;
  }
  const Text mask = down ? reversed("i1", place.mask.text) : place.mask.text;
  const Text value =
      w_.call(vector, fmt::format("llvm.masked.load.{}.{}", suffix, w_.pointer_suffix(suffix)),
              {{w_.pointer_type(vector), w_.pointer(vector, place.address)},
               {"i32", align},
               {w_.mask_type(), mask},
               {vector, "zeroinitializer"}});
  return down ? reversed(element, value) : value;
}

void Function::load(ValueId id, const Mask& mask) {
  const Node& node = kernel_.node(id);
  const Place from = place(node, mask);
  const std::string_view element = Arithmetic::storage_type(from.type);
  if (from.kind == Place::Kind::One) {
    values_[id] = arithmetic_.widen(from.type, w_.load(element, from.address, from.align), 1);
    return;
  }
  values_[id] = arithmetic_.widen(from.type, masked_load(from, element), lanes_);
}

/// Of threads that store to one address any may be the last to do so.
Text Function::last_active(std::string_view element, const Text& value, const Mask& mask) {
  const Text vector = Writer::vector_of(element, lanes_);
  if (mask.full()) return w_.let("extractelement {} {}, i32 {}", vector, value, lanes_ - 1);
  const Text zeros = w_.call(w_.bits_type(), fmt::format("llvm.ctlz.{}", w_.bits_type()),
                             {{w_.bits_type(), bits(mask.text)}, {"i1", "true"}});
  const Text lane = w_.let("sub {} {}, {}", w_.bits_type(), lanes_ - 1, zeros);
  return w_.let("extractelement {} {}, {} {}", vector, value, w_.bits_type(), lane);
}

void Function::store(const Node& node, const Mask& mask) {
  const Place to = place(node, mask);
  const ValueId stored = node.operands[1];
  const std::string_view element = Arithmetic::storage_type(to.type);
  const Text align = std::to_string(to.align);
  if (to.kind == Place::Kind::One) {
    Text value = shapes_[stored].uniform()
                     ? number(stored)
                     : last_active(Writer::scalar(type_of(stored)), vector(stored), to.mask);
    value = arithmetic_.narrow(to.type, value, 1);
    return w_.store(element, value, to.address, to.align);
  }
  const Text vector_type = Writer::vector_of(element, lanes_);
  const Text suffix = Writer::suffix(element, lanes_);
  Text value = arithmetic_.narrow(to.type, vector(stored), lanes_);
  if (to.kind == Place::Kind::Spread) {
    const Text addresses = w_.pointers(element, to.address);
    const Text name = fmt::format("llvm.masked.scatter.{}.v{}{}", suffix, lanes_,
                                  w_.pointer_suffix(Writer::suffix(element, 1)));
    w_.call("void", name,
            {{vector_type, value},
             {w_.pointers_type(element), addresses},
             {"i32", align},
             {w_.mask_type(), mask_text(to.mask)}});
    return;
  }
  const bool down = to.kind == Place::Kind::Reverse;
  if (down) value = reversed(element, value);
  if (to.mask.full()) return w_.store(vector_type, value, to.address, to.align);
  const Text active = down ? reversed("i1", to.mask.text) : to.mask.text;
  w_.call("void", fmt::format("llvm.masked.store.{}.{}", suffix, w_.pointer_suffix(suffix)),
          {{vector_type, value},
           {w_.pointer_type(vector_type), w_.pointer(vector_type, to.address)},
           {"i32", align},
           {w_.mask_type(), active}});
}

// Bounds.

Text Function::element_count(const Node& node) {
  const ir::Memory& memory = kernel_.memories[node.memory];
  if (memory.space == Space::Global) {
    const ValueId slot = kernel_.slot_of(node);
    return slot == kNoValue ? lengths_[memory.parameter] : length(memory.parameter, slot);
  }
  if (memory.count != 0) return std::to_string(memory.count);
  const Text bytes = w_.let("zext i32 {} to i64", dynamic_bytes_);
  return w_.let("udiv i64 {}, {}", bytes, memory.element.size);
}

void Function::check_bounds(const Node& node, Place& place) {
  const ValueId index = node.operands[0];
  const Text count = element_count(node);
  const Text failed = w_.label(), end = w_.label();
  if (shapes_[index].uniform()) {
    const Text wide = wide_index(index);
    const Text inside = w_.let("icmp ult i64 {}, {}", wide, count);
    if (place.kind == Place::Kind::One) {
      // What has no element goes to one that nobody looks at.
      const Text type = "[16 x i8]";
      const Text spare = w_.variable(type, 16);
      const Text instead =
          w_.let("getelementptr {}, {} {}, i64 0, i64 0", type, w_.pointer_type(type), spare);
      place.address = w_.let("select i1 {}, {} {}, {} {}", inside, w_.address_type(), place.address,
                             w_.address_type(), instead);
    } else {
      place.mask = both(place.mask, w_.broadcast("i1", inside));
    }
    w_.branch(inside, end, failed);
    w_.place(failed);
    report_fault(node, "", wide, count);
    w_.place(end);
    return;
  }
  const Text t = w_.type(Scalar::I64, lanes_);
  const Text wide = wide_indices(index);
  const Text inside = w_.let("icmp ult {} {}, {}", t, wide, w_.broadcast("i64", count));
  const Mask bad = without(place.mask, inside);
  place.mask = both(place.mask, inside);
  w_.branch(any(bad.text), failed, end);
  w_.place(failed);
  report_fault(node, bad.text, wide, count);
  w_.place(end);
}

/// Notes the access unless another one was noted before. `bad` are the threads that make it; empty:
/// all, at one index.
void Function::report_fault(const Node& node, const Text& bad, const Text& index,
                            const Text& count) {
  const auto field = [](std::size_t at) { return std::to_string(at); };
  const Text fault =
      w_.load(w_.address_type(), w_.offset("%launch", field(offsetof(LaunchRecord, fault))), 8);
  const Text flag = w_.pointer("i32", fault);
  const Text before = w_.let("atomicrmw xchg {} {}, i32 1 monotonic", w_.pointer_type("i32"), flag);
  const Text first = w_.label(), end = w_.label();
  w_.branch(w_.let("icmp eq i32 {}, 0", before), first, end);
  w_.place(first);
  Text lane = "0", one = index;
  if (!bad.empty()) {
    const Text number = w_.call(w_.bits_type(), fmt::format("llvm.cttz.{}", w_.bits_type()),
                                {{w_.bits_type(), bits(bad)}, {"i1", "true"}});
    lane = lanes_ == 32
               ? number
               : w_.let("{} {} {} to i32", lanes_ < 32 ? "zext" : "trunc", w_.bits_type(), number);
    one = w_.let("extractelement {} {}, i32 {}", w_.type(Scalar::I64, lanes_), index, lane);
  }
  const auto note = [&](std::string_view type, const Text& value, std::size_t at) {
    w_.store(type, value, w_.offset(fault, field(at)), 4);
  };
  const auto id = static_cast<std::size_t>(&node - kernel_.nodes.data());
  note("i32", field(id), offsetof(LaunchFault, node));
  note("i64", one, offsetof(LaunchFault, index));
  note("i64", count, offsetof(LaunchFault, length));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Text thread = in_region_ ? thread_[axis] : Text("0");
    if (axis == 0 && in_region_) thread = w_.let("add i32 {}, {}", thread, lane);
    note("i32", thread, offsetof(LaunchFault, thread) + 4 * axis);
    note("i32", block_idx_[axis], offsetof(LaunchFault, block) + 4 * axis);
  }
  w_.place(end);
}

}  // namespace salvo::codegen::llvm
