// PTX for statements and branches.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emission.hpp"
#include "codegen/user_code.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "salvo/error.hpp"

namespace salvo::codegen::ptx {

using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

void Emission::block(BlockId id) {
  scopes_.emplace_back();
  for (ValueId node : kernel_.block(id).nodes) statement(node);
  scopes_.pop_back();
}

void Emission::locate(const Node& node) {
  if (node.location >= kernel_.locations.size() || node.location == location_) return;
  location_ = node.location;
  const ir::Location& location = kernel_.locations[location_];
  auto file = std::find(files_.begin(), files_.end(), location.file);
  if (file == files_.end()) file = files_.insert(files_.end(), location.file);
  writer_.location(static_cast<std::size_t>(file - files_.begin()) + 1, location.line);
}

bool Emission::divides_safely(const Node& node) const {
  if ((node.op != Op::Div && node.op != Op::Rem) || ir::is_float(node.type)) return false;
  const Node& divisor = kernel_.node(node.operands[1]);
  const std::uint64_t ones = ir::size_of(node.type) == 8 ? ~std::uint64_t{0} : 0xffffffff;
  return divisor.op == Op::Constant && divisor.literal != 0 &&
         !(ir::is_signed(node.type) && divisor.literal == ones);
}

void Emission::pure(ValueId id, const Node& node) {
  if (divides_safely(node)) {
    values_[id] = arithmetic_.divide_by(node.op, node.type, value(node.operands[0]),
                                        kernel_.node(node.operands[1]).literal);
    return;
  }
  std::vector<std::string> operands;
  for (ValueId operand : node.inputs()) operands.push_back(value(operand));
  if (node.op == Op::Shl || node.op == Op::Shr || node.op == Op::ShrLogical) {
    operands[1] = arithmetic_.low_word(type_of(node.operands[1]), operands[1]);
  }
  values_[id] = arithmetic_.operation(node, type_of(node.operands[0]), operands);
}

void Emission::access(ValueId id, const Node& node) {
  const bool stores = node.op == Op::Store;
  const passes::VectorAccess* all = vectors_.of(id);
  if (!all) {
    if (stores) return access_.store(place(node), value(node.operands[1]));
    values_[id] = access_.load(place(node));
    return;
  }
  if (all->leader != id) return;
  std::vector<Scalar> types;
  for (const ValueId part : all->nodes) types.push_back(kernel_.field_of(kernel_.node(part)).type);
  const Place first = place(node, -all->leader_offset);
  if (stores) {
    std::vector<std::string> values;
    for (const ValueId part : all->nodes) values.push_back(value(kernel_.node(part).operands[1]));
    return access_.store(first, types, values);
  }
  const std::vector<std::string> values = access_.load(first, types);
  for (std::size_t i = 0; i < values.size(); ++i) values_[all->nodes[i]] = values[i];
}

void Emission::statement(ValueId id) {
  const Node& node = kernel_.node(id);
  if (ir::is_leaf(node.op)) return;
  locate(node);
  if (ir::is_pure(node.op)) return pure(id, node);
  if (ir::is_warp(node.op)) {
    std::vector<std::string> operands{value(node.operands[0])};
    if (node.operand_count > 1) operands.push_back(word(node.operands[1]));
    values_[id] = warp_.operation(node.op, type_of(node.operands[0]), operands);
    return;
  }
  if (ir::is_atomic(node.op)) {
    std::vector<std::string> operands;
    for (int i = 1; i < ir::operands_without_slot(node.op); ++i) {
      operands.push_back(value(node.operands[static_cast<std::size_t>(i)]));
    }
    values_[id] = access_.atomic(node.op, place(node), operands);
    return;
  }
  if (ir::is_matrix(node.op)) return matrix(node);
  if (ir::is_user_code(node.op)) return user_code(id, node);
  switch (node.op) {
    case Op::Load:
    case Op::Store:
      return access(id, node);
    case Op::VarGet:
      values_[id] = writer_.fresh(node.type);
      return arithmetic_.move(node.type, values_[id], variables_[node.index]);
    case Op::VarSet:
      return arithmetic_.move(kernel_.variables[node.index].type, variables_[node.index],
                              value(node.operands[0]));
    case Op::If:
      return if_(node);
    case Op::For:
      return for_(id, node);
    case Op::While:
      return while_(node);
    case Op::Switch:
      return switch_(node);
    case Op::Break:
      return writer_.put("bra {}", loops_.back().end);
    case Op::Continue:
      return writer_.put("bra {}", loops_.back().next);
    case Op::Return:
      return writer_.put("ret");
    case Op::Barrier:
      return writer_.put("bar.sync 0");
    default:
      return writer_.put("membar.{}", node.axis == 1 ? "gl" : "cta");
  }
}

void Emission::user_code(ValueId id, const Node& node) {
  const ir::UserCall& call = kernel_.user_calls[node.index];
  const std::string text = user_text(kernel_, node, "CUDA/PTX");
  std::vector<std::string> arguments;
  std::size_t next = 0;
  for (const ir::MemoryId memory : call.arguments) {
    arguments.push_back(memory == ir::kNone
                            ? value(node.operands[next++])
                            : bound(kernel_.memories[memory].parameter, ir::kNoValue).data);
  }
  if (node.op == Op::Intrinsic) values_[id] = writer_.fresh(node.type);
  writer_.raw("\t" + ir::fill_template(text, arguments, values_[id]) + "\n");
}

void Emission::matrix(const Node& node) {
  switch (node.op) {
    case Op::MatrixFill:
      return matrices_.fill(node, value(node.operands[0]));
    case Op::MatrixLoad:
    case Op::MatrixStore:
      return matrices_.access(node, place(node), word(node.operands[1]));
    case Op::MatrixMultiplyAdd:
      return matrices_.multiply_add(node);
    default:
      return matrices_.copy(node);
  }
}

void Emission::if_(const Node& node) {
  const bool has_else = node.blocks.size() > 1 && !kernel_.block(node.blocks[1]).nodes.empty();
  const std::string otherwise = writer_.fresh_label();
  writer_.put("@!{} bra {}", value(node.operands[0]), otherwise);
  block(node.blocks[0]);
  if (has_else) {
    const std::string end = writer_.fresh_label();
    writer_.put("bra {}", end);
    writer_.label(otherwise);
    block(node.blocks[1]);
    writer_.label(end);
  } else {
    writer_.label(otherwise);
  }
}

void Emission::switch_(const Node& node) {
  const std::string on = value(node.operands[0]);
  const Scalar type = type_of(node.operands[0]);
  const std::string end = writer_.fresh_label();
  for (std::size_t i = 0; i < node.cases.size(); ++i) {
    const std::string next = writer_.fresh_label();
    const std::string other = writer_.fresh(Bank::predicate);
    writer_.put("setp.ne.{} {}, {}, {}", bits_name(type), other, on, node.cases[i]);
    writer_.put("@{} bra {}", other, next);
    block(node.blocks[i]);
    writer_.put("bra {}", end);
    writer_.label(next);
  }
  block(node.blocks.back());
  writer_.label(end);
}

}  // namespace salvo::codegen::ptx
