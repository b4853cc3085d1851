// How a value differs between the threads of a vector: not at all, by a fixed step, or freely.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/shapes.hpp"

#include <algorithm>

namespace salvo::codegen::llvm {

using ir::BlockId;
using ir::kNone;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::ValueId;
using Kind = Shape::Kind;

namespace {

constexpr Shape kUniform{};
constexpr Shape kLanes{Kind::Lanes, 0, false};

Shape strided(std::int64_t stride, bool exact = false) {
  return stride == 0 ? kUniform : Shape{Kind::Strided, stride, exact};
}

std::int64_t signed_literal(const Node& constant) {
  return ir::size_of(constant.type) == 4
             ? static_cast<std::int32_t>(static_cast<std::uint32_t>(constant.literal))
             : static_cast<std::int64_t>(constant.literal);
}

/// Strides beyond this are of no use and could overflow when they are combined.
Shape bounded(Shape shape) {
  constexpr std::int64_t kMost = 1 << 20;
  return shape.stride > kMost || shape.stride < -kMost ? kLanes : shape;
}

}  // namespace

Shapes::Shapes(const ir::Kernel& kernel, const Plan& plan)
    : kernel_(kernel),
      plan_(plan),
      shapes_(kernel.nodes.size()),
      lanes_variable_(kernel.variables.size(), false),
      uniform_loop_(kernel.nodes.size(), false),
      scope_(kernel.variables.size(), kNone) {
  find_scopes();
  for (std::uint32_t v = 0; v < kernel.variables.size(); ++v) {
    const Storage storage = plan.storage(v);
    lanes_variable_[v] =
        storage == Storage::Spilled || (storage == Storage::Region && scope_[v] == kNone);
  }
  do {
    walk(kernel.body);
  } while (demote_variables());
}

void Shapes::find_scopes() {
  std::vector<ValueId> first(kernel_.variables.size(), kNoValue);
  const Tree& tree = plan_.tree();
  const std::function<void(BlockId)> visit = [&](BlockId block) {
    for (ValueId id : kernel_.block(block).nodes) {
      const Node& node = kernel_.node(id);
      if (node.op == Op::VarGet || node.op == Op::VarSet) {
        if (first[node.index] == kNoValue) {
          first[node.index] = id;
          scope_[node.index] = block;
        } else {
          scope_[node.index] = tree.common(scope_[node.index], block);
        }
      }
      for (BlockId nested : node.blocks) visit(nested);
    }
  };
  visit(kernel_.body);
  for (std::uint32_t v = 0; v < scope_.size(); ++v) {
    const ValueId id = first[v];
    if (id == kNoValue) continue;
    const bool set_first = kernel_.node(id).op == Op::VarSet && tree.block_of(id) == scope_[v];
    if (!set_first || plan_.storage(v) != Storage::Region) scope_[v] = kNone;
  }
}

void Shapes::walk(BlockId block) {
  for (ValueId id : kernel_.block(block).nodes) {
    const Node& node = kernel_.node(id);
    shapes_[id] = compute(id);
    for (BlockId nested : node.blocks) walk(nested);
    if (node.op == Op::For || node.op == Op::While) {
      const auto inputs = node.inputs();
      uniform_loop_[id] = std::all_of(inputs.begin(), inputs.end(),
                                      [&](ValueId v) { return shapes_[v].uniform(); }) &&
                          jumps_alike(id);
    }
  }
}

Shape Shapes::compute(ValueId id) const {
  const Node& node = kernel_.node(id);
  if (plan_.once(id)) return kUniform;
  const auto operand = [&](std::size_t i) -> const Shape& { return shapes_[node.operands[i]]; };
  switch (node.op) {
    case Op::ThreadIdx:
    case Op::GlobalIdx:
      return node.axis == 0 ? strided(1, true) : kUniform;
    case Op::LaneId:
      return strided(1, true);
    case Op::ForIndex: {
      const Node& loop = kernel_.node(node.operands[0]);
      const Shape& first = shapes_[loop.operands[0]];
      if (!shapes_[loop.operands[2]].uniform()) return kLanes;
      return first.uniform() || first.lanes() ? first : strided(first.stride);
    }
    case Op::VarGet:
      return lanes_variable_[node.index] ? kLanes : kUniform;
    case Op::Load: {
      const bool local = kernel_.memories[node.memory].space == ir::Space::Local;
      const auto inputs = node.inputs();
      const bool same = std::all_of(inputs.begin(), inputs.end(),
                                    [&](ValueId v) { return shapes_[v].uniform(); });
      return !local && same ? kUniform : kLanes;
    }
    case Op::Any:
    case Op::All:
    case Op::Ballot:
    case Op::WarpAdd:
    case Op::WarpMin:
    case Op::WarpMax:
      return kUniform;
    case Op::Cast:
    case Op::Bitcast:
      return operand(0).uniform() ? kUniform : bounded(cast(node));
    default:
      if (ir::is_atomic(node.op) || ir::is_warp(node.op)) return kLanes;
      if (!ir::is_pure(node.op)) return kUniform;  // statements
      return bounded(arithmetic(node));
  }
}

Shape Shapes::arithmetic(const Node& node) const {
  const auto inputs = node.inputs();
  if (std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return shapes_[v].uniform(); })) {
    return kUniform;
  }
  if (!ir::is_integer(node.type)) return kLanes;
  for (std::size_t i = node.op == Op::Select ? 1 : 0; i < inputs.size(); ++i) {
    if (shapes_[inputs[i]].lanes()) return kLanes;
  }
  const Shape& a = shapes_[inputs[0]];
  const auto constant = [&](std::size_t i) {
    return kernel_.node(inputs[i]).op == Op::Constant ? &kernel_.node(inputs[i]) : nullptr;
  };
  switch (node.op) {
    case Op::Add:
      return strided(a.stride + shapes_[inputs[1]].stride);
    case Op::Sub:
      return strided(a.stride - shapes_[inputs[1]].stride);
    case Op::Neg:
      return strided(-a.stride);
    case Op::Mul:
      for (std::size_t i : {0, 1}) {
        const Node* factor = constant(i);
        if (factor == nullptr) continue;
        const std::int64_t by = signed_literal(*factor);
        if (by < -(1 << 20) || by > 1 << 20) return kLanes;
        return strided(shapes_[inputs[1 - i]].stride * by);
      }
      return kLanes;
    case Op::Shl: {
      const Node* count = constant(1);
      if (count == nullptr || count->literal > 20) return kLanes;
      return strided(a.stride << count->literal);
    }
    case Op::Select: {
      const std::int64_t yes = shapes_[inputs[1]].stride;
      return a.uniform() && yes == shapes_[inputs[2]].stride ? strided(yes) : kLanes;
    }
    default:
      return kLanes;
  }
}

Shape Shapes::cast(const Node& node) const {
  const Shape& from = shapes_[node.operands[0]];
  const ir::Scalar type = kernel_.node(node.operands[0]).type;
  if (from.lanes() || !ir::is_integer(type) || !ir::is_integer(node.type)) return kLanes;
  if (ir::size_of(node.type) <= ir::size_of(type)) return strided(from.stride, from.exact);
  return from.exact ? strided(from.stride, true) : kLanes;
}

/// Whether every jump out of a loop is taken by all threads in it or by none.
bool Shapes::jumps_alike(ValueId loop) const {
  const Tree& tree = plan_.tree();
  bool same = true;
  tree.each(loop, [&](ValueId id) {
    const Op op = kernel_.node(id).op;
    if (op == Op::Return) same = false;
    if ((op != Op::Break && op != Op::Continue) || tree.loop_of(id) != loop) return;
    for (ValueId at = tree.owner_of(tree.block_of(id)); at != loop;
         at = tree.owner_of(tree.block_of(at))) {
      same = same && shapes_[kernel_.node(at).operands[0]].uniform();
    }
  });
  return same;
}

bool Shapes::loses_threads(ValueId control) const {
  const Tree& tree = plan_.tree();
  bool lost = false;
  tree.each(control, [&](ValueId id) {
    const Op op = kernel_.node(id).op;
    if (op == Op::Return) lost = true;
    if (op != Op::Break && op != Op::Continue) return;
    const ValueId loop = tree.loop_of(id);
    // A jump within the control node itself leaves nothing but its own loop.
    bool inside = false;
    tree.each(control, [&](ValueId other) { inside = inside || other == loop; });
    if (!inside && !uniform_loop_[loop]) lost = true;
  });
  return lost;
}

/// Whether all threads that reach a control node do the same in it.
bool Shapes::alike(ValueId control) const {
  const Op op = kernel_.node(control).op;
  return op == Op::For || op == Op::While ? uniform_loop_[control]
                                          : shapes_[kernel_.node(control).operands[0]].uniform();
}

/// A variable is one number only if every assignment is, and all threads of its scope make it.
bool Shapes::demote_variables() {
  const Tree& tree = plan_.tree();
  bool changed = false;
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    const Node& node = kernel_.nodes[id];
    if (node.op != Op::VarSet || lanes_variable_[node.index]) continue;
    if (plan_.storage(node.index) == Storage::Once) continue;
    bool same = shapes_[node.operands[0]].uniform();
    for (BlockId at = tree.block_of(id); same && at != scope_[node.index];) {
      const ValueId owner = tree.owner_of(at);
      same = alike(owner);
      at = tree.block_of(owner);
    }
    if (same) continue;
    lanes_variable_[node.index] = true;
    changed = true;
  }
  return changed;
}

}  // namespace salvo::codegen::llvm
