// How a printed kernel's memory is declared, read and written.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/memory.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "codegen/wgsl/wgsl_reserved_words.hpp"

namespace salvo::codegen::wgsl {
namespace {

using ir::Op;
using ir::Scalar;

std::string leaf_type(Scalar type, bool atomic) {
  if (atomic) return type == Scalar::I32 ? "atomic<i32>" : "atomic<u32>";
  return type == Scalar::F16 ? "f16" : std::string(type_name(ir::compute_type(type)));
}

std::string_view atomic_function(Op op) {
  switch (op) {
    case Op::AtomicAdd:
      return "atomicAdd";
    case Op::AtomicSub:
      return "atomicSub";
    case Op::AtomicExchange:
      return "atomicExchange";
    case Op::AtomicMin:
      return "atomicMin";
    case Op::AtomicMax:
      return "atomicMax";
    case Op::AtomicAnd:
      return "atomicAnd";
    case Op::AtomicOr:
      return "atomicOr";
    default:
      return "atomicXor";
  }
}

}  // namespace

Elements::Elements(const ir::Kernel& kernel, c_family::Names& names) {
  for (const ir::Memory& memory : kernel.memories) {
    memories_.push_back({{}, {}, std::vector<bool>(memory.element.fields.size(), false)});
    for (const ir::Field& field : memory.element.fields) uses_f16_ |= field.type == Scalar::F16;
  }
  for (const ir::Block& block : kernel.blocks) {
    for (const ir::ValueId id : block.nodes) {
      const ir::Node& node = kernel.node(id);
      if (ir::is_atomic(node.op)) memories_[node.memory].atomic[node.field] = true;
    }
  }
  for (std::size_t i = 0; i < kernel.memories.size(); ++i) {
    const auto twin = std::find_if(
        kernel.memories.begin(), kernel.memories.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const ir::Memory& other) {
          const auto k = static_cast<std::size_t>(&other - kernel.memories.data());
          return other.element == kernel.memories[i].element &&
                 memories_[k].atomic == memories_[i].atomic;
        });
    const auto k = static_cast<std::size_t>(twin - kernel.memories.begin());
    if (k < i) {
      memories_[i] = memories_[k];
    } else {
      declare(kernel.memories[i], memories_[i], names);
    }
  }
}

void Elements::declare(const ir::Memory& memory, Text& text, c_family::Names& names) {
  const ir::Element& element = memory.element;
  if (element.is_scalar()) {
    text.type = leaf_type(element.fields[0].type, text.atomic[0]);
    text.fields = {""};
    return;
  }
  text.type = names.fresh(element.name);
  c_family::Names members(is_wgsl_word);
  text.fields.resize(element.fields.size());
  std::vector<std::size_t> order(element.fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return element.fields[i].offset; });
  records_ += fmt::format("struct {} {{\n", text.type);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const ir::Field& field = element.fields[order[k]];
    const std::string name = members.fresh(field.name);
    text.fields[order[k]] = "." + name;
    // The layout is the host's: each member reaches to the next, the last one to the end.
    const std::uint32_t end =
        k + 1 < order.size() ? element.fields[order[k + 1]].offset : element.size;
    const std::uint32_t room = end - field.offset;
    const bool pads = ir::size_of(field.type) >= 2 && room != ir::size_of(field.type);
    records_ += fmt::format("  {}{}: {},\n", pads ? fmt::format("@size({}) ", room) : "", name,
                            leaf_type(field.type, text.atomic[order[k]]));
  }
  records_ += "}\n\n";
}

std::string load(const Place& place) {
  if (place.atomic) {
    const std::string bits = fmt::format("atomicLoad(&{})", place.lvalue);
    return place.type == Scalar::F32 ? fmt::format("bitcast<f32>({})", bits) : bits;
  }
  return place.type == Scalar::F16 ? fmt::format("f32({})", place.lvalue) : place.lvalue;
}

std::string store(const Place& place, std::string_view value, Helpers& helpers) {
  if (place.atomic) {
    return place.type == Scalar::F32
               ? fmt::format("atomicStore(&{}, bitcast<u32>({}))", place.lvalue, value)
               : fmt::format("atomicStore(&{}, {})", place.lvalue, value);
  }
  switch (place.type) {
    case Scalar::F16:
      return fmt::format("{} = f16({})", place.lvalue, value);
    case Scalar::BF16:
      return fmt::format("{} = {}({})", place.lvalue, helpers.round_to_bf16(), value);
    case Scalar::I8:
      return fmt::format("{} = ({} << 24u) >> 24u", place.lvalue, value);
    case Scalar::I16:
      return fmt::format("{} = ({} << 16u) >> 16u", place.lvalue, value);
    case Scalar::U8:
      return fmt::format("{} = {} & 0xffu", place.lvalue, value);
    case Scalar::U16:
      return fmt::format("{} = {} & 0xffffu", place.lvalue, value);
    default:
      return fmt::format("{} = {}", place.lvalue, value);
  }
}

std::vector<std::string> atomic(Op op, const Place& place, std::span<const std::string> operands,
                                const std::string& result) {
  if (place.type == Scalar::F32) {
    // Until nobody came between.
    return {
        "loop {",
        fmt::format("  let salvo_seen = atomicLoad(&{});", place.lvalue),
        fmt::format("  {} = bitcast<f32>(salvo_seen);", result),
        fmt::format("  let salvo_made = bitcast<u32>({} + {});", result, operands[0]),
        fmt::format("  if (atomicCompareExchangeWeak(&{}, salvo_seen, salvo_made).exchanged) {{",
                    place.lvalue),
        "    break;",
        "  }",
        "}"};
  }
  if (op == Op::AtomicCompareExchange) {
    // The weak one may fail for no reason.
    return {"loop {",
            fmt::format("  let salvo_tried = atomicCompareExchangeWeak(&{}, {}, {});", place.lvalue,
                        operands[0], operands[1]),
            fmt::format("  {} = salvo_tried.old_value;", result),
            fmt::format("  if (salvo_tried.exchanged || {} != {}) {{", result, operands[0]),
            "    break;",
            "  }",
            "}"};
  }
  return {fmt::format("{} = {}(&{}, {});", result, atomic_function(op), place.lvalue, operands[0])};
}

}  // namespace salvo::codegen::wgsl
