// PTX for leaves, parameters and the addresses of elements.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emission.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace salvo::codegen::ptx {

using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

std::string Emission::cached(const std::string& key, const std::function<std::string()>& make) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(key); found != scope->end()) return found->second;
  }
  std::string made = make();
  scopes_.back().emplace(key, made);
  return made;
}

Emission::Bound Emission::read_parameter(
    std::size_t i, const std::function<std::string(const std::string&, std::size_t)>& address) {
  const ir::Parameter& parameter = kernel_.parameters[i];
  const std::string name = fmt::format("p{}", i);
  if (!parameter.is_span) {
    return {
        access_.load({parameter.type, "param", address(name, ir::size_of(parameter.type)), false}),
        ""};
  }
  const std::string generic = access_.load({Scalar::U64, "param", address(name, 8), false});
  Bound bound{writer_.fresh(Bank::b64), ""};
  writer_.put("cvta.to.global.u64 {}, {}", bound.data, generic);
  if (lengths_[i]) {
    bound.length = access_.load({Scalar::I64, "param", address(name + "_length", 8), false});
  }
  return bound;
}

Emission::Bound Emission::bound(std::uint32_t parameter, ValueId slot) {
  const std::uint32_t slots = kernel_.parameters[parameter].slots;
  if (slots == 1) return bound_[parameter];
  const Node& node = kernel_.node(slot);
  const std::string at = value(slot);
  const std::string key = fmt::format("slot {} {}", parameter, at);
  const std::string data = cached(key, [&] {
    Bound made = read_parameter(parameter, [&](const std::string& table, std::size_t size) {
      if (node.op == Op::Constant) {
        return fmt::format("{}+{}", table, std::min<std::uint64_t>(node.literal, slots - 1) * size);
      }
      // The address of a table can be moved to a register; it stays in the parameter space.
      const std::string base = writer_.fresh(Bank::b64);
      std::string address = writer_.fresh(Bank::b64);
      writer_.put("mov.b64 {}, {}", base, table);
      writer_.put("mad.wide.u32 {}, {}, {}, {}", address, arithmetic_.low_word(node.type, at), size,
                  base);
      return address;
    });
    if (!made.length.empty()) scopes_.back().emplace(key + " length", made.length);
    return made.data;
  });
  return {data, lengths_[parameter] ? cached(key + " length", [] { return std::string(); }) : ""};
}

std::string Emission::position(const Node& node) {
  const char x = "xyz"[node.axis];
  const auto special = [&](std::string_view name) {
    std::string result = writer_.fresh(Bank::b32);
    writer_.put("mov.u32 {}, %{}.{}", result, name, x);
    return result;
  };
  switch (node.op) {
    case Op::ThreadIdx:
      return special("tid");
    case Op::BlockIdx:
      return special("ctaid");
    case Op::BlockDim:
      return special("ntid");
    case Op::GridDim:
      return special("nctaid");
    case Op::LaneId:
      return warp_.lane();
    case Op::WarpSize:
      return arithmetic_.constant(Scalar::I32, 32);
    default: {
      const std::string block = special("ctaid");
      const std::string size = special("ntid");
      const std::string thread = special("tid");
      std::string result = writer_.fresh(Bank::b32);
      writer_.put("mad.lo.s32 {}, {}, {}, {}", result, block, size, thread);
      return result;
    }
  }
}

std::string Emission::value(ValueId id) {
  const Node& node = kernel_.node(id);
  switch (node.op) {
    case Op::Constant:
      return cached(fmt::format("constant {} {}", static_cast<int>(node.type), node.literal),
                    [&] { return arithmetic_.constant(node.type, node.literal); });
    case Op::Param:
      return bound(node.index, kernel_.slot_of(node)).data;
    case Op::Length:
      return bound(kernel_.memories[node.memory].parameter, kernel_.slot_of(node)).length;
    case Op::ForIndex:
      return values_[node.operands[0]];
    default:
      break;
  }
  if (!ir::is_leaf(node.op)) return values_[id];
  return cached(fmt::format("{} {}", ir::name(node.op), node.axis), [&] { return position(node); });
}

std::pair<ValueId, std::int64_t> Emission::split(ValueId index) const {
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t added = 0;
  while (true) {
    const Node& sum = kernel_.node(index);
    if (sum.op != Op::Add || !ir::is_signed(sum.type)) return {index, added};
    const auto is_small = [&](ValueId id) {
      const Node& node = kernel_.node(id);
      return node.op == Op::Constant && node.literal <= static_cast<std::uint64_t>(kMost - added);
    };
    const std::size_t constant = is_small(sum.operands[1]) ? 1 : 0;
    if (!is_small(sum.operands[constant])) return {index, added};
    added += static_cast<std::int64_t>(kernel_.node(sum.operands[constant]).literal);
    index = sum.operands[1 - constant];
  }
}

std::string Emission::element_address(const Node& node, ValueId index) {
  const ir::Memory& memory = kernel_.memories[node.memory];
  const std::uint32_t size = memory.element.size;
  if (memory.space == Space::Shared) {
    std::string address = writer_.fresh(Bank::b32);
    writer_.put("mad.lo.s32 {}, {}, {}, {}", address, word(index), size, bases_[node.memory]);
    return address;
  }
  const std::string base = memory.space == Space::Global
                               ? bound(memory.parameter, kernel_.slot_of(node)).data
                               : bases_[node.memory];
  const Scalar type = type_of(index);
  const std::string at = value(index);
  std::string address = writer_.fresh(Bank::b64);
  writer_.put("mad.{}.{} {}, {}, {}, {}", ir::size_of(type) == 8 ? "lo" : "wide", type_name(type),
              address, at, size, base);
  return address;
}

Place Emission::place(const Node& node, std::int64_t bytes) {
  const ir::Memory& memory = kernel_.memories[node.memory];
  const ir::Field& field = kernel_.field_of(node);
  Place result{field.type, "", "", false};
  result.space = memory.space == Space::Shared   ? "shared"
                 : memory.space == Space::Global ? "global"
                                                 : "local";
  result.constant = memory.space == Space::Global && !written_[node.memory] &&
                    memory.parameter < 64 && (options_.may_alias >> memory.parameter & 1) == 0;
  const auto [index, added] = split(node.operands[0]);
  const auto size = static_cast<std::int64_t>(memory.element.size);
  std::int64_t offset = field.offset + added * size + bytes;
  const auto made = [&] {
    return cached(fmt::format("address {} {} {}", node.memory, index, kernel_.slot_of(node)),
                  [&] { return element_address(node, index); });
  };
  std::string address;
  const auto stride = rounds_ ? rounds_->strides.of(node) : std::nullopt;
  if (rounds_ && stride) {
    std::string& first = rounds_->addresses[&node];
    if (first.empty()) first = made();
    address = first;
    offset += rounds_->number * *stride * size;
  } else {
    address = made();
  }
  result.address = offset == 0 ? address : fmt::format("{}+{}", address, offset);
  return result;
}

}  // namespace salvo::codegen::ptx
