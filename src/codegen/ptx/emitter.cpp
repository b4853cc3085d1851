// Writes a kernel as PTX, NVIDIA's assembly language.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emitter.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "codegen/c_family/printer.hpp"
#include "codegen/ptx/loops.hpp"
#include "codegen/ptx/memory.hpp"
#include "codegen/ptx/warp.hpp"
#include "codegen/ptx/writer.hpp"
#include "passes/expand_math.hpp"
#include "passes/simplify.hpp"
#include "passes/unroll.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::ptx {
namespace {

using ir::BlockId;
using ir::kNoValue;
using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

/// Letters, digits and underscores; the ending keeps it apart from instructions.
std::string entry_name(const std::string& name) {
  std::string entry;
  for (char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    entry += plain ? c : '_';
  }
  if (entry.empty() || (entry[0] >= '0' && entry[0] <= '9')) entry.insert(0, "n");
  return entry + "_kernel";
}

class Emitter {
 public:
  Emitter(const ir::Kernel& kernel, const EmitOptions& options)
      : kernel_(kernel),
        options_(options),
        lengths_(c_family::reads_length(kernel)),
        arithmetic_(writer_, options.contraction),
        access_(writer_, arithmetic_),
        warp_(writer_, arithmetic_),
        values_(kernel.nodes.size()) {}

  Emitted run() {
    scan();
    bind_parameters();
    bind_arrays();
    if (uses_warp_) warp_.begin();
    block(kernel_.body);
    writer_.put("ret");

    const std::string entry = entry_name(kernel_.name);
    std::string code = fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n\n",
                                   options_.target.language / 10, options_.target.language % 10,
                                   options_.target.chip);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      code += fmt::format(".file {} \"{}\"\n", i + 1, files_[i]);
    }
    code += module_arrays_;
    code += fmt::format(".visible .entry {}({}\n)\n{{\n", entry, parameters_);
    code += writer_.registers() + arrays_ + "\n" + writer_.text() + "}\n";
    return {entry, std::move(code)};
  }

 private:
  /// What a span parameter is at one slot.
  struct Bound {
    std::string data;    // address of a span, value of a scalar
    std::string length;  // span, if read
  };
  struct Loop {
    std::string next;  // where Continue goes
    std::string end;   // where Break goes
  };
  /// Rounds of a loop that are written out one after the other.
  struct Rounds {
    Strides strides;
    std::int64_t number = 0;
    std::map<const Node*, std::string> addresses;  // of the first round's accesses
  };
  /// An address that such a loop moves on from four rounds to the next.
  struct Pointer {
    std::string address;
    std::string_view type;
    std::int64_t bytes = 0;
  };

  // Before the body.

  void scan() {
    written_.assign(kernel_.memories.size(), false);
    for (const Node& node : kernel_.nodes) {
      if (node.op == Op::Store || ir::is_atomic(node.op)) written_[node.memory] = true;
      uses_warp_ |= ir::is_warp(node.op) || node.op == Op::LaneId;
      if (node.op != Op::Native) continue;
      for (const MemoryId memory : kernel_.user_calls[node.index].arguments) {
        if (memory != ir::kNone) written_[memory] = true;
      }
    }
    for (const ir::Variable& variable : kernel_.variables) {
      variables_.push_back(writer_.fresh(variable.type));
    }
  }

  void declare_parameter(const std::string& name, std::size_t size, std::uint32_t slots) {
    parameters_ += parameters_.empty() ? "\n" : ",\n";
    parameters_ += slots == 1
                       ? fmt::format("\t.param .b{} {}", size * 8, name)
                       : fmt::format("\t.param .align {} .b8 {}[{}]", size, name, size * slots);
  }

  void bind_parameters() {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const ir::Parameter& parameter = kernel_.parameters[i];
      const std::string name = fmt::format("p{}", i);
      const std::size_t size = parameter.is_span ? 8 : ir::size_of(parameter.type);
      declare_parameter(name, size, parameter.slots);
      if (lengths_[i]) declare_parameter(name + "_length", 8, parameter.slots);
      const bool single = parameter.slots == 1;
      bound_.push_back(
          single ? read_parameter(i, [](const std::string& table, std::size_t) { return table; })
                 : Bound{});
    }
  }

  /// The parameter at the place that `address(table, element size)` names.
  template <typename AddressOf>
  Bound read_parameter(std::size_t i, const AddressOf& address) {
    const ir::Parameter& parameter = kernel_.parameters[i];
    const std::string name = fmt::format("p{}", i);
    if (!parameter.is_span) {
      return {access_.load(
                  {parameter.type, "param", address(name, ir::size_of(parameter.type)), false}),
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

  void bind_arrays() {
    for (MemoryId id = 0; id < kernel_.memories.size(); ++id) {
      const ir::Memory& memory = kernel_.memories[id];
      bases_.emplace_back();
      if (memory.space == Space::Global) continue;
      const std::string name = fmt::format("m{}", id);
      const std::uint64_t bytes = std::uint64_t{memory.count} * memory.element.size;
      const std::string declared = fmt::format(".{} .align 16 .b8 {}[{}];\n",
                                               memory.space == Space::Shared ? "shared" : "local",
                                               name, bytes == 0 ? "" : fmt::format("{}", bytes));
      if (memory.space == Space::Shared && memory.count == 0) {
        module_arrays_ += ".extern " + declared;
      } else {
        arrays_ += "\t" + declared;
      }
      bases_[id] = writer_.fresh(memory.space == Space::Shared ? Bank::b32 : Bank::b64);
      writer_.put("mov.{} {}, {}", memory.space == Space::Shared ? "u32" : "u64", bases_[id], name);
    }
  }

  // Values.

  /// What holds a leaf within the block where it is first read and in those inside.
  std::string cached(const std::string& key, const std::function<std::string()>& make) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(key); found != scope->end()) return found->second;
    }
    std::string made = make();
    scopes_.back().emplace(key, made);
    return made;
  }

  /// A parameter where the node reads it.
  Bound bound(std::uint32_t parameter, ValueId slot) {
    const std::uint32_t slots = kernel_.parameters[parameter].slots;
    if (slots == 1) return bound_[parameter];
    const Node& node = kernel_.node(slot);
    const std::string at = value(slot);
    const std::string key = fmt::format("slot {} {}", parameter, at);
    const std::string data = cached(key, [&] {
      Bound made = read_parameter(parameter, [&](const std::string& table, std::size_t size) {
        if (node.op == Op::Constant) {
          return fmt::format("{}+{}", table,
                             std::min<std::uint64_t>(node.literal, slots - 1) * size);
        }
        // The address of a table can be moved to a register; it stays in the parameter space.
        const std::string base = writer_.fresh(Bank::b64);
        std::string address = writer_.fresh(Bank::b64);
        writer_.put("mov.b64 {}, {}", base, table);
        writer_.put("mad.wide.u32 {}, {}, {}, {}", address, arithmetic_.low_word(node.type, at),
                    size, base);
        return address;
      });
      if (!made.length.empty()) scopes_.back().emplace(key + " length", made.length);
      return made.data;
    });
    return {data, lengths_[parameter] ? cached(key + " length", [] { return std::string(); }) : ""};
  }

  std::string position(const Node& node) {
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

  std::string value(ValueId id) {
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
    return cached(fmt::format("{} {}", ir::name(node.op), node.axis),
                  [&] { return position(node); });
  }

  Scalar type_of(ValueId id) const { return kernel_.node(id).type; }
  std::string word(ValueId id) { return arithmetic_.low_word(type_of(id), value(id)); }

  /// An index as another one and the positive constant that is added to it. The address may be put
  /// together in the same way: were the sum to overflow, it would be negative.
  std::pair<ValueId, std::int64_t> split(ValueId index) const {
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

  /// Where the element at an index lies.
  std::string element_address(const Node& node, ValueId index) {
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

  Place place(const Node& node) {
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
    std::int64_t offset = field.offset + added * size;
    const auto made = [&] {
      return cached(fmt::format("address {} {} {}", node.memory, index, kernel_.slot_of(node)),
                    [&] { return element_address(node, index); });
    };
    std::string address;
    if (const auto stride = rounds_ ? rounds_->strides.of(node) : std::nullopt) {
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

  // Statements.

  void block(BlockId id) {
    scopes_.emplace_back();
    for (ValueId node : kernel_.block(id).nodes) statement(node);
    scopes_.pop_back();
  }

  void locate(const Node& node) {
    if (node.location >= kernel_.locations.size() || node.location == location_) return;
    location_ = node.location;
    const ir::Location& location = kernel_.locations[location_];
    auto file = std::find(files_.begin(), files_.end(), location.file);
    if (file == files_.end()) file = files_.insert(files_.end(), location.file);
    writer_.location(static_cast<std::size_t>(file - files_.begin()) + 1, location.line);
  }

  /// Whether a division needs no test for 0 and -1.
  bool divides_safely(const Node& node) const {
    if ((node.op != Op::Div && node.op != Op::Rem) || ir::is_float(node.type)) return false;
    const Node& divisor = kernel_.node(node.operands[1]);
    const std::uint64_t ones = ir::size_of(node.type) == 8 ? ~std::uint64_t{0} : 0xffffffff;
    return divisor.op == Op::Constant && divisor.literal != 0 &&
           !(ir::is_signed(node.type) && divisor.literal == ones);
  }

  void pure(ValueId id, const Node& node) {
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

  void statement(ValueId id) {
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
    if (ir::is_user_code(node.op)) return user_code(id, node);
    switch (node.op) {
      case Op::Load:
        values_[id] = access_.load(place(node));
        return;
      case Op::Store:
        return access_.store(place(node), value(node.operands[1]));
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

  /// Instructions that leave an intrinsic's value in `{result}`; spans are global addresses.
  void user_code(ValueId id, const Node& node) {
    const ir::UserCall& call = kernel_.user_calls[node.index];
    const std::optional<std::string> text = call.code->text("CUDA/PTX");
    if (!text) {
      throw Error(Errc::unsupported,
                  fmt::format("'{}' has no code for CUDA/PTX", call.code->name()));
    }
    std::vector<std::string> arguments;
    std::size_t next = 0;
    for (const MemoryId memory : call.arguments) {
      arguments.push_back(memory == ir::kNone
                              ? value(node.operands[next++])
                              : bound(kernel_.memories[memory].parameter, kNoValue).data);
    }
    if (node.op == Op::Intrinsic) values_[id] = writer_.fresh(node.type);
    writer_.raw("\t" + ir::fill_template(*text, arguments, values_[id]) + "\n");
  }

  void if_(const Node& node) {
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

  void switch_(const Node& node) {
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

  /// The first thing in the block that a loop comes back to.
  void keep_rolled() { writer_.raw("\t.pragma \"nounroll\";\n"); }

  /// Makes a pure value of a loop's body before the loop.
  void make_before(ValueId id) {
    const Node& node = kernel_.node(id);
    if (ir::is_leaf(node.op) || rounds_->strides.is_invariant(id)) return;
    for (ValueId operand : node.inputs()) make_before(operand);
    pure(id, node);
  }

  /// Makes the addresses of the first round's accesses before the loop, as far as constants lead
  /// from them to the other rounds' and from four rounds to the next.
  std::vector<Pointer> point_at_first_round(BlockId body) {
    constexpr std::size_t kMost = 8;  // each takes registers
    std::map<std::tuple<MemoryId, ValueId, ValueId>, std::string> made;
    std::vector<Pointer> pointers;
    for (ValueId id : kernel_.block(body).nodes) {
      const Node& access = kernel_.node(id);
      if (access.op != Op::Load && access.op != Op::Store && !ir::is_atomic(access.op)) continue;
      const auto stride = rounds_->strides.of(access);
      if (!stride) continue;
      const ValueId index = split(access.operands[0]).first;
      std::string& address = made[{access.memory, index, kernel_.slot_of(access)}];
      if (address.empty()) {
        if (pointers.size() == kMost) break;
        make_before(index);
        address = element_address(access, index);
        const ir::Memory& memory = kernel_.memories[access.memory];
        pointers.push_back({address, memory.space == Space::Shared ? "s32" : "s64",
                            4 * *stride * static_cast<std::int64_t>(memory.element.size)});
      }
      rounds_->addresses[&access] = address;
    }
    return pointers;
  }

  /// Runs four rounds at a time and leaves those that remain to the loop that follows.
  void in_fours(ValueId id, const Node& node, const std::string& index, const std::string& limit,
                const std::string& step) {
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
    const std::string rounds = word();
    const std::string togo = word();
    writer_.put("add.s32 {}, {}, 1", rounds, rounds_but_one);
    writer_.put("and.b32 {}, {}, -4", togo, rounds);
    std::array<std::string, 5> ahead;  // steps from the first round's counter
    for (std::uint64_t k = 1; k < ahead.size(); ++k) {
      if (known) {
        ahead[k] = fmt::format("{}", k * steps.literal);
      } else {
        ahead[k] = word();
        writer_.put("mul.lo.s32 {}, {}, {}", ahead[k], step, k);
      }
    }
    rounds_.emplace(Rounds{Strides(kernel_, id), 0, {}});
    values_[id] = index;
    const std::vector<Pointer> pointers = point_at_first_round(node.blocks[0]);
    writer_.label(again);
    for (std::size_t k = 1; k < ahead.size(); ++k, ++rounds_->number) {
      block(node.blocks[0]);
      if (k == 4) break;
      values_[id] = word();
      writer_.put("add.s32 {}, {}, {}", values_[id], index, ahead[k]);
    }
    rounds_.reset();
    for (const Pointer& pointer : pointers) {
      writer_.put("add.{} {}, {}, {}", pointer.type, pointer.address, pointer.address,
                  pointer.bytes);
    }
    const std::string more = writer_.fresh(Bank::predicate);
    writer_.put("add.s32 {}, {}, {}", index, index, ahead[4]);
    writer_.put("add.s32 {}, {}, -4", togo, togo);
    writer_.put("setp.ne.s32 {}, {}, 0", more, togo);
    writer_.put("@{} bra {}", more, again);
    writer_.label(rest);
  }

  void for_(ValueId id, const Node& node) {
    const Scalar type = type_of(node.operands[0]);
    const bool down = node.literal == 1;
    const Node& steps = kernel_.node(node.operands[2]);
    const bool by_one = steps.op == Op::Constant && steps.literal == 1;
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
    if (node.unroll == 1 || fours || !by_one) keep_rolled();
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

  void while_(const Node& node) {
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

  const ir::Kernel& kernel_;
  const EmitOptions& options_;
  std::vector<bool> lengths_;
  Writer writer_;
  Arithmetic arithmetic_;
  MemoryAccess access_;
  WarpOperations warp_;

  std::string parameters_;     // the entry's list
  std::string module_arrays_;  // dynamic shared memory
  std::string arrays_;         // shared and local arrays
  std::vector<std::string> files_;
  ir::LocationId location_ = ir::kNone;
  std::vector<bool> written_;  // by memory
  bool uses_warp_ = false;

  std::vector<Bound> bound_;            // by parameter; empty for a table
  std::vector<std::string> bases_;      // by memory: where an array begins
  std::vector<std::string> variables_;  // registers
  std::vector<std::string> values_;     // by node: its register once emitted
  std::vector<std::map<std::string, std::string>> scopes_{1};
  std::vector<Loop> loops_;
  std::optional<Rounds> rounds_;  // while such a loop is written
};

}  // namespace

Target target_for(int driver_version, int chip) noexcept {
  // PTX 8.1 is the first with large parameter blocks; its newest chip is Hopper's.
  if (driver_version >= 12010) return {81, std::min(chip, 90)};
  return {63, std::min(chip, 75)};
}

Emitted emit(const ir::Kernel& kernel, const EmitOptions& options) {
  const bool complete =
      std::ranges::all_of(kernel.nodes, [](const Node& node) { return has_instruction(node.op); });
  const ir::Kernel plain =
      passes::unroll(complete ? kernel : passes::simplify(passes::expand_math(kernel)));
  return Emitter(plain, options).run();
}

}  // namespace salvo::codegen::ptx
