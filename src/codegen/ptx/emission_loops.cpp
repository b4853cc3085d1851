// PTX for loops, several rounds at a time where that pays.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emission.hpp"

#include <array>
#include <tuple>

#include <fmt/format.h>

#include "passes/counters.hpp"

namespace salvo::codegen::ptx {

using ir::BlockId;
using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

void Emission::make_before(ValueId id, const Rounds& rounds) {
  const Node& node = kernel_.node(id);
  if (ir::is_leaf(node.op) || rounds.strides.is_invariant(id)) return;
  for (ValueId operand : node.inputs()) make_before(operand, rounds);
  pure(id, node);
}

std::vector<Emission::Pointer> Emission::point_at_first_round(BlockId body, Rounds& rounds) {
  constexpr std::size_t kMost = 8;  // each takes registers
  std::map<std::tuple<MemoryId, ValueId, ValueId>, std::string> made;
  std::vector<Pointer> pointers;
  for (ValueId id : kernel_.block(body).nodes) {
    const Node& access = kernel_.node(id);
    if (!ir::reads_memory(access.op) && !ir::writes_memory(access.op)) continue;
    const auto stride = rounds.strides.of(access);
    if (!stride) continue;
    const ValueId index = split(access.operands[0]).first;
    std::string& address = made[{access.memory, index, kernel_.slot_of(access)}];
    if (address.empty()) {
      if (pointers.size() == kMost) break;
      make_before(index, rounds);
      address = element_address(access, index);
      const ir::Memory& memory = kernel_.memories[access.memory];
      pointers.push_back({address, memory.space == Space::Shared ? "s32" : "s64",
                          4 * *stride * static_cast<std::int64_t>(memory.element.size)});
    }
    rounds.addresses[&access] = address;
  }
  return pointers;
}

void Emission::in_fours(ValueId id, const Node& node, const std::string& index,
                        const std::string& limit, const std::string& step) {
  const Node& steps = kernel_.node(node.operands[2]);
  const bool known = steps.op == Op::Constant;
  const std::string rest = writer_.fresh_label();
  const std::string again = writer_.fresh_label();
  const auto word = [&] { return writer_.fresh(Bank::b32); };
  const auto leave_unless = [&](const char* holds, const std::string& a, const std::string& b) {
    const std::string met = writer_.fresh(Bank::predicate);
    writer_.put("setp.{} {}, {}, {}", holds, met, a, b);
    writer_.put("@!{} bra {}", met, rest);
  };
  // Below the limit the distance to it fits 32 bits without a sign, and no counter overflows.
  leave_unless("lt.s32", index, limit);
  if (!known) leave_unless("gt.s32", step, "0");
  const std::string left = word();
  const std::string below = word();
  writer_.put("sub.s32 {}, {}, {}", left, limit, index);
  writer_.put("sub.s32 {}, {}, 1", below, left);
  std::string rounds_but_one;
  if (known) {
    rounds_but_one = arithmetic_.divide_by(Op::Div, Scalar::U32, below, steps.literal);
  } else {
    rounds_but_one = word();
    writer_.put("div.u32 {}, {}, {}", rounds_but_one, below, step);
  }
  leave_unless("ge.u32", rounds_but_one, "3");
  const std::string count = word();
  const std::string togo = word();
  writer_.put("add.s32 {}, {}, 1", count, rounds_but_one);
  writer_.put("and.b32 {}, {}, -4", togo, count);
  std::array<std::string, 5> ahead;  // steps from the first round's counter
  for (std::uint64_t k = 1; k < ahead.size(); ++k) {
    if (known) {
      ahead[k] = fmt::format("{}", k * steps.literal);
    } else {
      ahead[k] = word();
      writer_.put("mul.lo.s32 {}, {}, {}", ahead[k], step, k);
    }
  }
  Rounds& rounds = rounds_.emplace(Rounds{Strides(kernel_, id), 0, {}});
  values_[id] = index;
  const std::vector<Pointer> pointers = point_at_first_round(node.blocks[0], rounds);
  writer_.label(again);
  for (std::size_t k = 1; k < ahead.size(); ++k, ++rounds.number) {
    block(node.blocks[0]);
    if (k == 4) break;
    values_[id] = word();
    writer_.put("add.s32 {}, {}, {}", values_[id], index, ahead[k]);
  }
  rounds_.reset();
  for (const Pointer& pointer : pointers) {
    writer_.put("add.{} {}, {}, {}", pointer.type, pointer.address, pointer.address, pointer.bytes);
  }
  const std::string more = writer_.fresh(Bank::predicate);
  writer_.put("add.s32 {}, {}, {}", index, index, ahead[4]);
  writer_.put("add.s32 {}, {}, -4", togo, togo);
  writer_.put("setp.ne.s32 {}, {}, 0", more, togo);
  writer_.put("@{} bra {}", more, again);
  writer_.label(rest);
}

void Emission::for_(ValueId id, const Node& node) {
  const Scalar type = type_of(node.operands[0]);
  const bool down = node.literal == 1;
  const std::string limit = value(node.operands[1]);
  const std::string step = value(node.operands[2]);
  const std::string index = writer_.fresh(type);
  arithmetic_.move(type, index, value(node.operands[0]));
  const bool fours = runs_in_fours(kernel_, node);
  if (fours) in_fours(id, node, index, limit, step);
  values_[id] = index;
  const std::string body = writer_.fresh_label();
  const Loop loop{writer_.fresh_label(), writer_.fresh_label()};
  const std::string done = writer_.fresh(Bank::predicate);
  writer_.put("setp.{}.{} {}, {}, {}", down ? "le" : "ge", type_name(type), done, index, limit);
  writer_.put("@{} bra {}", done, loop.end);
  writer_.label(body);
  // Where the assembler unrolls, it takes for granted that a counter does not wrap.
  if (node.unroll == 1 || fours || passes::counter_may_wrap(kernel_, node)) keep_rolled();
  loops_.push_back(loop);
  block(node.blocks[0]);
  loops_.pop_back();
  writer_.label(loop.next);
  const std::string more = writer_.fresh(Bank::predicate);
  writer_.put("{}.{} {}, {}, {}", down ? "sub" : "add", type_name(type), index, index, step);
  writer_.put("setp.{}.{} {}, {}, {}", down ? "gt" : "lt", type_name(type), more, index, limit);
  writer_.put("@{} bra {}", more, body);
  writer_.label(loop.end);
}

void Emission::while_(const Node& node) {
  const Loop loop{writer_.fresh_label(), writer_.fresh_label()};
  writer_.label(loop.next);
  if (node.unroll == 1) keep_rolled();
  loops_.push_back(loop);
  // The body may read what the condition block has read.
  scopes_.emplace_back();
  for (ValueId inner : kernel_.block(node.blocks[0]).nodes) statement(inner);
  writer_.put("@!{} bra {}", value(node.operands[0]), loop.end);
  block(node.blocks[1]);
  scopes_.pop_back();
  loops_.pop_back();
  writer_.put("bra {}", loop.next);
  writer_.label(loop.end);
}

}  // namespace salvo::codegen::ptx
