// Writes a kernel as PTX, NVIDIA's assembly language.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emitter.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codegen/c_family/printer.hpp"
#include "codegen/ptx/loops.hpp"
#include "codegen/ptx/memory.hpp"
#include "codegen/ptx/warp.hpp"
#include "codegen/ptx/writer.hpp"
#include "passes/expand_math.hpp"
#include "passes/simplify.hpp"
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

  Place place(const Node& node) {
    const ir::Memory& memory = kernel_.memories[node.memory];
    const ir::Field& field = kernel_.field_of(node);
    const ValueId index = node.operands[0];
    const std::uint32_t size = memory.element.size;
    Place result{field.type, "", "", false};
    std::string address;
    if (memory.space == Space::Shared) {
      result.space = "shared";
      address = writer_.fresh(Bank::b32);
      writer_.put("mad.lo.s32 {}, {}, {}, {}", address, word(index), size, bases_[node.memory]);
    } else {
      const bool global = memory.space == Space::Global;
      result.space = global ? "global" : "local";
      const std::string base =
          global ? bound(memory.parameter, kernel_.slot_of(node)).data : bases_[node.memory];
      const Scalar type = type_of(index);
      const std::string at = value(index);
      address = writer_.fresh(Bank::b64);
      writer_.put("mad.{}.{} {}, {}, {}, {}", ir::size_of(type) == 8 ? "lo" : "wide",
                  type_name(type), address, at, size, base);
      result.constant = global && !written_[node.memory] && memory.parameter < 64 &&
                        (options_.may_alias >> memory.parameter & 1) == 0;
    }
    result.address = field.offset == 0 ? address : fmt::format("{}+{}", address, field.offset);
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

  void loop_hint(const Node& node) {
    if (node.unroll == 1) writer_.raw("\t.pragma \"nounroll\";\n");
  }

  /// Runs rounds while four are left, and leaves the others to the loop that follows.
  void in_fours(ValueId id, const Node& node, const std::string& index, const std::string& limit) {
    const std::uint64_t step = kernel_.node(node.operands[2]).literal;
    const std::string rounds = writer_.fresh_label();
    const std::string rest = writer_.fresh_label();
    const auto leave_if_few = [&] {
      // Below the limit the distance to it fits 32 bits without a sign.
      const std::string over = writer_.fresh(Bank::predicate);
      const std::string few = writer_.fresh(Bank::predicate);
      const std::string left = writer_.fresh(Bank::b32);
      writer_.put("setp.ge.s32 {}, {}, {}", over, index, limit);
      writer_.put("@{} bra {}", over, rest);
      writer_.put("sub.s32 {}, {}, {}", left, limit, index);
      writer_.put("setp.le.u32 {}, {}, {}", few, left, 3 * step);
      writer_.put("@{} bra {}", few, rest);
    };
    writer_.label(rounds);
    leave_if_few();
    for (std::uint64_t round = 0; round < 4; ++round) {
      values_[id] = writer_.fresh(Bank::b32);
      writer_.put("add.s32 {}, {}, {}", values_[id], index, round * step);
      block(node.blocks[0]);
    }
    writer_.put("add.s32 {}, {}, {}", index, index, 4 * step);
    writer_.put("bra {}", rounds);
    writer_.label(rest);
  }

  void for_(ValueId id, const Node& node) {
    if (const auto counters = known_counters(kernel_, node); !counters.empty()) {
      for (std::int64_t at : counters) {
        values_[id] = arithmetic_.constant(Scalar::I32, static_cast<std::uint64_t>(at));
        block(node.blocks[0]);
      }
      return;
    }
    const Scalar type = type_of(node.operands[0]);
    const bool down = node.literal == 1;
    const std::string limit = value(node.operands[1]);
    const std::string step = value(node.operands[2]);
    const std::string index = writer_.fresh(type);
    arithmetic_.move(type, index, value(node.operands[0]));
    if (runs_in_fours(kernel_, node)) in_fours(id, node, index, limit);
    values_[id] = index;
    const std::string body = writer_.fresh_label();
    const Loop loop{writer_.fresh_label(), writer_.fresh_label()};
    const std::string done = writer_.fresh(Bank::predicate);
    writer_.put("setp.{}.{} {}, {}, {}", down ? "le" : "ge", type_name(type), done, index, limit);
    writer_.put("@{} bra {}", done, loop.end);
    loop_hint(node);
    writer_.label(body);
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
    loop_hint(node);
    writer_.label(loop.next);
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
  if (complete) return Emitter(kernel, options).run();
  const ir::Kernel expanded = passes::simplify(passes::expand_math(kernel));
  return Emitter(expanded, options).run();
}

}  // namespace salvo::codegen::ptx
