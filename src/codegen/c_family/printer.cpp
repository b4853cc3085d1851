// Prints a kernel as source text of a C-like language.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/printer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codegen/c_family/expressions.hpp"
#include "codegen/c_family/helpers.hpp"
#include "codegen/c_family/matrix_words.hpp"
#include "codegen/c_family/names.hpp"
#include "codegen/c_family/scan.hpp"
#include "codegen/matrices.hpp"
#include "codegen/user_code.hpp"
#include "ir/matrices.hpp"
#include "passes/counters.hpp"
#include "passes/vector_access.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::c_family {
namespace {

using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

/// Whether the body of a loop has a Break of that loop.
bool breaks(const ir::Kernel& kernel, BlockId block) {
  return std::ranges::any_of(kernel.block(block).nodes, [&](ValueId id) {
    const Node& node = kernel.node(id);
    if (node.op == Op::For || node.op == Op::While) return false;
    return node.op == Op::Break ||
           std::ranges::any_of(node.blocks, [&](BlockId inner) { return breaks(kernel, inner); });
  });
}

class Printer {
 public:
  Printer(const ir::Kernel& kernel, const Dialect& dialect, const PrintOptions& options,
          Helpers& helpers, passes::VectorAccesses vectors = {})
      : kernel_(kernel),
        dialect_(dialect),
        options_(options),
        scan_(scan(kernel)),
        lengths_(reads_length(kernel)),
        names_(dialect),
        helpers_(helpers),
        vectors_(std::move(vectors)),
        values_(kernel.nodes.size()) {
    scan_.features.contraction = options.contraction;
  }

  PrintedWithVectors run() {
    PrintedWithVectors made;
    const std::string entry = names_.fresh(kernel_.name);
    declare_elements();
    std::string unaligned_function;
    if (vectors_.rests_on_alignment()) {
      made.alignments = vectors_.alignments;
      made.unaligned_entry = names_.fresh(entry + "_unaligned");
      Printer unaligned = *this;
      unaligned.vectors_ = {};
      unaligned_function = "\n" + unaligned.function(made.unaligned_entry);
    }
    const std::string main_function = function(entry);
    std::string code = dialect_.prologue(scan_.features);
    if (!records_.empty()) code += records_ + "\n";
    made.printed = {entry, code + helpers_.text() + main_function + unaligned_function};
    return made;
  }

 private:
  /// The kernel function of this name.
  std::string function(const std::string& entry) {
    Signature signature;
    declare_parameters(signature);
    declare_memories(signature);
    for (const std::string& statement : signature.prologue) line(statement);
    declare_matrices();
    declare_positions();
    for (const auto& [slot, parameters] : scan_.slots) {
      const Op op = kernel_.node(slot).op;
      if (ir::is_leaf(op) && op != Op::ForIndex) pick(slot);
    }
    block(kernel_.body);
    return dialect_.kernel_head(entry, signature) + " {\n" + body_ + "}\n";
  }

  /// A record, or a scalar's one leaf, as the source names it.
  struct ElementText {
    std::string type;
    std::vector<std::string> fields;  // ".pos_x"; empty for a scalar
  };

  void line(std::string_view text) {
    body_.append(2 * depth_, ' ');
    body_ += text;
    body_ += '\n';
  }
  void open(std::string_view head) {
    line(head.empty() ? "{" : std::string(head) + " {");
    ++depth_;
  }
  void close(std::string_view tail = "}") {
    --depth_;
    line(tail);
  }

  // Declarations.

  void declare_elements() {
    for (const ir::Memory& memory : kernel_.memories) {
      const ir::Element& element = memory.element;
      std::size_t known = 0;
      while (known < elements_.size() && *elements_[known].first != element) ++known;
      if (known == elements_.size()) elements_.emplace_back(&element, element_text(element));
      memory_elements_.push_back(known);
    }
  }

  ElementText element_text(const ir::Element& element) {
    if (element.is_scalar()) {
      return {std::string(dialect_.memory_type(element.fields[0].type)), {""}};
    }
    ElementText text{names_.fresh(element.name), {}};
    Names members(dialect_);
    std::vector<std::size_t> order(element.fields.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      text.fields.push_back("." + members.fresh(element.fields[i].name));
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return element.fields[a].offset < element.fields[b].offset;
    });
    // Padding is spelled out: the layout is the host's, whatever rules the device compiler has.
    std::uint32_t end = 0;
    records_ += "typedef struct {\n";
    const auto pad_to = [&](std::uint32_t offset) {
      if (offset > end) {
        records_ += fmt::format("  {} {}[{}];\n", dialect_.memory_type(Scalar::U8),
                                members.fresh("padding"), offset - end);
      }
    };
    for (std::size_t i : order) {
      const ir::Field& field = element.fields[i];
      const auto bytes = static_cast<std::uint32_t>(ir::size_of(field.type));
      pad_to(field.offset);
      records_ +=
          fmt::format("  {} {};\n", dialect_.memory_type(field.type), text.fields[i].substr(1));
      end = field.offset + bytes;
    }
    pad_to(element.size);
    records_ += fmt::format("}} {};\n", text.type);
    return text;
  }

  const ElementText& element_of(ir::MemoryId memory) const {
    return elements_[memory_elements_[memory]].second;
  }

  void declare_parameters(Signature& signature) {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const ir::Parameter& parameter = kernel_.parameters[i];
      ParameterText text;
      text.parameter = &parameter;
      text.name = parameter.name;
      if (parameter.is_span) {
        text.element = element_of(parameter.memory).type;
        text.writes = scan_.written[parameter.memory];
        text.no_alias = is_apart(i);
        text.length = lengths_[i];
        declared_.push_back(dialect_.declare_span(text, names_, signature));
      } else {
        text.element = dialect_.memory_type(parameter.type);
        declared_.push_back(dialect_.declare_scalar(text, names_, signature, helpers_));
      }
    }
  }

  void declare_memories(Signature& signature) {
    for (ir::MemoryId id = 0; id < kernel_.memories.size(); ++id) {
      const ir::Memory& memory = kernel_.memories[id];
      memories_.emplace_back();
      if (memory.space == Space::Global) continue;
      memories_[id] = names_.fresh(memory.name);
      if (memory.space == Space::Local || memory.count > 0) {
        signature.prologue.push_back(
            (scan_.for_matrices[id] && dialect_.matrices() != nullptr
                 ? std::string(dialect_.matrices()->alignment())
                 : "") +
            dialect_.declare_array(memory.space, element_of(id).type, memories_[id], memory.count));
        continue;
      }
      const std::string type = dialect_.in_space(memory.space, element_of(id).type);
      signature.prologue.push_back(fmt::format("{0}* {1} = ({0}*){2};", type, memories_[id],
                                               dialect_.declare_dynamic_shared(names_, signature)));
    }
  }

  void declare_matrices() {
    const MatrixWords* words = dialect_.matrices();
    if (words == nullptr) return refuse_matrices(kernel_, dialect_.target());
    const std::vector<ir::MatrixLayout> layouts = ir::matrix_layouts(kernel_);
    for (std::size_t i = 0; i < kernel_.matrices.size(); ++i) {
      const ir::Matrix& matrix = kernel_.matrices[i];
      if (!words->has(matrix)) refuse_matrix(kernel_, matrix, dialect_.target());
      matrices_.push_back({&matrix, names_.fresh(matrix.name), layouts[i]});
      line(words->declare(matrices_.back()) + ";");
    }
  }

  void declare_positions() {
    for (const auto& [op, axis] : scan_.positions) {
      const bool one = op == Op::LaneId || op == Op::WarpSize;
      const std::string name = names_.fresh(one ? std::string(ir::name(op))
                                                : fmt::format("{}_{}", ir::name(op), "xyz"[axis]));
      line(fmt::format("const {} {} = {};", dialect_.type(Scalar::I32), name,
                       dialect_.position(op, axis)));
      positions_[{op, axis}] = name;
    }
  }

  void declare_variables(BlockId id) {
    for (const std::uint32_t i : scan_.variables[id]) {
      const ir::Variable& variable = kernel_.variables[i];
      variables_[i] = names_.fresh(variable.name);
      line(fmt::format("{} {};", dialect_.type(variable.type), variables_[i]));
    }
  }

  /// Names what the tables hold at `slot`, once for all accesses.
  void pick(ValueId slot) {
    const auto found = scan_.slots.find(slot);
    if (found == scan_.slots.end()) return;
    for (std::uint32_t i : found->second) {
      const ir::Parameter& parameter = kernel_.parameters[i];
      const Bound at = dialect_.pick(declared_[i], value(slot));
      Bound& bound = picked_[{i, slot}];
      bound.data = names_.fresh(parameter.name + "_at");
      if (!parameter.is_span) {
        line(fmt::format("const {} {} = {};", dialect_.type(ir::compute_type(parameter.type)),
                         bound.data, at.data));
        continue;
      }
      line(fmt::format("{}* {} = {};", pointee(parameter.memory), bound.data, at.data));
      if (lengths_[i]) {
        bound.length = names_.fresh(parameter.name + "_at_length");
        line(fmt::format("const {} {} = {};", dialect_.type(Scalar::I64), bound.length, at.length));
      }
    }
  }

  std::string pointee(ir::MemoryId memory) const {
    return dialect_.in_space(kernel_.memories[memory].space,
                             (scan_.written[memory] ? "" : "const ") + element_of(memory).type);
  }

  // Values.

  const Bound& bound(std::uint32_t parameter, ValueId slot) const {
    const Declared& declared = declared_[parameter];
    if (slot == ir::kNoValue || declared.slots.size() == 1) return declared.slots[0];
    const Node& node = kernel_.node(slot);
    if (node.op != Op::Constant) return picked_.at({parameter, slot});
    return declared.slots[std::min<std::size_t>(node.literal, declared.slots.size() - 1)];
  }

  std::string value(ValueId id) const {
    const Node& node = kernel_.node(id);
    switch (node.op) {
      case Op::Constant:
        return dialect_.constant(node.type, node.literal);
      case Op::Param:
        return bound(node.index, kernel_.slot_of(node)).data;
      case Op::Length:
        return bound(kernel_.memories[node.memory].parameter, kernel_.slot_of(node)).length;
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

  /// A parameter that is no table says so itself.
  bool is_constant(ir::MemoryId memory) const {
    const std::uint32_t p = kernel_.memories[memory].parameter;
    return kernel_.memories[memory].space == Space::Global && kernel_.parameters[p].slots > 1 &&
           !scan_.written[memory] && is_apart(p);
  }
  bool is_apart(std::size_t parameter) const {
    return parameter < 64 && (options_.may_alias >> parameter & 1) == 0;
  }

  Place place(const Node& node) const {
    const ir::Memory& memory = kernel_.memories[node.memory];
    const std::string& base = memory.space == Space::Global
                                  ? bound(memory.parameter, kernel_.slot_of(node)).data
                                  : memories_[node.memory];
    return {kernel_.field_of(node).type, memory.space,
            fmt::format("{}[{}]{}", base, value(node.operands[0]),
                        element_of(node.memory).fields[node.field]),
            is_constant(node.memory)};
  }

  void define(ValueId id, std::string_view expression) {
    values_[id] = names_.fresh(fmt::format("v{}", ++value_count_));
    line(fmt::format("const {} {} = {};", dialect_.type(kernel_.node(id).type), values_[id],
                     expression));
    pick(id);
  }

  // Statements.

  void block(BlockId id) {
    declare_variables(id);
    for (ValueId node : kernel_.block(id).nodes) statement(node);
  }

  void braces(std::string_view head, BlockId id) {
    open(head);
    block(id);
  }

  /// So that profilers and sanitizers point at the author's lines.
  void line_directive(const Node& node) {
    if (!options_.line_directives || node.location >= kernel_.locations.size()) return;
    const ir::Location& location = kernel_.locations[node.location];
    body_ += fmt::format("#line {} \"{}\"\n", location.line, location.file);
  }

  void statement(ValueId id) {
    const Node& node = kernel_.node(id);
    if (ir::is_leaf(node.op)) return;
    line_directive(node);
    if (ir::is_pure(node.op)) {
      return define(id, expression(kernel_, node, operands(node), dialect_, helpers_));
    }
    if (ir::is_warp(node.op)) {
      const Scalar type = kernel_.node(node.operands[0]).type;
      return define(id, dialect_.warp(node.op, type, operands(node), helpers_));
    }
    if (ir::is_atomic(node.op)) {
      std::vector<std::string> texts = operands(node);
      texts.resize(static_cast<std::size_t>(ir::operands_without_slot(node.op)));
      texts.erase(texts.begin());
      return define(id, dialect_.atomic(node.op, place(node), texts, helpers_));
    }
    if (ir::is_matrix(node.op)) return line(matrix(node) + ";");
    if (ir::is_user_code(node.op)) return user_code(id, node);
    switch (node.op) {
      case Op::Load:
      case Op::Store:
        return access(id, node);
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
        if (!flags_.back().empty()) line(fmt::format("{} = true;", flags_.back()));
        return line("break;");
      case Op::Continue:
        return line("continue;");
      case Op::Return:
        return line("return;");
      case Op::Barrier:
        return line(dialect_.barrier() + ";");
      default:
        return line(dialect_.fence(node.axis == 1) + ";");
    }
  }

  std::string matrix(const Node& node) {
    const MatrixWords& words = *dialect_.matrices();
    const MatrixText& one = matrices_[node.index];
    switch (node.op) {
      case Op::MatrixFill:
        return words.fill(one, value(node.operands[0]), helpers_);
      case Op::MatrixLoad:
      case Op::MatrixStore:
        return words.access(node.op, one, place(node), value(node.operands[1]),
                            static_cast<ir::MatrixLayout>(node.axis), helpers_);
      case Op::MatrixMultiplyAdd:
        return words.multiply_add(one,
                                  {&matrices_[node.matrices[0]], &matrices_[node.matrices[1]],
                                   &matrices_[node.matrices[2]]},
                                  helpers_);
      default:
        return words.copy(one, matrices_[node.matrices[0]], helpers_);
    }
  }

  /// A load or a store, or all of those that are done at once with it.
  void access(ValueId id, const Node& node) {
    const passes::VectorAccess* all = vectors_.of(id);
    if (all) {
      if (all->leader == id) vector_access(*all);
    } else if (node.op == Op::Load) {
      define(id, dialect_.load(place(node), helpers_));
    } else {
      line(dialect_.store(place(node), value(node.operands[1]), helpers_) + ";");
    }
  }

  void vector_access(const passes::VectorAccess& all) {
    const Node& leader = kernel_.node(all.leader);
    const Scalar type = kernel_.field_of(leader).type;
    const std::string vector = dialect_.vector_type(type, all.nodes.size());
    const std::string name = names_.fresh("q");
    // What names the first leaf may come later than the leader.
    std::string address = "&" + place(leader).lvalue;
    if (all.leader_offset != 0) {
      address = fmt::format("((const char*){} - {})", address, all.leader_offset);
    }
    const auto part = [&](std::size_t i) {
      return Place{type, Space::Global, fmt::format("{}.{}", name, "xyzw"[i])};
    };
    if (leader.op == Op::Load) {
      const Place whole{type, Space::Global, fmt::format("*(const {}*){}", vector, address),
                        is_constant(leader.memory)};
      line(fmt::format("const {} {} = {};", vector, name, dialect_.read(whole)));
      for (std::size_t i = 0; i < all.nodes.size(); ++i) {
        define(all.nodes[i], dialect_.load(part(i), helpers_));
      }
      return;
    }
    line(fmt::format("{} {};", vector, name));
    for (std::size_t i = 0; i < all.nodes.size(); ++i) {
      line(dialect_.store(part(i), value(kernel_.node(all.nodes[i]).operands[1]), helpers_) + ";");
    }
    line(fmt::format("*({}*){} = {};", vector, address, name));
  }

  /// An intrinsic is an expression, or statements that assign to `{result}`.
  void user_code(ValueId id, const Node& node) {
    const ir::UserCall& call = kernel_.user_calls[node.index];
    const std::string text = user_text(kernel_, node, dialect_.target());
    std::vector<std::string> arguments;
    std::size_t next = 0;
    for (const ir::MemoryId memory : call.arguments) {
      arguments.push_back(memory == ir::kNone
                              ? value(node.operands[next++])
                              : bound(kernel_.memories[memory].parameter, ir::kNoValue).data);
    }
    if (node.op == Op::Native) return line(ir::fill_template(text, arguments, ""));
    if (text.find("{result}") == std::string::npos) {
      return define(id, ir::fill_template(text, arguments, ""));
    }
    values_[id] = names_.fresh(fmt::format("v{}", ++value_count_));
    line(fmt::format("{} {};", dialect_.type(node.type), values_[id]));
    line(ir::fill_template(text, arguments, values_[id]));
    pick(id);
  }

  void if_(const Node& node) {
    braces(fmt::format("if ({})", value(node.operands[0])), node.blocks[0]);
    if (node.blocks.size() > 1 && !kernel_.block(node.blocks[1]).nodes.empty()) {
      --depth_;
      braces("} else", node.blocks[1]);
    }
    close();
  }

  /// A chain of ifs and not a C switch: Break and Continue inside belong to the loop around it.
  void switch_(const Node& node) {
    const std::string on = value(node.operands[0]);
    const Scalar type = kernel_.node(node.operands[0]).type;
    for (std::size_t i = 0; i < node.cases.size(); ++i) {
      const std::string is =
          fmt::format("{}if ({} == {})", i == 0 ? "" : "} else ", on,
                      dialect_.constant(type, static_cast<std::uint64_t>(node.cases[i])));
      if (i > 0) --depth_;
      braces(is, node.blocks[i]);
    }
    const BlockId otherwise = node.blocks.back();
    if (node.cases.empty()) {
      braces("", otherwise);
    } else if (!kernel_.block(otherwise).nodes.empty()) {
      --depth_;
      braces("} else", otherwise);
    }
    close();
  }

  void for_(ValueId id, const Node& node) {
    if (passes::counter_may_wrap(kernel_, node)) return rounds(id, node);
    const Node& step = kernel_.node(node.operands[2]);
    const bool down = node.literal == 1;
    const std::string i = names_.fresh("i");
    values_[id] = i;
    const std::string_view sign = down ? "-" : "+";
    const std::string next = step.literal == 1
                                 ? fmt::format("{0}{0}{1}", sign, i)
                                 : fmt::format("{} {}= {}", i, sign, value(node.operands[2]));
    loop_hint(node.unroll);
    open(fmt::format("for ({} {} = {}; {} {} {}; {})",
                     dialect_.type(kernel_.node(node.operands[0]).type), i, value(node.operands[0]),
                     i, down ? ">" : "<", value(node.operands[1]), next));
    flags_.emplace_back();
    body_of(id, node);
    flags_.pop_back();
    close();
  }

  /// A For whose trip count is computed beforehand, as far as the limit: compilers, NVIDIA's among
  /// them, take for granted that the counter of a loop does not wrap once they unroll it, and do
  /// not unroll one that is known to. Where the step after the last round wraps, the loop around
  /// goes on from there.
  void rounds(ValueId id, const Node& node) {
    const Scalar type = kernel_.node(node.operands[0]).type;
    const Scalar unsigned_type = ir::size_of(type) == 8 ? Scalar::U64 : Scalar::U32;
    const std::string_view counter = dialect_.type(type);
    const std::string_view wide = dialect_.type(unsigned_type);
    const bool down = node.literal == 1;
    const std::string first = names_.fresh("first");
    const std::string count = names_.fresh("rounds");
    const std::string round = names_.fresh("round");
    const std::string limit = value(node.operands[1]);
    const std::string one = dialect_.constant(unsigned_type, 1);
    const Node& step = kernel_.node(node.operands[2]);
    const std::string by = step.op == Op::Constant
                               ? dialect_.constant(unsigned_type, step.literal)
                               : fmt::format("({}){}", wide, value(node.operands[2]));
    const auto after = [&](const std::string& rounds) {
      return fmt::format("({})(({}){} {} {} * {})", counter, wide, first, down ? '-' : '+', rounds,
                         by);
    };
    std::string flag;
    if (breaks(kernel_, node.blocks[0])) {
      flag = names_.fresh("left");
      line(fmt::format("{} {} = false;", dialect_.type(Scalar::Bool), flag));
    }
    values_[id] = names_.fresh("i");
    open(fmt::format("for ({} {} = {}; {}{} {} {};)", counter, first, value(node.operands[0]),
                     flag.empty() ? "" : fmt::format("!{} && ", flag), first, down ? '>' : '<',
                     limit));
    const std::string whole = fmt::format("(({0}){1} - ({0}){2} - {3}) / {4} + {3}", wide,
                                          down ? first : limit, down ? limit : first, one, by);
    line(fmt::format("const {} {} = {};", wide, count, steps_nearer(node, whole, one)));
    loop_hint(node.unroll);
    open(fmt::format("for ({} {} = 0; {} < {}; ++{})", wide, round, round, count, round));
    line(fmt::format("const {} {} = {};", counter, values_[id], after(round)));
    flags_.push_back(flag);
    body_of(id, node);
    flags_.pop_back();
    close();
    line(fmt::format("{} = {};", first, after(count)));
    close();
  }

  /// `whole` where the step leads nearer to the limit, and one round where it leads away.
  std::string steps_nearer(const Node& node, const std::string& whole,
                           const std::string& one) const {
    if (passes::constant_step(kernel_, node)) return whole;
    const Node& step = kernel_.node(node.operands[2]);
    if (step.op == Op::Constant) return one;
    return fmt::format("{} {} 0 ? {} : {}", value(node.operands[2]),
                       ir::is_signed(step.type) ? ">" : "!=", whole, one);
  }

  void body_of(ValueId id, const Node& node) {
    for (const auto& [slot, parameters] : scan_.slots) {
      const Node& index = kernel_.node(slot);
      if (index.op == Op::ForIndex && index.operands[0] == id) pick(slot);
    }
    block(node.blocks[0]);
  }

  void while_(const Node& node) {
    loop_hint(node.unroll);
    open("while (true)");
    block(node.blocks[0]);
    line(fmt::format("if (!{}) break;", value(node.operands[0])));
    flags_.emplace_back();
    block(node.blocks[1]);
    flags_.pop_back();
    close();
  }

  void loop_hint(std::uint32_t unroll) {
    const std::string hint = dialect_.loop_hint(unroll);
    if (!hint.empty()) line(hint);
  }

  const ir::Kernel& kernel_;
  const Dialect& dialect_;
  const PrintOptions& options_;
  Scan scan_;
  std::vector<bool> lengths_;
  Names names_;
  Helpers& helpers_;
  passes::VectorAccesses vectors_;

  std::string records_;
  std::string body_;
  std::size_t depth_ = 1;
  unsigned value_count_ = 0;

  std::vector<std::pair<const ir::Element*, ElementText>> elements_;
  std::vector<std::size_t> memory_elements_;  // by memory: position in elements_
  std::vector<std::string> memories_;         // names of shared and local arrays
  std::vector<Declared> declared_;            // by parameter
  std::map<std::pair<std::uint32_t, ValueId>, Bound> picked_;
  std::map<std::pair<Op, std::uint8_t>, std::string> positions_;
  std::map<std::uint32_t, std::string> variables_;
  std::vector<MatrixText> matrices_;  // by matrix
  /// By loop around what is printed: the flag that a Break sets, empty if none.
  std::vector<std::string> flags_;
  std::vector<std::string> values_;  // by node: its name once printed
};

}  // namespace

Printed print(const ir::Kernel& kernel, const Dialect& dialect, const PrintOptions& options) {
  Helpers helpers(dialect);
  return Printer(kernel, dialect, options, helpers).run().printed;
}

PrintedWithVectors print_with_vectors(const ir::Kernel& kernel, const Dialect& dialect,
                                      const PrintOptions& options) {
  Helpers helpers(dialect);
  // Shared arrays are the device compiler's own, and it knows how they are aligned.
  const passes::VectorWishes wishes{.shared = false, .mixed = false};
  return Printer(kernel, dialect, options, helpers,
                 passes::find_vector_accesses(kernel, options.may_alias, wishes))
      .run();
}

}  // namespace salvo::codegen::c_family
