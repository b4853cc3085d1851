// Prints a kernel in WGSL, WebGPU's shading language.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/printer.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codegen/c_family/names.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/c_family/scan.hpp"
#include "codegen/user_code.hpp"
#include "codegen/wgsl/expressions.hpp"
#include "codegen/wgsl/helpers.hpp"
#include "codegen/wgsl/layout.hpp"
#include "codegen/wgsl/memory.hpp"
#include "codegen/wgsl/subset.hpp"
#include "codegen/wgsl/wgsl_reserved_words.hpp"
#include "passes/expand_math_single.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::wgsl {
namespace {

using c_family::Names;
using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

class Printer {
 public:
  explicit Printer(const ir::Kernel& kernel)
      : kernel_(kernel),
        layout_(kernel),
        scan_(c_family::scan(kernel)),
        lengths_(c_family::reads_length(kernel)),
        names_(is_wgsl_word),
        elements_(kernel, names_),
        values_(kernel.nodes.size()) {}

  Printed run() {
    const std::string entry = names_.fresh(kernel_.name);
    for (const char axis : {'x', 'y', 'z'}) {
      block_sizes_.push_back(names_.fresh(fmt::format("block_dim_{}", axis)));
    }
    arguments_ = names_.fresh("arguments");
    declare_memories();
    declare_scalars();
    declare_positions();
    block(kernel_.body);
    return {entry, file(entry)};
  }

 private:
  void line(std::string_view text) {
    body_.append(2 * depth_, ' ');
    body_ += text;
    body_ += '\n';
  }
  void open(std::string_view head) {
    line(std::string(head) + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  // The file.

  std::string file(const std::string& entry) const {
    std::string code;
    if (elements_.uses_f16()) code += "enable f16;\n\n";
    for (std::size_t i = 0; i < block_sizes_.size(); ++i) {
      code += fmt::format("@id({}) override {}: u32 = {}u;\n", i, block_sizes_[i], i == 0 ? 64 : 1);
    }
    if (kernel_.has_dynamic_shared()) {
      code += fmt::format("@id(3) override {}: u32 = 1u;\n", dynamic_count_);
    }
    code += "\n" + elements_.records();
    if (layout_.words != 0) {
      code += fmt::format("@group(0) @binding(0) var<uniform> {}: array<vec4<u32>, {}>;\n",
                          arguments_, (layout_.words + 3) / 4);
    }
    code += module_ + "\n" + helpers_.text();
    code += fmt::format("@compute @workgroup_size({}, {}, {})\nfn {}({}) {{\n", block_sizes_[0],
                        block_sizes_[1], block_sizes_[2], entry, builtins_);
    return code + body_ + "}\n";
  }

  void declare_memories() {
    for (ir::MemoryId id = 0; id < kernel_.memories.size(); ++id) {
      const ir::Memory& memory = kernel_.memories[id];
      const std::string type = elements_.type(id);
      buffers_.emplace_back();
      if (memory.space == Space::Global) {
        declare_span(id, type);
        continue;
      }
      buffers_[id].push_back(names_.fresh(memory.name));
      std::string count = fmt::format("{}", memory.count);
      if (memory.count == 0) {
        if (dynamic_count_.empty()) dynamic_count_ = names_.fresh("dynamic_shared_elements");
        count = dynamic_count_;
      }
      const std::string declaration =
          fmt::format("{}: array<{}, {}>;\n", buffers_[id][0], type, count);
      if (memory.space == Space::Shared) {
        module_ += "var<workgroup> " + declaration;
      } else {
        line("var " + declaration.substr(0, declaration.size() - 1));
      }
    }
    require_one_dynamic();
  }

  void require_one_dynamic() const {
    int count = 0;
    for (const ir::Memory& memory : kernel_.memories) {
      count += memory.space == Space::Shared && memory.count == 0;
    }
    if (count < 2) return;
    throw Error(Error::Details{
        .code = Errc::unsupported,
        .message = "WGSL has no dynamic shared memory for several arrays: each has its own type",
        .backend = "WebGPU",
        .operation = "translate",
        .kernel = kernel_.name});
  }

  void declare_span(ir::MemoryId id, const std::string& type) {
    const ir::Memory& memory = kernel_.memories[id];
    const ir::Parameter& parameter = kernel_.parameters[memory.parameter];
    const bool writes = scan_.written[id];
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot) {
      buffers_[id].push_back(names_.fresh(slot_name(parameter, slot)));
      module_ += fmt::format("@group(0) @binding({}) var<storage, {}> {}: array<{}>;\n",
                             layout_.parameters[memory.parameter].binding + slot,
                             writes ? "read_write" : "read", buffers_[id].back(), type);
    }
  }

  static std::string slot_name(const ir::Parameter& parameter, std::uint32_t slot) {
    return parameter.slots == 1 ? parameter.name : fmt::format("{}_{}", parameter.name, slot);
  }

  /// The scalars, first elements and lengths of parameters that are no tables, once for all uses.
  void declare_scalars() {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const ir::Parameter& parameter = kernel_.parameters[i];
      const Layout::Parameter& at = layout_.parameters[i];
      bound_.emplace_back();
      if (parameter.slots > 1) continue;
      const auto declare = [&](const std::string& name, const std::string& value) {
        std::string fresh = names_.fresh(name);
        line(fmt::format("let {} = {};", fresh, value));
        return fresh;
      };
      if (!parameter.is_span) {
        bound_[i].data = declare(parameter.name, scalar(parameter.type, word(at.word)));
        continue;
      }
      bound_[i].first = declare(parameter.name + "_first", word(at.word));
      if (lengths_[i]) {
        bound_[i].length =
            declare(parameter.name + "_length", fmt::format("i32({})", word(at.length)));
      }
    }
  }

  void declare_positions() {
    const auto builtin = [&](std::string_view name, std::string_view what) {
      std::string fresh = names_.fresh(name);
      builtins_ += fmt::format("{}\n    @builtin({}) {}: vec3<u32>", builtins_.empty() ? "" : ",",
                               what, fresh);
      return fresh;
    };
    std::map<Op, std::string> inputs;
    for (const auto& [op, axis] : scan_.positions) {
      const std::string name = names_.fresh(fmt::format("{}_{}", ir::name(op), "xyz"[axis]));
      std::string text;
      if (op == Op::BlockDim) {
        text = block_sizes_[axis];
      } else {
        if (!inputs.contains(op)) inputs[op] = builtin(ir::name(op), builtin_of(op));
        text = fmt::format("{}.{}", inputs[op], "xyz"[axis]);
      }
      line(fmt::format("let {} = i32({});", name, text));
      positions_[{op, axis}] = name;
    }
  }

  static std::string_view builtin_of(Op op) {
    switch (op) {
      case Op::ThreadIdx:
        return "local_invocation_id";
      case Op::BlockIdx:
        return "workgroup_id";
      case Op::GridDim:
        return "num_workgroups";
      default:
        return "global_invocation_id";
    }
  }

  // Arguments.

  std::string word(std::uint32_t number) const {
    return fmt::format("{}[{}].{}", arguments_, number / 4, "xyzw"[number % 4]);
  }
  /// Word `number` plus a slot that is known at run time.
  std::string word(std::uint32_t number, const std::string& slot) const {
    return fmt::format("{0}[({1}u + u32({2})) / 4u][({1}u + u32({2})) % 4u]", arguments_, number,
                       slot);
  }
  static std::string scalar(Scalar type, const std::string& word) {
    const Scalar computed = ir::compute_type(type);
    if (computed == Scalar::Bool) return word + " != 0u";
    if (computed == Scalar::U32) return word;
    return fmt::format("bitcast<{}>({})", type_name(computed), word);
  }

  /// The slot's number where it is a constant; nothing where it is known at run time only.
  std::optional<std::uint32_t> fixed_slot(std::uint32_t slots, ValueId slot) const {
    if (slot == ir::kNoValue || slots == 1) return 0;
    const Node& node = kernel_.node(slot);
    if (node.op != Op::Constant) return std::nullopt;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(node.literal, slots - 1));
  }
  std::string argument(std::uint32_t first, std::uint32_t slots, ValueId slot) const {
    const auto fixed = fixed_slot(slots, slot);
    return fixed ? word(first + *fixed) : word(first, value(slot));
  }

  // Values.

  std::string value(ValueId id) const {
    const Node& node = kernel_.node(id);
    switch (node.op) {
      case Op::Constant:
        return constant(node.type, node.literal, helpers_);
      case Op::Param: {
        const ir::Parameter& parameter = kernel_.parameters[node.index];
        if (parameter.slots == 1) return bound_[node.index].data;
        return fmt::format(
            "({})", scalar(parameter.type, argument(layout_.parameters[node.index].word,
                                                    parameter.slots, kernel_.slot_of(node))));
      }
      case Op::Length: {
        const std::uint32_t index = kernel_.memories[node.memory].parameter;
        const ir::Parameter& parameter = kernel_.parameters[index];
        if (parameter.slots == 1) return bound_[index].length;
        return fmt::format("i32({})", argument(layout_.parameters[index].length, parameter.slots,
                                               kernel_.slot_of(node)));
      }
      case Op::ForIndex:
        return values_[node.operands[0]];
      default:
        break;
    }
    return ir::is_leaf(node.op) ? positions_.at({node.op, node.axis}) : values_[id];
  }

  std::vector<std::string> operands(const Node& node) const {
    std::vector<std::string> texts;
    for (ValueId operand : node.inputs()) texts.push_back(value(operand));
    return texts;
  }

  /// The place in one buffer of the node's memory.
  Place place(const Node& node, std::uint32_t slot, const std::string& first) const {
    const ir::Memory& memory = kernel_.memories[node.memory];
    const std::string& field = elements_.field(node.memory, node.field);
    const std::string index = value(node.operands[0]);
    const std::string at =
        memory.space != Space::Global ? index : fmt::format("{} + u32({})", first, index);
    return {kernel_.field_of(node).type, elements_.is_atomic(node.memory, node.field), memory.space,
            fmt::format("{}[{}]{}", buffers_[node.memory][slot], at, field)};
  }

  /// Prints `access` of the place, or, where the buffer is chosen at run time, of each in turn.
  void at_place(const Node& node, const std::function<void(const Place&)>& access) {
    const ir::Memory& memory = kernel_.memories[node.memory];
    if (memory.space != Space::Global) return access(place(node, 0, ""));
    const ir::Parameter& parameter = kernel_.parameters[memory.parameter];
    if (parameter.slots == 1) return access(place(node, 0, bound_[memory.parameter].first));
    const ValueId slot = kernel_.slot_of(node);
    const std::uint32_t word_0 = layout_.parameters[memory.parameter].word;
    if (const auto fixed = fixed_slot(parameter.slots, slot)) {
      return access(place(node, *fixed, word(word_0 + *fixed)));
    }
    // There is no pointer to a buffer that could be chosen once.
    open(fmt::format("switch {}", value(slot)));
    for (std::uint32_t i = 0; i < parameter.slots; ++i) {
      open(i + 1 < parameter.slots ? fmt::format("case {}:", i) : "default:");
      access(place(node, i, word(word_0 + i)));
      close();
    }
    close();
  }

  std::string fresh_value() { return names_.fresh(fmt::format("v{}", ++value_count_)); }

  void define(ValueId id, std::string_view expression) {
    values_[id] = fresh_value();
    line(fmt::format("let {} = {};", values_[id], expression));
  }
  /// Declares the value without one.
  void declare(ValueId id) {
    values_[id] = fresh_value();
    line(fmt::format("var {}: {};", values_[id], type_name(kernel_.node(id).type)));
  }
  bool chooses_buffer(const Node& node) const {
    const ir::Memory& memory = kernel_.memories[node.memory];
    return memory.space == Space::Global &&
           !fixed_slot(kernel_.parameters[memory.parameter].slots, kernel_.slot_of(node));
  }

  // Statements.

  void block(BlockId id) {
    for (const std::uint32_t i : scan_.variables[id]) {
      variables_[i] = names_.fresh(kernel_.variables[i].name);
      line(fmt::format("var {}: {};", variables_[i], type_name(kernel_.variables[i].type)));
    }
    for (ValueId node : kernel_.block(id).nodes) statement(node);
  }

  void braces(std::string_view head, BlockId id) {
    open(head);
    block(id);
    close();
  }

  void statement(ValueId id) {
    const Node& node = kernel_.node(id);
    if (ir::is_leaf(node.op)) return;
    if (ir::is_pure(node.op)) {
      return define(id, expression(kernel_, node, operands(node), helpers_));
    }
    if (ir::is_atomic(node.op)) return atomic_(id, node);
    if (ir::is_user_code(node.op)) return user_code(id, node);
    switch (node.op) {
      case Op::Load:
        return load_(id, node);
      case Op::Store:
        return at_place(node, [&](const Place& to) {
          line(store(to, value(node.operands[1]), helpers_) + ";");
        });
      case Op::VarGet:
        return define(id, variables_.at(node.index));
      case Op::VarSet:
        return line(fmt::format("{} = {};", variables_.at(node.index), value(node.operands[0])));
      case Op::If:
        return if_(node);
      case Op::For:
        return for_(id, node);
      case Op::While:
        return while_(node);
      case Op::Switch:
        return switch_(node);
      case Op::Break:
        return line("break;");
      case Op::Continue:
        return line("continue;");
      case Op::Return:
        return line("return;");
      default:  // a barrier: the subset has no fences and no warp operations
        line("workgroupBarrier();");
        return line("storageBarrier();");
    }
  }

  void load_(ValueId id, const Node& node) {
    if (!chooses_buffer(node)) {
      return at_place(node, [&](const Place& from) { define(id, load(from)); });
    }
    declare(id);
    at_place(node,
             [&](const Place& from) { line(fmt::format("{} = {};", values_[id], load(from))); });
  }

  void atomic_(ValueId id, const Node& node) {
    std::vector<std::string> texts = operands(node);
    texts.resize(static_cast<std::size_t>(ir::operands_without_slot(node.op)));
    texts.erase(texts.begin());
    declare(id);
    at_place(node, [&](const Place& at) {
      for (const std::string& each : atomic(node.op, at, texts, values_[id])) line(each);
    });
  }

  /// An intrinsic is an expression, or statements that assign to `{result}`.
  void user_code(ValueId id, const Node& node) {
    const ir::UserCall& call = kernel_.user_calls[node.index];
    const std::string text = user_text(kernel_, node, "WebGPU");
    std::vector<std::string> arguments;
    std::size_t next = 0;
    for (const ir::MemoryId memory : call.arguments) {
      arguments.push_back(memory == ir::kNone ? value(node.operands[next++]) : buffers_[memory][0]);
    }
    if (node.op == Op::Native) return line(ir::fill_template(text, arguments, ""));
    if (text.find("{result}") == std::string::npos) {
      return define(id, ir::fill_template(text, arguments, ""));
    }
    declare(id);
    line(ir::fill_template(text, arguments, values_[id]));
  }

  void if_(const Node& node) {
    braces(fmt::format("if ({})", value(node.operands[0])), node.blocks[0]);
    if (node.blocks.size() > 1 && !kernel_.block(node.blocks[1]).nodes.empty()) {
      braces("else", node.blocks[1]);
    }
  }

  /// A chain of ifs and not a WGSL switch: Break and Continue inside belong to the loop around it.
  void switch_(const Node& node) {
    const std::string on = value(node.operands[0]);
    const Scalar type = kernel_.node(node.operands[0]).type;
    for (std::size_t i = 0; i < node.cases.size(); ++i) {
      braces(fmt::format("{}if ({} == {})", i == 0 ? "" : "else ", on,
                         constant(type, static_cast<std::uint64_t>(node.cases[i]), helpers_)),
             node.blocks[i]);
    }
    const BlockId otherwise = node.blocks.back();
    if (kernel_.block(otherwise).nodes.empty()) return;
    braces(node.cases.empty() ? "" : "else", otherwise);
  }

  void for_(ValueId id, const Node& node) {
    const bool down = node.literal == 1;
    const std::string i = names_.fresh("i");
    values_[id] = i;
    // Read once: limit and step are names or constants. Integers wrap.
    open(fmt::format("for (var {0}: {1} = {2}; {0} {3} {4}; {0} = {0} {5} {6})", i,
                     type_name(kernel_.node(node.operands[0]).type), value(node.operands[0]),
                     down ? ">" : "<", value(node.operands[1]), down ? "-" : "+",
                     value(node.operands[2])));
    block(node.blocks[0]);
    close();
  }

  void while_(const Node& node) {
    open("loop");
    block(node.blocks[0]);
    open(fmt::format("if (!{})", value(node.operands[0])));
    line("break;");
    close();
    block(node.blocks[1]);
    close();
  }

  /// What the body calls a parameter that is no table.
  struct Bound {
    std::string data;    // of a scalar
    std::string first;   // a view's first element
    std::string length;  // of a view
  };

  const ir::Kernel& kernel_;
  const Layout layout_;
  const c_family::Scan scan_;
  const std::vector<bool> lengths_;
  Names names_;
  Elements elements_;
  mutable Helpers helpers_;  // a value's text may need one

  std::string module_;
  std::string builtins_;
  std::string body_;
  std::size_t depth_ = 1;
  unsigned value_count_ = 0;

  std::string arguments_;
  std::string dynamic_count_;
  std::vector<std::string> block_sizes_;
  std::vector<std::vector<std::string>> buffers_;  // by memory, then slot
  std::vector<Bound> bound_;                       // by parameter
  std::map<std::pair<Op, std::uint8_t>, std::string> positions_;
  std::map<std::uint32_t, std::string> variables_;
  std::vector<std::string> values_;  // by node: its name once printed
};

}  // namespace

Printed print(const ir::Kernel& kernel) {
  const ir::Kernel plain = passes::expand_math_single(kernel);
  require_subset(plain);
  return Printer(plain).run();
}

}  // namespace salvo::codegen::wgsl
