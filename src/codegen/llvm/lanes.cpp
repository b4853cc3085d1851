// Control flow as vectors of threads go through it: branches for all, masks where they part.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "codegen/llvm/function.hpp"

namespace salvo::codegen::llvm {

using ir::BlockId;
using ir::kNone;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

namespace {

/// A branch with up to this many nodes has a second copy without masks, for when all take it.
constexpr std::uint32_t kMostSplit = 300;
/// A branch with up to this many operations is computed by all rather than jumped over.
constexpr std::size_t kMostBranchFree = 8;

}  // namespace

// Masks.

Text Function::bits(const Text& mask) {
  return w_.let("bitcast {} {} to {}", w_.mask_type(), mask, w_.bits_type());
}

Text Function::any(const Text& mask) {
  return w_.let("icmp ne {} {}, 0", w_.bits_type(), bits(mask));
}

Text Function::all(const Text& mask) {
  return w_.let("icmp eq {} {}, -1", w_.bits_type(), bits(mask));
}

Mask Function::both(const Mask& mask, const Text& condition) {
  if (mask.full()) return {condition};
  return {w_.let("and {} {}, {}", w_.mask_type(), mask.text, condition)};
}

Mask Function::without(const Mask& mask, const Text& condition) {
  return both(mask, w_.let("xor {} {}, {}", w_.mask_type(), condition, w_.all_lanes()));
}

/// Takes the threads of `mask` out of a set of threads.
void Function::leave(const Text& variable, const Mask& mask) {
  const Text rest = mask.full() ? Text("zeroinitializer")
                                : without({w_.get(w_.mask_type(), variable)}, mask.text).text;
  w_.set(w_.mask_type(), rest, variable);
}

/// Adds the threads of `mask` to a set of threads.
void Function::join(const Text& variable, const Mask& mask) {
  Text sum = w_.all_lanes();
  if (!mask.full()) {
    sum = w_.let("or {} {}, {}", w_.mask_type(), w_.get(w_.mask_type(), variable), mask.text);
  }
  w_.set(w_.mask_type(), sum, variable);
}

void Function::branch_if_any(const Mask& mask, const std::function<void()>& body) {
  const Text some = w_.label(), end = w_.label();
  w_.branch(any(mask.text), some, end);
  w_.place(some);
  body();
  w_.branch(end);
  w_.place(end);
}

// Blocks.

void Function::lane_block(BlockId block, const Mask& mask) {
  scope_masks_[block] = mask.text;
  lane_nodes(kernel_.block(block).nodes, mask);
}

void Function::lane_nodes(std::span<const ValueId> nodes, Mask mask) {
  Text end;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ValueId id = nodes[i];
    const Node& node = kernel_.node(id);
    if (ir::is_leaf(node.op)) continue;
    locate(node);
    lane_node(id, mask);
    if (plan_.spilled(id)) store_spilled(id);
    // Whoever was active has left: what follows in this block is never reached.
    if (node.op == Op::Break || node.op == Op::Continue || node.op == Op::Return) break;
    if (node.blocks.empty() || i + 1 == nodes.size() || !shapes_.loses_threads(id)) continue;
    const Text& gone = loops_.empty() ? returned_ : loops_.back().skip;
    mask = without(mask, w_.get(w_.mask_type(), gone));
    if (end.empty()) end = w_.label();
    const Text rest = w_.label();
    w_.branch(any(mask.text), rest, end);
    w_.place(rest);
  }
  if (!end.empty()) w_.place(end);
}

void Function::lane_node(ValueId id, const Mask& mask) {
  const Node& node = kernel_.node(id);
  if (ir::is_pure(node.op)) return pure(id);
  if (ir::is_atomic(node.op)) return atomic(id, mask);
  if (ir::is_warp(node.op)) return warp(id, mask);
  switch (node.op) {
    case Op::Load:
      return load(id, mask);
    case Op::Store:
      return store(node, mask);
    case Op::VarGet:
      // One of a whole block was read ahead of the region.
      if (plan_.storage(node.index) == Storage::Once) return;
      values_[id] =
          w_.get(w_.type(node.type, variables_[node.index].lanes), variables_[node.index].slot);
      return;
    case Op::VarSet:
      return set_variable(node, mask);
    case Op::If:
      return lane_if(node, mask);
    case Op::Switch:
      return lane_switch(node, mask);
    case Op::For:
    case Op::While:
      return lane_loop(id, mask);
    case Op::Fence:
      w_.put("{}", fence(node));
      return;
    default:
      return lane_jump(node, mask);
  }
}

void Function::set_variable(const Node& node, const Mask& mask) {
  const Variable& variable = variables_[node.index];
  const Scalar type = kernel_.variables[node.index].type;
  const Text t = w_.type(type, variable.lanes);
  if (variable.lanes == 1) return w_.set(t, number(node.operands[0]), variable.slot);
  const Text value = vector(node.operands[0]);
  // Threads that are not active where the variable's life begins never look at it.
  const BlockId scope = shapes_.scope(node.index);
  const bool region_wide = scope == kNone || plan_.open(scope);
  const Text& seen_by = region_wide ? region_mask_.text : scope_masks_[scope];
  if (mask.full() || mask.text == seen_by) return w_.set(t, value, variable.slot);
  const Text old = w_.get(t, variable.slot);
  w_.set(t, arithmetic_.select(type, mask.text, value, old, lanes_), variable.slot);
}

// Branches.

bool Function::branch_free(BlockId block) const {
  const auto& nodes = kernel_.block(block).nodes;
  std::size_t count = 0;
  return std::all_of(nodes.begin(), nodes.end(), [&](ValueId id) {
    const Node& node = kernel_.node(id);
    if (ir::is_leaf(node.op)) return true;
    const bool slow = (node.op == Op::Div || node.op == Op::Rem || node.op == Op::Sqrt);
    const bool plain = ir::is_pure(node.op) && !slow;
    // One number for all threads must not change while there may be none of them.
    const bool variable = (node.op == Op::VarGet || node.op == Op::VarSet) &&
                          (node.op == Op::VarGet || variables_[node.index].lanes > 1);
    return (plain || variable) && ++count <= kMostBranchFree;
  });
}

void Function::lane_if(const Node& node, const Mask& mask) {
  const auto& then = kernel_.block(node.blocks[0]).nodes;
  const auto& otherwise = kernel_.block(node.blocks[1]).nodes;
  if (shapes_[node.operands[0]].uniform()) {
    const Text yes = w_.label(), no = w_.label(), end = w_.label();
    w_.branch(number(node.operands[0]), yes, otherwise.empty() ? end : no);
    w_.place(yes);
    lane_block(node.blocks[0], mask);
    w_.branch(end);
    if (!otherwise.empty()) {
      w_.place(no);
      lane_block(node.blocks[1], mask);
    }
    w_.place(end);
    return;
  }
  const Text condition = vector(node.operands[0]);
  if (!then.empty()) {
    const Mask taken = both(mask, condition);
    const bool whole = mask.full() || mask.text == region_mask_.text;
    if (branch_free(node.blocks[0])) {
      lane_block(node.blocks[0], taken);
    } else if (whole && !split_ && plan_.tree().block_size(node.blocks[0]) <= kMostSplit) {
      const Text every = w_.label(), not_every = w_.label(), end = w_.label();
      split_ = true;
      w_.branch(all(taken.text), every, not_every);
      w_.place(every);
      lane_block(node.blocks[0], {});
      w_.branch(end);
      w_.place(not_every);
      branch_if_any(taken, [&] { lane_block(node.blocks[0], taken); });
      w_.place(end);
      split_ = false;
    } else {
      branch_if_any(taken, [&] { lane_block(node.blocks[0], taken); });
    }
  }
  if (otherwise.empty()) return;
  const Mask left = without(mask, condition);
  if (branch_free(node.blocks[1])) {
    lane_block(node.blocks[1], left);
  } else {
    branch_if_any(left, [&] { lane_block(node.blocks[1], left); });
  }
}

void Function::lane_switch(const Node& node, const Mask& mask) {
  const ValueId value = node.operands[0];
  const Scalar type = type_of(value);
  const std::string_view t = Writer::scalar(type);
  if (shapes_[value].uniform()) {
    std::vector<Text> labels;
    Text cases;
    for (std::size_t i = 0; i < node.blocks.size(); ++i) labels.push_back(w_.label());
    for (std::size_t i = 0; i < node.cases.size(); ++i) {
      cases += fmt::format(" {} {}, label %{}", t, node.cases[i], labels[i]);
    }
    const Text end = w_.label();
    w_.end("switch {} {}, label %{} [{} ]", t, number(value), labels.back(), cases);
    for (std::size_t i = 0; i < node.blocks.size(); ++i) {
      w_.place(labels[i]);
      lane_block(node.blocks[i], mask);
      w_.branch(end);
    }
    w_.place(end);
    return;
  }
  const Text values = vector(value);
  Mask left = mask;
  for (std::size_t i = 0; i < node.blocks.size(); ++i) {
    Mask taken = left;
    if (i < node.cases.size()) {
      const Text wanted = w_.constant(type, static_cast<std::uint64_t>(node.cases[i]), lanes_);
      const Text equal = w_.let("icmp eq {} {}, {}", w_.type(type, lanes_), values, wanted);
      taken = both(left, equal);
      left = without(left, equal);
    } else if (node.cases.empty()) {
      lane_block(node.blocks[i], mask);
      return;
    }
    if (kernel_.block(node.blocks[i]).nodes.empty()) continue;
    branch_if_any(taken, [&] { lane_block(node.blocks[i], taken); });
  }
}

void Function::lane_jump(const Node& node, const Mask& mask) {
  if (node.op == Op::Return) {
    join(returned_, mask);
    for (const Loop& loop : loops_) {
      leave(loop.live, mask);
      join(loop.skip, mask);
    }
    return;
  }
  const Loop& loop = loops_.back();
  if (loop.uniform) return w_.branch(node.op == Op::Break ? loop.end : loop.next);
  if (node.op == Op::Break) leave(loop.live, mask);
  join(loop.skip, mask);
}

// Loops.

void Function::lane_loop(ValueId id, const Mask& mask) {
  return shapes_.uniform_loop(id) ? uniform_loop(id, mask) : parting_loop(id, mask);
}

/// Jump back to the head, with what the author wishes about unrolling.
Text Function::back_edge(const Node& loop) {
  if (loop.unroll == 0 || loop.unroll == ir::kIndependent) return "";
  const unsigned wish =
      loop.unroll == 1
          ? debug_.add("!{!\"llvm.loop.unroll.disable\"}")
          : debug_.add(fmt::format("!{{!\"llvm.loop.unroll.count\", i32 {}}}", loop.unroll));
  return fmt::format(", !llvm.loop !{}", debug_.add_distinct(fmt::format(", !{}", wish)));
}

/// All threads that enter turn, break and continue alike: the mask stays what it is.
void Function::uniform_loop(ValueId id, const Mask& mask) {
  const Node& node = kernel_.node(id);
  const Text head = w_.label(), body = w_.label(), next = w_.label(), end = w_.label();
  loops_.push_back({id, true, next, end, {}, {}});
  if (node.op == Op::While) {
    w_.place(head);
    lane_nodes(kernel_.block(node.blocks[0]).nodes, mask);
    w_.branch(number(node.operands[0]), body, end);
    w_.place(body);
    lane_block(node.blocks[1], mask);
    w_.place(next);
  } else {
    const Scalar type = type_of(node.operands[0]);
    const std::string_view t = Writer::scalar(type);
    const bool down = node.literal != 0;
    const Text counter = w_.variable(t);
    const Text limit = number(node.operands[1]);
    const Text step = number(node.operands[2]);
    w_.set(t, number(node.operands[0]), counter);
    w_.place(head);
    const Text now = w_.get(t, counter);
    values_[id] = now;
    w_.branch(w_.let("icmp {}{} {} {}, {}", ir::is_signed(type) ? "s" : "u", down ? "gt" : "lt", t,
                     now, limit),
              body, end);
    w_.place(body);
    lane_block(node.blocks[0], mask);
    w_.place(next);
    w_.set(t, w_.let("{} {} {}, {}", down ? "sub" : "add", t, now, step), counter);
  }
  w_.end("br label %{}{}", head, back_edge(node));
  w_.place(end);
  loops_.pop_back();
}

Shape Function::loop_shape(const Node& loop) const {
  const Shape& first = shapes_[loop.operands[0]];
  return shapes_[loop.operands[2]].uniform() ? first : Shape{Shape::Kind::Lanes, 0, false};
}

/// Threads leave one by one: the loop goes on while any is in it.
void Function::parting_loop(ValueId id, const Mask& mask) {
  const Node& node = kernel_.node(id);
  const Text m = w_.mask_type();
  Loop loop{id, false, w_.label(), w_.label(), w_.variable(m), w_.variable(m)};
  w_.set(m, mask_text(mask), loop.live);
  const Text head = w_.label(), body = w_.label();
  const auto enter = [&](const Text& live, const Text& condition) {
    Mask active = both({live}, condition);
    w_.set(m, active.text, loop.live);
    w_.branch(any(active.text), body, loop.end);
    w_.place(body);
    w_.set(m, "zeroinitializer", loop.skip);
    return active;
  };
  if (node.op == Op::While) {
    const Text test = w_.label();
    w_.place(head);
    const Text live = w_.get(m, loop.live);
    w_.branch(any(live), test, loop.end);
    w_.place(test);
    lane_nodes(kernel_.block(node.blocks[0]).nodes, {live});
    const Mask active = enter(live, vector(node.operands[0]));
    loops_.push_back(loop);
    lane_block(node.blocks[1], active);
    w_.place(loop.next);
  } else {
    const Scalar type = type_of(node.operands[0]);
    const Shape shape = loop_shape(node);
    const unsigned n = shape.lanes() ? lanes_ : 1;
    const Text t = w_.type(type, n);
    const bool down = node.literal != 0;
    const auto own = [&](ValueId value) { return n == 1 ? number(value) : vector(value); };
    const Text counter = w_.variable(t);
    const Text limit = vector(node.operands[1]);
    const Text step = own(node.operands[2]);
    w_.set(t, own(node.operands[0]), counter);
    w_.place(head);
    const Text now = w_.get(t, counter);
    values_[id] = now;
    const Text all_now = shape.lanes()     ? now
                         : shape.uniform() ? w_.broadcast(Writer::scalar(type), now)
                                           : spread(type, now, shape.stride);
    const Text inside = w_.let("icmp {}{} {} {}, {}", ir::is_signed(type) ? "s" : "u",
                               down ? "gt" : "lt", w_.type(type, lanes_), all_now, limit);
    const Mask active = enter(w_.get(m, loop.live), inside);
    loops_.push_back(loop);
    lane_block(node.blocks[0], active);
    w_.place(loop.next);
    w_.set(t, w_.let("{} {} {}, {}", down ? "sub" : "add", t, now, step), counter);
  }
  w_.end("br label %{}{}", head, back_edge(node));
  w_.place(loop.end);
  loops_.pop_back();
}

}  // namespace salvo::codegen::llvm
