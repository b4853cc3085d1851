// Prints a kernel as text, for people and for tests.
// SPDX-License-Identifier: MIT
#include "ir/print.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace salvo::ir {
namespace {

constexpr std::string_view kAxes[] = {"x", "y", "z"};
constexpr std::string_view kLayouts[] = {"row_major", "column_major"};

template <typename Float>
std::string float_text(Float value, std::uint64_t bits) {
  // Only a NaN needs its bits spelled out: all other values print so that they read back the same.
  return std::isnan(value) ? fmt::format("nan(0x{:x})", bits) : fmt::format("{}", value);
}

std::string literal_text(Scalar type, std::uint64_t bits) {
  switch (type) {
    case Scalar::Bool:
      return bits != 0 ? "true" : "false";
    case Scalar::I32:
      return fmt::format("{}", static_cast<std::int32_t>(bits));
    case Scalar::I64:
      return fmt::format("{}", static_cast<std::int64_t>(bits));
    case Scalar::F32:
      return float_text(std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits);
    case Scalar::F64:
      return float_text(std::bit_cast<double>(bits), bits);
    default:
      return fmt::format("{}", bits);
  }
}

// A printer must show malformed kernels too, so every table is looked up with care.
class Printer {
 public:
  Printer(const Kernel& kernel, bool locations)
      : kernel_(kernel),
        locations_(locations),
        memories_(unique_names(kernel.memories)),
        variables_(unique_names(kernel.variables)),
        parameters_(unique_names(kernel.parameters)),
        matrices_(unique_names(kernel.matrices)) {}

  std::string text() {
    header();
    if (kernel_.body < kernel_.blocks.size()) block(kernel_.body);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // Names that stand for one entry only: doubles, which fusion makes, carry their position.
  template <typename Item>
  static std::vector<std::string> unique_names(const std::vector<Item>& items) {
    std::unordered_map<std::string_view, std::size_t> uses;
    for (const Item& item : items) ++uses[item.name];
    std::vector<std::string> names;
    for (const Item& item : items) {
      const bool alone = uses[item.name] == 1 && !item.name.empty();
      names.push_back(alone ? item.name : fmt::format("{}#{}", item.name, names.size()));
    }
    return names;
  }
  static std::string name_in(const std::vector<std::string>& names, std::uint32_t id) {
    return id < names.size() ? names[id] : fmt::format("?{}", id);
  }
  std::string memory(MemoryId id) const { return name_in(memories_, id); }
  std::string variable(std::uint32_t id) const { return name_in(variables_, id); }
  std::string parameter(std::uint32_t id) const { return name_in(parameters_, id); }
  std::string matrix(std::uint32_t id) const { return name_in(matrices_, id); }

  void header() {
    for (std::size_t i = 0; i < kernel_.memories.size(); ++i) record(i);
    put("kernel {}(", kernel_.name);
    for (std::uint32_t i = 0; i < kernel_.parameters.size(); ++i) {
      const Parameter& p = kernel_.parameters[i];
      if (i != 0) out_ += ", ";
      if (p.is_span && p.memory < kernel_.memories.size()) {
        const Memory& span = kernel_.memories[p.memory];
        put("{}: span<{}{}>", parameter(i), span.read_only ? "const " : "", span.element.name);
      } else {
        put("{}: {}", parameter(i), name(p.type));
      }
      if (p.slots != 1) put("[{}]", p.slots);
    }
    put("){} {{\n", kernel_.no_fuse ? " no_fuse" : "");
    for (MemoryId i = 0; i < kernel_.memories.size(); ++i) {
      const Memory& m = kernel_.memories[i];
      if (m.space == Space::Global) continue;
      put("  {} {}: {}[{}]\n", m.space == Space::Shared ? "shared" : "local", memory(i),
          m.element.name, m.count == 0 ? "dynamic" : fmt::format("{}", m.count));
    }
    for (std::uint32_t i = 0; i < kernel_.variables.size(); ++i) {
      put("  var {}: {}\n", variable(i), name(kernel_.variables[i].type));
    }
    for (std::uint32_t i = 0; i < kernel_.matrices.size(); ++i) {
      const Matrix& m = kernel_.matrices[i];
      put("  matrix {}: {} {}x{} {}\n", matrix(i), name(m.type), m.rows, m.columns, name(m.use));
    }
  }

  void record(std::size_t memory) {
    const Element& element = kernel_.memories[memory].element;
    if (element.is_scalar()) return;
    for (std::size_t i = 0; i < memory; ++i) {
      if (kernel_.memories[i].element == element) return;
    }
    put("record {} size {} align {} {{", element.name, element.size, element.align);
    for (std::size_t i = 0; i < element.fields.size(); ++i) {
      const Field& field = element.fields[i];
      put("{} {}: {} @{}", i == 0 ? "" : ",", field.name, name(field.type), field.offset);
    }
    out_ += " }\n";
  }

  void block(BlockId id) {
    ++depth_;
    for (ValueId value : kernel_.blocks[id].nodes) {
      if (value < kernel_.nodes.size()) {
        node(value);
      } else {
        put("{:{}}?{}\n", "", 2 * depth_, value);
      }
    }
    --depth_;
  }

  // A nested block; at most as deep as there are blocks, or the kernel holds a block in itself.
  void nested(const Node& node, std::size_t which) {
    if (which >= node.blocks.size()) return;
    const BlockId id = node.blocks[which];
    if (id < kernel_.blocks.size() && depth_ <= kernel_.blocks.size()) {
      block(id);
    } else {
      put("{:{}}?block {}\n", "", 2 * depth_ + 2, id);
    }
  }

  void node(ValueId id) {
    const Node& node = kernel_.nodes[id];
    put("{:{}}", "", 2 * depth_);
    if (!is_statement(node.op)) {
      put("%{}: {} = ", id, name(node.type));
    } else if (node.op == Op::For) {
      put("%{} = ", id);  // named by its counter
    }
    head(node);
    if (locations_ && node.location < kernel_.locations.size()) {
      const Location& where = kernel_.locations[node.location];
      put("  ; {}:{}", where.file, where.line);
    }
    out_ += '\n';
    blocks(node);
  }

  void head(const Node& node) {
    put("{}", name(node.op));
    switch (node.op) {
      case Op::Constant:
        put(" {}", literal_text(node.type, node.literal));
        return;
      case Op::Param:
        put(" {}", parameter(node.index));
        return slot(node, 0);
      case Op::Length:
        put(" {}", memory(node.memory));
        return slot(node, 0);
      case Op::VarGet:
        put(" {}", variable(node.index));
        return;
      case Op::VarSet:
        put(" {}", variable(node.index));
        break;
      case Op::Intrinsic:
      case Op::Native:
        return user_code(node);
      case Op::MatrixFill:
        put(" {},", matrix(node.index));
        break;
      case Op::MatrixLoad:
      case Op::MatrixStore:
        return matrix_access(node);
      case Op::MatrixMultiplyAdd:
        put(" {}, {}, {}, {}", matrix(node.index), matrix(node.matrices[0]),
            matrix(node.matrices[1]), matrix(node.matrices[2]));
        return;
      case Op::MatrixCopy:
        put(" {}, {}", matrix(node.index), matrix(node.matrices[0]));
        return;
      case Op::For:
        put("{}", node.literal == 0 ? "" : " down");
        break;
      case Op::Fence:
        put(" {}", node.axis == 0 ? "block" : "device");
        return;
      default:
        break;
    }
    if (is_position(node.op) && node.op != Op::LaneId) {
      put(".{}", node.axis < 3 ? kAxes[node.axis] : "?");
    }
    if (node.op == Op::Load || node.op == Op::Store || is_atomic(node.op)) return access(node);
    operands(node, 0, node.operand_count);
    if (node.unroll != 0) put(" unroll {}", node.unroll);
  }

  // "load x{slot}[index].field", with what is stored or combined after it.
  void access(const Node& node) {
    const auto plain = static_cast<std::size_t>(operands_without_slot(node.op));
    put(" {}", memory(node.memory));
    slot(node, plain);
    put("[{}]", operand(node, 0));
    if (node.memory < kernel_.memories.size()) {
      const Element& element = kernel_.memories[node.memory].element;
      if (node.field >= element.fields.size()) {
        put(".?{}", node.field);
      } else if (!element.is_scalar()) {
        put(".{}", element.fields[node.field].name);
      }
    }
    operands(node, 1, plain);
  }

  // "matrix_load m, x{slot}[offset] row_major stride".
  void matrix_access(const Node& node) {
    put(" {}, {}", matrix(node.index), memory(node.memory));
    slot(node, static_cast<std::size_t>(operands_without_slot(node.op)));
    put("[{}] {} {}", operand(node, 0), node.axis < 2 ? kLayouts[node.axis] : "?",
        operand(node, 1));
  }

  void user_code(const Node& node) {
    if (node.index >= kernel_.user_calls.size()) return put(" ?{}", node.index);
    const UserCall& call = kernel_.user_calls[node.index];
    put(" {}", call.code->name());
    std::size_t next = 0;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const bool is_value = call.arguments[i] == kNone;
      put("{} {}", i == 0 ? "" : ",", is_value ? operand(node, next++) : memory(call.arguments[i]));
    }
  }

  void slot(const Node& node, std::size_t position) {
    if (node.operand_count > position) put("{{{}}}", operand(node, position));
  }

  void operands(const Node& node, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      put("{} {}", i == first ? "" : ",", operand(node, i));
  }

  static std::string operand(const Node& node, std::size_t position) {
    const bool known = position < node.operands.size() && node.operands[position] != kNoValue;
    return known ? fmt::format("%{}", node.operands[position]) : "%?";
  }

  void label(std::string_view text) { put("{:{}}{}:\n", "", 2 * depth_, text); }

  void blocks(const Node& node) {
    switch (node.op) {
      case Op::If: {
        nested(node, 0);
        const bool has_else =
            node.blocks.size() > 1 && (node.blocks[1] >= kernel_.blocks.size() ||
                                       !kernel_.blocks[node.blocks[1]].nodes.empty());
        if (has_else) {
          label("else");
          nested(node, 1);
        }
        return;
      }
      case Op::While:
        nested(node, 0);
        label("do");
        nested(node, 1);
        return;
      case Op::Switch:
        for (std::size_t i = 0; i < node.blocks.size(); ++i) {
          label(i < node.cases.size() ? fmt::format("case {}", node.cases[i]) : "default");
          nested(node, i);
        }
        return;
      default:
        for (std::size_t i = 0; i < node.blocks.size(); ++i) nested(node, i);
    }
  }

  const Kernel& kernel_;
  const bool locations_;
  const std::vector<std::string> memories_, variables_, parameters_, matrices_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string print(const Kernel& kernel, bool locations) {
  return Printer(kernel, locations).text();
}

}  // namespace salvo::ir
