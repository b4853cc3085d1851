// Checks that a kernel is well formed: types, dominance, structure.
// SPDX-License-Identifier: MIT
#include "ir/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "ir/matrices.hpp"
#include "ir/signature.hpp"

namespace salvo::ir {
namespace {

bool is_compute(Scalar type) {
  return compute_type(type) == type;
}
bool is_number(Scalar type) {
  return type != Scalar::Bool;
}

// Widths of literals: bits beyond the type would make equal constants hash apart.
bool fits(Scalar type, std::uint64_t bits) {
  if (type == Scalar::Bool) return bits <= 1;
  return size_of(type) == 8 || bits >> (8 * size_of(type)) == 0;
}

bool case_fits(Scalar type, std::int64_t value) {
  if (type == Scalar::I32) return std::in_range<std::int32_t>(value);
  if (type == Scalar::U32) return std::in_range<std::uint32_t>(value);
  return true;
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<std::string> run() {
    tables();
    if (kernel_.body >= kernel_.blocks.size()) {
      problem("has no body");
      return std::move(problems_);
    }
    visible_.assign(kernel_.nodes.size(), false);
    listed_.assign(kernel_.nodes.size(), false);
    owned_.assign(kernel_.blocks.size(), false);
    walk(kernel_.body);
    leave(0);
    // What a malformed node holds was not looked at, so it would be reported as lost.
    if (!problems_.empty()) return std::move(problems_);
    for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
      if (!listed_[id]) problem(id, "is in no block");
    }
    for (BlockId id = 0; id < kernel_.blocks.size(); ++id) {
      if (!owned_[id]) problem("block {} belongs to no node", id);
    }
    ValueId conflict = kNoValue;
    if (problems_.empty()) matrix_layouts(kernel_, &conflict);
    if (conflict != kNoValue) {
      problem(conflict, "of '{}', which is loaded in the other layout too",
              kernel_.matrices[kernel_.nodes[conflict].index].name);
    }
    return std::move(problems_);
  }

 private:
  // What encloses the current node, innermost last.
  struct Enclosing {
    ValueId loop;
    bool condition;  // of a While
  };

  template <typename... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename... Args>
  void problem(ValueId id, fmt::format_string<Args...> format, Args&&... args) {
    const Node& node = kernel_.nodes[id];
    std::string where;
    if (node.location < kernel_.locations.size()) {
      const Location& location = kernel_.locations[node.location];
      where = fmt::format(" ({}:{})", location.file, location.line);
    }
    problem("%{} {} {}{}", id, name(node.op), fmt::format(format, std::forward<Args>(args)...),
            where);
  }

  void tables() {
    for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const Parameter& p = kernel_.parameters[i];
      if (p.slots == 0) problem("parameter '{}' has no slot", p.name);
      if (!p.is_span) continue;
      if (p.memory >= kernel_.memories.size() || kernel_.memories[p.memory].parameter != i) {
        problem("span parameter '{}' and its memory do not refer to each other", p.name);
      }
    }
    std::size_t dynamic = 0;
    for (const Memory& m : kernel_.memories) {
      if (m.space == Space::Global) {
        const bool linked =
            m.parameter < kernel_.parameters.size() && kernel_.parameters[m.parameter].is_span;
        if (!linked) problem("memory '{}' belongs to no span parameter", m.name);
      } else {
        if (m.parameter != kNone) problem("array '{}' names a parameter", m.name);
        if (m.read_only) problem("array '{}' is read-only: nothing could fill it", m.name);
      }
      if (m.space == Space::Local && m.count == 0) {
        problem("local array '{}' has no elements", m.name);
      }
      if (m.space == Space::Shared && m.count == 0 && ++dynamic == 2) {
        problem("'{}' is a second dynamic shared array", m.name);
      }
      element(m);
    }
    for (const Variable& v : kernel_.variables) {
      if (!is_compute(v.type)) problem("variable '{}' is {}", v.name, name(v.type));
    }
    for (const Matrix& m : kernel_.matrices) {
      const bool half = m.type == Scalar::F16;
      const bool input = half || m.type == Scalar::BF16;
      const bool accumulator = half || m.type == Scalar::F32;
      if (m.use == MatrixUse::accumulator ? !accumulator : !input) {
        problem("matrix '{}', of use {}, is {}", m.name, name(m.use), name(m.type));
      }
      if (m.rows == 0 || m.columns == 0) problem("matrix '{}' is empty", m.name);
    }
  }

  void element(const Memory& memory) {
    const Element& e = memory.element;
    if (e.fields.empty() || e.size == 0) {
      problem("elements of '{}' are empty", memory.name);
      return;
    }
    if (!std::has_single_bit(e.align) || e.size % std::max(e.align, 1U) != 0) {
      problem("elements of '{}' have size {} and alignment {}", memory.name, e.size, e.align);
    }
    for (const Field& field : e.fields) {
      const std::size_t bytes = size_of(field.type);
      if (field.offset % bytes != 0 || field.offset + bytes > e.size) {
        problem("field '{}' of '{}' lies at {} in {} bytes", field.name, memory.name, field.offset,
                e.size);
      }
    }
  }

  void walk(BlockId id) {
    if (id >= kernel_.blocks.size()) return;
    if (owned_[id]) {
      problem("block {} belongs to two nodes, or to one in itself", id);
      return;
    }
    owned_[id] = true;
    for (ValueId node_id : kernel_.blocks[id].nodes) {
      if (node_id >= kernel_.nodes.size()) {
        problem("block {} lists %{}, which does not exist", id, node_id);
        continue;
      }
      if (listed_[node_id]) {
        problem(node_id, "is listed twice");
        continue;
      }
      listed_[node_id] = true;
      node(node_id);
      if (!is_statement(kernel_.nodes[node_id].op)) {
        visible_[node_id] = true;
        scope_.push_back(node_id);
      }
    }
  }

  // Values of a block end with it.
  void leave(std::size_t depth) {
    while (scope_.size() > depth) {
      visible_[scope_.back()] = false;
      scope_.pop_back();
    }
  }

  void nested(BlockId block) {
    const std::size_t depth = scope_.size();
    walk(block);
    leave(depth);
  }

  void node(ValueId id) {
    const Node& node = kernel_.nodes[id];
    current_ = id;
    if (node.operand_count > node.operands.size()) {
      problem(id, "has {} operands", node.operand_count);
      return;
    }
    if (!is_statement(node.op) && !is_compute(node.type)) {
      problem(id, "computes a {}, which is for storage only", name(node.type));
    }
    // The condition of a While becomes visible inside it, and a ForIndex names a statement.
    if (node.op != Op::While && node.op != Op::ForIndex) {
      for (std::size_t i = 0; i < node.operand_count; ++i) {
        if (!defined(node, i)) return;
      }
    }
    if (const Signature s = signature(node.op); s.operands >= 0) return uniform_types(node, s);
    special(node);
  }

  bool defined(const Node& node, std::size_t i) {
    const ValueId operand = node.operands[i];
    if (operand < kernel_.nodes.size() && visible_[operand]) return true;
    problem(current_,
            "uses %{} (operand {}), which is not defined there: a value ends with the branch, loop "
            "body or kernel that it is made in",
            operand == kNoValue ? "?" : fmt::format("{}", operand), i);
    return false;
  }

  Scalar type_of(const Node& node, std::size_t operand) const {
    return kernel_.nodes[node.operands[operand]].type;
  }

  bool count(const Node& node, std::size_t expected) {
    if (node.operand_count == expected) return true;
    problem(current_, "has {} operands instead of {}", node.operand_count, expected);
    return false;
  }

  void expect(const Node& node, std::size_t operand, Scalar type) {
    const Scalar actual = type_of(node, operand);
    if (actual == type) return;
    problem(current_, "operand {} is {} instead of {}", operand, name(actual), name(type));
  }

  void expect(const Node& node, std::size_t operand, TypeClass allowed, std::string_view words) {
    const Scalar actual = type_of(node, operand);
    if (!allowed(actual)) {
      problem(current_, "operand {} is {} instead of {}", operand, name(actual), words);
    }
  }

  void expect_integer(const Node& node, std::size_t operand) {
    expect(node, operand, is_integer, "an integer");
  }

  void expect_result(const Node& node, Scalar type) {
    if (node.type == type) return;
    problem(current_, "has result type {} instead of {}", name(node.type), name(type));
  }

  void uniform_types(const Node& node, const Signature& s) {
    if (!count(node, static_cast<std::size_t>(s.operands))) return;
    expect(node, 0, s.allowed, s.allowed_words);
    const Scalar type = type_of(node, 0);
    for (std::size_t i = 1; i < node.operand_count; ++i) expect(node, i, type);
    expect_result(node, s.bool_result ? Scalar::Bool : type);
  }

  void special(const Node& node) {
    if (is_position(node.op) || node.op == Op::WarpSize) return position(node);
    if (is_atomic(node.op)) return atomic(node);
    switch (node.op) {
      case Op::Constant:
        if (count(node, 0) && !fits(node.type, node.literal)) {
          problem(current_, "literal 0x{:x} does not fit {}", node.literal, name(node.type));
        }
        return;
      case Op::Param:
        return param(node);
      case Op::Length:
        if (!memory(node) || !slot(node)) return;
        if (kernel_.memories[node.memory].space != Space::Global) {
          problem(current_, "of '{}', which is no span", kernel_.memories[node.memory].name);
        }
        return expect_result(node, Scalar::I64);
      case Op::Shl:
      case Op::Shr:
      case Op::ShrLogical:
        if (!count(node, 2)) return;
        expect_integer(node, 0);
        expect_integer(node, 1);
        return expect_result(node, type_of(node, 0));
      case Op::Select:
        if (!count(node, 3)) return;
        expect(node, 0, Scalar::Bool);
        expect(node, 2, type_of(node, 1));
        return expect_result(node, type_of(node, 1));
      case Op::Cast:
        count(node, 1);
        return;
      case Op::Bitcast:
        if (count(node, 1) && size_of(type_of(node, 0)) != size_of(node.type)) {
          problem(current_, "from {} to {} changes the width", name(type_of(node, 0)),
                  name(node.type));
        }
        return;
      case Op::Load:
        if (!access(node)) return;
        return expect_result(node, compute_type(kernel_.field_of(node).type));
      case Op::Store:
        if (!access(node)) return;
        writable(node);
        return expect(node, 1, compute_type(kernel_.field_of(node).type));
      case Op::VarGet:
        if (!count(node, 0) || !variable(node)) return;
        return expect_result(node, kernel_.variables[node.index].type);
      case Op::VarSet:
        if (!count(node, 1) || !variable(node)) return;
        return expect(node, 0, kernel_.variables[node.index].type);
      case Op::Barrier:
        count(node, 0);
        return;
      case Op::Fence:
        if (count(node, 0) && node.axis > 1) problem(current_, "has unknown scope {}", node.axis);
        return;
      case Op::Shuffle:
      case Op::ShuffleUp:
      case Op::ShuffleDown:
      case Op::ShuffleXor:
        if (!count(node, 2)) return;
        expect(node, 0, is_number, "a number");
        expect_integer(node, 1);
        return expect_result(node, type_of(node, 0));
      case Op::Intrinsic:
      case Op::Native:
        return user_code(node);
      case Op::MatrixFill:
        if (!count(node, 1) || !matrix(node.index)) return;
        return expect(node, 0, compute_type(kernel_.matrices[node.index].type));
      case Op::MatrixLoad:
      case Op::MatrixStore:
        return matrix_access(node);
      case Op::MatrixMultiplyAdd:
        return multiply_add(node);
      case Op::MatrixCopy:
        if (!count(node, 0) || !matrix(node.index) || !matrix(node.matrices[0])) return;
        if (!alike(kernel_.matrices[node.index], kernel_.matrices[node.matrices[0]])) {
          problem(current_, "of '{}', which is another type of matrix",
                  kernel_.matrices[node.matrices[0]].name);
        }
        return;
      case Op::Ballot:
        if (!count(node, 1)) return;
        expect(node, 0, Scalar::Bool);
        return expect_result(node, Scalar::U64);
      default:
        return control(node);
    }
  }

  void user_code(const Node& node) {
    if (node.index >= kernel_.user_calls.size()) {
      problem(current_, "names user call {} of {}", node.index, kernel_.user_calls.size());
      return;
    }
    const UserCall& call = kernel_.user_calls[node.index];
    std::size_t values = 0;
    for (MemoryId memory : call.arguments) {
      if (memory == kNone) {
        ++values;
      } else if (node.op == Op::Intrinsic) {
        problem(current_, "of '{}' takes memory, and only values may be", call.code->name());
      } else if (memory >= kernel_.memories.size() ||
                 kernel_.memories[memory].space != Space::Global) {
        problem(current_, "of '{}' takes memory that is no span", call.code->name());
      }
    }
    count(node, values);
  }

  void position(const Node& node) {
    count(node, 0);
    if (node.axis > 2) problem(current_, "has no axis {}", node.axis);
    expect_result(node, Scalar::I32);
  }

  void param(const Node& node) {
    if (node.index >= kernel_.parameters.size()) {
      problem(current_, "names parameter {} of {}", node.index, kernel_.parameters.size());
      return;
    }
    const Parameter& p = kernel_.parameters[node.index];
    if (p.is_span) {
      problem(current_, "reads the span '{}' as a scalar", p.name);
      return;
    }
    if (slot(node, p)) expect_result(node, compute_type(p.type));
  }

  bool variable(const Node& node) {
    if (node.index < kernel_.variables.size()) return true;
    problem(current_, "names variable {} of {}", node.index, kernel_.variables.size());
    return false;
  }

  bool memory(const Node& node) {
    if (node.memory < kernel_.memories.size()) return true;
    problem(current_, "names memory {} of {}", node.memory, kernel_.memories.size());
    return false;
  }

  // An argument table needs a slot; anything else has none to choose.
  bool slot(const Node& node, const Parameter& parameter) {
    const auto plain = static_cast<std::size_t>(operands_without_slot(node.op));
    if (!count(node, plain + (parameter.slots > 1 ? 1 : 0))) return false;
    if (parameter.slots > 1) expect_integer(node, plain);
    return true;
  }

  bool slot(const Node& node) {
    const Memory& m = kernel_.memories[node.memory];
    if (m.parameter < kernel_.parameters.size()) {
      return slot(node, kernel_.parameters[m.parameter]);
    }
    return count(node, static_cast<std::size_t>(operands_without_slot(node.op)));
  }

  // Memory, field, index and slot of a Load, Store or atomic.
  bool access(const Node& node) {
    if (!memory(node) || !slot(node)) return false;
    expect_integer(node, 0);
    const Memory& m = kernel_.memories[node.memory];
    if (node.field < m.element.fields.size()) return true;
    problem(current_, "names field {} of '{}', which has {}", node.field, m.name,
            m.element.fields.size());
    return false;
  }

  void writable(const Node& node) {
    const Memory& m = kernel_.memories[node.memory];
    if (m.read_only) problem(current_, "writes '{}', which is read-only", m.name);
  }

  bool matrix(std::uint32_t id) {
    if (id < kernel_.matrices.size()) return true;
    problem(current_, "names matrix {} of {}", id, kernel_.matrices.size());
    return false;
  }

  static bool alike(const Matrix& a, const Matrix& b) {
    return a.type == b.type && a.rows == b.rows && a.columns == b.columns && a.use == b.use;
  }

  void matrix_access(const Node& node) {
    if (!matrix(node.index) || !access(node)) return;
    expect_integer(node, 1);
    if (node.op == Op::MatrixStore) {
      writable(node);
      const Matrix& stored = kernel_.matrices[node.index];
      if (stored.use != MatrixUse::accumulator) {
        problem(current_, "of '{}', which is no accumulator", stored.name);
      }
    }
    if (node.axis > 1) problem(current_, "has unknown layout {}", node.axis);
    const Memory& m = kernel_.memories[node.memory];
    if (m.space == Space::Local) problem(current_, "on local array '{}'", m.name);
    if (m.space == Space::Shared && m.count == 0) {
      problem(current_, "on dynamic shared array '{}', whose alignment is not known", m.name);
    }
    const Scalar type = kernel_.matrices[node.index].type;
    if (!m.element.is_scalar() || m.element.fields[0].type != type) {
      problem(current_, "moves {} and '{}' holds {}", name(type), m.name, m.element.name);
    }
  }

  void multiply_add(const Node& node) {
    if (!count(node, 0) || !matrix(node.index)) return;
    for (std::uint32_t id : node.matrices) {
      if (!matrix(id)) return;
    }
    const Matrix& a = kernel_.matrices[node.matrices[0]];
    const Matrix& b = kernel_.matrices[node.matrices[1]];
    const Matrix& c = kernel_.matrices[node.matrices[2]];
    if (a.use != MatrixUse::a || b.use != MatrixUse::b || c.use != MatrixUse::accumulator) {
      problem(current_, "takes matrices of use {}, {} and {} instead of a, b and accumulator",
              name(a.use), name(b.use), name(c.use));
    }
    if (!alike(kernel_.matrices[node.index], c)) {
      problem(current_, "adds to '{}' and its result is another type of matrix", c.name);
    }
    if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows) {
      problem(current_, "of {}x{} by {}x{} does not give {}x{}", a.rows, a.columns, b.rows,
              b.columns, c.rows, c.columns);
    }
    if (a.type != b.type) {
      problem(current_, "multiplies {} by {}", name(a.type), name(b.type));
    } else if (a.type == Scalar::BF16 && c.type != Scalar::F32) {
      problem(current_, "of bf16 adds to {} instead of f32", name(c.type));
    }
  }

  void atomic(const Node& node) {
    if (!access(node)) return;
    writable(node);
    const Memory& m = kernel_.memories[node.memory];
    if (m.space == Space::Local) problem(current_, "on local array '{}'", m.name);
    const Scalar type = kernel_.field_of(node).type;
    const bool allowed = (is_integer(type) && size_of(type) >= 4) ||
                         (node.op == Op::AtomicAdd && is_float(type) && is_compute(type));
    if (!allowed) problem(current_, "cannot work on {}", name(type));
    const int plain = operands_without_slot(node.op);
    for (int i = 1; i < plain; ++i) expect(node, static_cast<std::size_t>(i), compute_type(type));
    expect_result(node, compute_type(type));
  }

  void control(const Node& node) {
    switch (node.op) {
      case Op::If:
        if (!count(node, 1)) return;
        expect(node, 0, Scalar::Bool);
        if (!block_count(node, 2)) return;
        nested(node.blocks[0]);
        nested(node.blocks[1]);
        return;
      case Op::For:
        return for_loop(node);
      case Op::ForIndex:
        return for_index(node);
      case Op::While:
        return while_loop(node);
      case Op::Switch:
        return choice(node);
      case Op::Break:
      case Op::Continue:
      case Op::Return:
        return jump(node);
      default:
        problem(current_, "is no known operation");
    }
  }

  bool block_count(const Node& node, std::size_t expected) {
    if (node.blocks.size() != expected) {
      problem(current_, "has {} blocks instead of {}", node.blocks.size(), expected);
      return false;
    }
    for (BlockId block : node.blocks) {
      if (block < kernel_.blocks.size()) continue;
      problem(current_, "owns block {}, which does not exist", block);
      return false;
    }
    return true;
  }

  void for_loop(const Node& node) {
    if (!count(node, 3)) return;
    expect_integer(node, 0);
    expect(node, 1, type_of(node, 0));
    expect(node, 2, type_of(node, 0));
    if (node.literal > 1) problem(current_, "has unknown direction {}", node.literal);
    if (!block_count(node, 1)) return;
    enclosing_.push_back({current_, false});
    nested(node.blocks[0]);
    enclosing_.pop_back();
  }

  void for_index(const Node& node) {
    if (!count(node, 1)) return;
    const ValueId loop = node.operands[0];
    const bool inside = std::any_of(enclosing_.begin(), enclosing_.end(),
                                    [&](const Enclosing& e) { return e.loop == loop; });
    if (!inside || kernel_.nodes[loop].op != Op::For) {
      problem(current_, "is not inside the for loop it names");
      return;
    }
    expect_result(node, type_of(kernel_.nodes[loop], 0));
  }

  void while_loop(const Node& node) {
    const ValueId id = current_;
    if (!count(node, 1) || !block_count(node, 2)) return;
    const std::size_t depth = scope_.size();
    enclosing_.push_back({id, true});
    walk(node.blocks[0]);
    current_ = id;
    if (defined(node, 0)) expect(node, 0, Scalar::Bool);
    leave(depth);
    enclosing_.back().condition = false;
    nested(node.blocks[1]);
    enclosing_.pop_back();
  }

  void choice(const Node& node) {
    if (!count(node, 1)) return;
    expect_integer(node, 0);
    for (std::size_t i = 0; i < node.cases.size(); ++i) {
      const std::int64_t value = node.cases[i];
      if (!case_fits(type_of(node, 0), value)) {
        problem(current_, "case {} does not fit {}", value, name(type_of(node, 0)));
      }
      const auto here = node.cases.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(node.cases.begin(), here, value) != here) {
        problem(current_, "has case {} twice", value);
      }
    }
    if (!block_count(node, node.cases.size() + 1)) return;
    for (BlockId block : node.blocks) nested(block);
  }

  void jump(const Node& node) {
    count(node, 0);
    if (node.op != Op::Return && enclosing_.empty()) problem(current_, "is outside any loop");
    // The body would be skipped with the condition half computed: no target says that well.
    const bool in_condition = node.op == Op::Return
                                  ? std::any_of(enclosing_.begin(), enclosing_.end(),
                                                [](const Enclosing& e) { return e.condition; })
                                  : !enclosing_.empty() && enclosing_.back().condition;
    if (in_condition) problem(current_, "is inside the condition of a while loop");
  }

  const Kernel& kernel_;
  std::vector<std::string> problems_;
  std::vector<bool> visible_;   // values that the current node may use
  std::vector<ValueId> scope_;  // the same, in order of definition
  std::vector<bool> listed_;    // nodes seen in a block
  std::vector<bool> owned_;     // blocks seen
  std::vector<Enclosing> enclosing_;
  ValueId current_ = kNoValue;
};

}  // namespace

std::vector<std::string> verify(const Kernel& kernel) {
  return Verifier(kernel).run();
}

}  // namespace salvo::ir
