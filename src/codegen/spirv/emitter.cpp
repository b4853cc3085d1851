// Turns a kernel into a SPIR-V module, instruction by instruction.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/emitter.hpp"

#include <glslang/SPIRV/disassemble.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "codegen/matrices.hpp"
#include "codegen/spirv/arithmetic.hpp"
#include "codegen/spirv/math.hpp"
#include "codegen/spirv/matrices.hpp"
#include "codegen/spirv/memory.hpp"
#include "codegen/spirv/module.hpp"
#include "codegen/spirv/parameters.hpp"
#include "codegen/spirv/warp.hpp"
#include "passes/access.hpp"
#include "passes/counters.hpp"
#include "passes/expand_math.hpp"
#include "passes/expand_math_plain.hpp"
#include "passes/simplify.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::ValueId;

class Emitter {
 public:
  Emitter(const ir::Kernel& kernel, const Options& options)
      : kernel_(kernel),
        summary_(passes::summarize(kernel)),
        m_(kernel, options, summary_.uses_lanes),
        layout_(lay_out(kernel, options.push_constant_bytes, options.push_constant_room)),
        parameters_(open_entry(m_, layout_)),
        memories_(m_, summary_.has_barrier || summary_.has_fence || summary_.has_atomic,
                  parameters_->dynamic_shared(),
                  [this](const Node& node, unsigned bits, Id offset) {
                    return element(node, bits, offset);
                  }),
        warp_(m_),
        matrices_(m_),
        values_(kernel.nodes.size()) {}

  Emitted run() {
    for (const ir::Variable& variable : kernel_.variables) {
      variables_.push_back(m_.createVariable(spv::NoPrecision, spv::StorageClassFunction,
                                             m_.type(variable.type), variable.name.c_str()));
    }
    matrices_.declare();
    declare_positions();
    find_slots();
    for (std::uint32_t i = 0; i < kernel_.parameters.size(); ++i) fetch(i, ir::kNoValue);
    for (const auto& [slot, parameters] : slots_) {
      const Op op = kernel_.node(slot).op;
      if (ir::is_leaf(op) && op != Op::ForIndex) fetch_at(slot);
    }
    block(kernel_.body);
    return {m_.finish(), layout_};
  }

 private:
  /// What a parameter, or one slot of it, holds.
  struct Fetched {
    Id base = 0;    // span: of Parameters; scalar: value
    Id length = 0;  // span
  };

  struct Loop {
    spv::Block& merge;
    spv::Block& next;
    Id left;  // variable that a break sets, if the loop is inside one of its own; or 0
  };

  // Positions.

  void declare_positions() {
    if (!m_.is_kernel()) declare_block_size();
    for (const ir::Block& block : kernel_.blocks) {
      for (const ValueId id : block.nodes) need_position(kernel_.node(id));
    }
    for (auto& [key, id] : positions_) id = position(key.first, key.second);
  }

  void declare_block_size() {
    const Id size[] = {m_.specialised(kBlockX, 1), m_.specialised(kBlockY, 1),
                       m_.specialised(kBlockZ, 1)};
    const Id vector = m_.makeVectorType(m_.integer(32), 3);
    block_size_ = m_.makeCompositeConstant(vector, {size[0], size[1], size[2]}, true);
    m_.addDecoration(block_size_, spv::DecorationBuiltIn, spv::BuiltInWorkgroupSize);
  }

  void need_position(const Node& node) {
    if (ir::is_position(node.op) || node.op == Op::WarpSize) positions_[{node.op, node.axis}] = 0;
    for (const ValueId operand : node.inputs()) {
      const Node& leaf = kernel_.node(operand);
      if (ir::is_position(leaf.op) || leaf.op == Op::WarpSize) {
        positions_[{leaf.op, leaf.axis}] = 0;
      }
    }
  }

  Id built_in3(spv::BuiltIn which, const char* name, std::uint32_t axis) {
    Id& variable = built_ins_[which];
    if (variable == 0) variable = m_.built_in3(which, name);
    if (m_.is_kernel()) {
      const Id wide = component(m_.createLoad(variable, spv::NoPrecision), 64, axis);
      return m_.emit(spv::OpUConvert, Scalar::U32, {wide});
    }
    return m_.createLoad(
        m_.part_of(spv::StorageClassInput, variable, m_.integer(32), {m_.u32(axis)}),
        spv::NoPrecision);
  }

  Id component(Id vector, unsigned bits, std::uint32_t axis) {
    return m_.createOp(spv::OpCompositeExtract, m_.integer(bits),
                       std::vector<spv::IdImmediate>{{true, vector}, {false, axis}});
  }

  Id block_dim(std::uint32_t axis) {
    if (m_.is_kernel()) return built_in3(spv::BuiltInWorkgroupSize, "block_dim", axis);
    return component(block_size_, 32, axis);
  }

  Id position(Op op, std::uint8_t axis) {
    switch (op) {
      case Op::ThreadIdx:
        return built_in3(spv::BuiltInLocalInvocationId, "thread_idx", axis);
      case Op::BlockIdx:
        return built_in3(spv::BuiltInWorkgroupId, "block_idx", axis);
      case Op::BlockDim:
        return block_dim(axis);
      case Op::GridDim:
        return built_in3(spv::BuiltInNumWorkgroups, "grid_dim", axis);
      case Op::GlobalIdx: {
        const Id start =
            m_.emit(spv::OpIMul, Scalar::U32,
                    {built_in3(spv::BuiltInWorkgroupId, "block_idx", axis), block_dim(axis)});
        return m_.emit(spv::OpIAdd, Scalar::U32,
                       {start, built_in3(spv::BuiltInLocalInvocationId, "thread_idx", axis)});
      }
      case Op::LaneId:
        return warp_.lane();
      default:
        return warp_.size();
    }
  }

  // Arguments.

  /// Slots, with the parameters that are touched at them.
  void find_slots() {
    for (const ir::Block& block : kernel_.blocks) {
      for (const ValueId id : block.nodes) {
        need_slot(kernel_.node(id));
        for (const ValueId operand : kernel_.node(id).inputs()) need_slot(kernel_.node(operand));
      }
    }
  }

  std::uint32_t parameter_of(const Node& node) const {
    return node.op == Op::Param ? node.index : kernel_.memories[node.memory].parameter;
  }

  void need_slot(const Node& node) {
    const ValueId slot = kernel_.slot_of(node);
    if (slot == ir::kNoValue) return;
    const std::uint32_t parameter = parameter_of(node);
    if (kernel_.parameters[parameter].slots == 1) return;
    slots_[slot].insert(parameter);
  }

  /// Reads what a parameter holds at `slot` once for all its uses.
  void fetch(std::uint32_t parameter, ValueId slot) {
    const Id at = slot == ir::kNoValue ? 0 : value(slot);
    Fetched& fetched = fetched_[{parameter, slot}];
    if (kernel_.parameters[parameter].is_span) {
      fetched.base = parameters_->base(parameter, at);
      fetched.length = parameters_->length(parameter, at);
    } else {
      fetched.base = parameters_->scalar(parameter, at);
    }
  }

  void fetch_at(ValueId slot) {
    const auto found = slots_.find(slot);
    if (found == slots_.end()) return;
    for (const std::uint32_t parameter : found->second) fetch(parameter, slot);
  }

  const Fetched& fetched(const Node& node) {
    const std::uint32_t parameter = parameter_of(node);
    const ValueId slot = kernel_.slot_of(node);
    if (slot == ir::kNoValue || kernel_.parameters[parameter].slots == 1) {
      return fetched_.at({parameter, ir::kNoValue});
    }
    return fetched_.at({parameter, slot});
  }

  Id element(const Node& node, unsigned bits, Id offset) {
    const std::uint32_t parameter = parameter_of(node);
    const ValueId slot = kernel_.slot_of(node);
    const bool first = slot == ir::kNoValue || kernel_.parameters[parameter].slots == 1;
    const Id at = first ? 0 : value(slot);
    const Id base = fetched(node).base;
    return ir::is_matrix(node.op) ? parameters_->array_element(parameter, at, base, bits, offset)
                                  : parameters_->element(parameter, at, base, bits, offset);
  }

  // Values.

  Id value(ValueId id) {
    const Node& node = kernel_.node(id);
    switch (node.op) {
      case Op::Constant:
        return m_.constant(node.type, node.literal);
      case Op::Param:
        return fetched(node).base;
      case Op::Length:
        return fetched(node).length;
      case Op::ForIndex:
        return values_[node.operands[0]];
      default:
        break;
    }
    return ir::is_leaf(node.op) ? positions_.at({node.op, node.axis}) : values_[id];
  }

  std::vector<Id> operands(const Node& node) {
    std::vector<Id> ids;
    for (const ValueId operand : node.inputs()) ids.push_back(value(operand));
    return ids;
  }

  void define(ValueId id, Id result) {
    values_[id] = result;
    fetch_at(id);
  }

  // Statements.

  void block(BlockId id) {
    for (const ValueId node : kernel_.block(id).nodes) {
      if (m_.here().isTerminated()) return;  // nothing runs after a break, continue or return
      statement(node);
    }
  }

  void statement(ValueId id) {
    const Node& node = kernel_.node(id);
    if (ir::is_leaf(node.op)) return;
    if (ir::is_pure(node.op)) return define(id, pure(m_, node, operands(node)));
    if (ir::is_warp(node.op)) return define(id, warp_.emit(node, operands(node)));
    if (ir::is_atomic(node.op)) {
      std::vector<Id> in = operands(node);
      in.resize(static_cast<std::size_t>(ir::operands_without_slot(node.op)));
      return define(id, memories_.atomic(node, in[0], std::span(in).subspan(1)));
    }
    if (ir::is_matrix(node.op)) return matrix(node);
    if (ir::is_user_code(node.op)) return define(id, user_code(m_, node, operands(node)));
    switch (node.op) {
      case Op::Load:
        return define(id, memories_.load(node, value(node.operands[0])));
      case Op::Store:
        return memories_.store(node, value(node.operands[0]), value(node.operands[1]));
      case Op::VarGet:
        return define(id, m_.createLoad(variables_[node.index], spv::NoPrecision));
      case Op::VarSet:
        return m_.createStore(value(node.operands[0]), variables_[node.index]);
      case Op::If:
        return if_(node);
      case Op::For:
        return for_(id, node);
      case Op::While:
        return while_(node);
      case Op::Switch:
        return switch_(node);
      case Op::Break:
        if (loops_.back().left != 0)
          m_.createStore(m_.constant(Scalar::Bool, 1), loops_.back().left);
        return m_.branch(loops_.back().merge);
      case Op::Continue:
        return m_.branch(loops_.back().next);
      case Op::Return:
        return m_.end();
      case Op::Barrier:
        return m_.createControlBarrier(spv::ScopeWorkgroup, spv::ScopeWorkgroup, m_.words().orders);
      default:
        return m_.createMemoryBarrier(node.axis == 1 ? m_.words().device : spv::ScopeWorkgroup,
                                      m_.words().orders);
    }
  }

  void matrix(const Node& node) {
    switch (node.op) {
      case Op::MatrixFill:
        return matrices_.fill(node, value(node.operands[0]));
      case Op::MatrixLoad:
      case Op::MatrixStore:
        return matrices_.access(node, memories_.matrix(node, value(node.operands[0])),
                                value(node.operands[1]));
      case Op::MatrixMultiplyAdd:
        return matrices_.multiply_add(node);
      default:
        return matrices_.copy(node);
    }
  }

  void if_(const Node& node) {
    const bool has_else = node.blocks.size() > 1 && !kernel_.block(node.blocks[1]).nodes.empty();
    selection(
        value(node.operands[0]), [&] { block(node.blocks[0]); },
        has_else ? std::function<void()>([&] { block(node.blocks[1]); }) : nullptr);
  }

  void selection(Id condition, const std::function<void()>& yes, const std::function<void()>& no) {
    spv::Block& then = m_.new_block();
    spv::Block* otherwise = no ? &m_.new_block() : nullptr;
    spv::Block& merge = m_.new_block();
    m_.begin_selection(merge);
    m_.branch_if(condition, then, otherwise ? *otherwise : merge);
    m_.enter(then);
    yes();
    m_.branch(merge);
    if (otherwise) {
      m_.enter(*otherwise);
      no();
      m_.branch(merge);
    }
    m_.enter(merge);
  }

  /// A chain of ifs and not a switch: Break and Continue inside belong to the loop around it.
  void switch_(const Node& node, std::size_t first = 0) {
    if (first == node.cases.size()) return block(node.blocks.back());
    const Scalar type = kernel_.node(node.operands[0]).type;
    const Id label = m_.constant(type, static_cast<std::uint64_t>(node.cases[first]));
    const Id taken = m_.emit(spv::OpIEqual, Scalar::Bool, {value(node.operands[0]), label});
    selection(
        taken, [&] { block(node.blocks[first]); }, [&] { switch_(node, first + 1); });
  }

  static unsigned loop_control(const Node& node) {
    if (node.unroll == 0 || node.unroll == ir::kIndependent) return spv::LoopControlMaskNone;
    return node.unroll == 1 ? spv::LoopControlDontUnrollMask : spv::LoopControlUnrollMask;
  }

  /// `test` leaves its condition; `body` and `step` run in blocks of their own.
  void loop(unsigned control, const std::function<Id()>& test, const std::function<void()>& body,
            const std::function<void()>& step, Id left = 0) {
    spv::Block& header = m_.new_block();
    spv::Block& check = m_.new_block();
    spv::Block& inside = m_.new_block();
    spv::Block& next = m_.new_block();
    spv::Block& merge = m_.new_block();
    m_.branch(header);
    m_.enter(header);
    m_.begin_loop(merge, next, control);
    m_.branch(check);
    m_.enter(check);
    const Id goes_on = test();
    m_.branch_if(goes_on, inside, merge);
    m_.enter(inside);
    loops_.push_back({merge, next, left});
    body();
    loops_.pop_back();
    m_.branch(next);
    m_.enter(next);
    step();
    m_.branch(header);
    m_.enter(merge);
  }

  Id variable(Scalar type, const char* name) {
    return m_.createVariable(spv::NoPrecision, spv::StorageClassFunction, m_.type(type), name);
  }

  Id load(Id variable) { return m_.createLoad(variable, spv::NoPrecision); }

  /// How a For counts.
  struct Counting {
    Scalar type;
    Id limit;
    Id step;
    spv::Op compare;  // true while rounds are left
    spv::Op move;     // to the next round
  };

  void for_(ValueId id, const Node& node) {
    const Scalar type = kernel_.node(node.operands[0]).type;
    const bool is_signed = ir::is_signed(type);
    const bool down = node.literal == 1;
    const Counting counting{type, value(node.operands[1]), value(node.operands[2]),
                            down ? (is_signed ? spv::OpSGreaterThan : spv::OpUGreaterThan)
                                 : (is_signed ? spv::OpSLessThan : spv::OpULessThan),
                            down ? spv::OpISub : spv::OpIAdd};
    const Id counter = variable(type, "i");
    m_.createStore(value(node.operands[0]), counter);
    if (passes::counter_may_wrap(kernel_, node)) return rounds(id, node, counting, counter);
    loop(
        loop_control(node),
        [&] {
          values_[id] = load(counter);
          return m_.emit(counting.compare, Scalar::Bool, {values_[id], counting.limit});
        },
        [&] { body_of(id, node); },
        [&] {
          m_.createStore(m_.emit(counting.move, type, {values_[id], counting.step}), counter);
        });
  }

  /// Drivers take for granted that the counter of a loop does not wrap. Rounds are therefore
  /// counted beforehand, as far as the limit; where the step after the last of them wraps, the loop
  /// around goes on from there.
  void rounds(ValueId id, const Node& node, const Counting& counting, Id first) {
    const Scalar type = counting.type;
    const Id left = variable(Scalar::Bool, "left");
    m_.createStore(m_.constant(Scalar::Bool, 0), left);
    Id start = 0;
    Id count = 0;
    const auto after = [&](Id round) {
      return m_.emit(counting.move, type,
                     {start, m_.emit(spv::OpIMul, type, {round, counting.step})});
    };
    loop(
        spv::LoopControlMaskNone,
        [&] {
          start = load(first);
          return m_.emit(spv::OpLogicalAnd, Scalar::Bool,
                         {m_.emit(counting.compare, Scalar::Bool, {start, counting.limit}),
                          m_.emit(spv::OpLogicalNot, Scalar::Bool, {load(left)})});
        },
        [&] {
          count = rounds_left(node, counting, start);
          const Id round = variable(type, "round");
          m_.createStore(m_.constant(type, 0), round);
          Id turn = 0;
          loop(
              loop_control(node),
              [&] {
                turn = load(round);
                return m_.emit(spv::OpULessThan, Scalar::Bool, {turn, count});
              },
              [&] {
                values_[id] = after(turn);
                body_of(id, node);
              },
              [&] {
                m_.createStore(m_.emit(spv::OpIAdd, type, {turn, m_.constant(type, 1)}), round);
              },
              left);
        },
        [&] { m_.createStore(after(count), first); });
  }

  /// Rounds from `start`, which is short of the limit, until it is reached: one if the step leads
  /// away from it.
  Id rounds_left(const Node& node, const Counting& counting, Id start) {
    const Scalar type = counting.type;
    const Id one = m_.constant(type, 1);
    const Id distance = node.literal == 1 ? m_.emit(spv::OpISub, type, {start, counting.limit})
                                          : m_.emit(spv::OpISub, type, {counting.limit, start});
    const auto rounds = [&](Id step) {
      const Id steps =
          m_.emit(spv::OpUDiv, type, {m_.emit(spv::OpISub, type, {distance, one}), step});
      return m_.emit(spv::OpIAdd, type, {steps, one});
    };
    if (passes::constant_step(kernel_, node)) return rounds(counting.step);
    const Id nearer = m_.emit(ir::is_signed(type) ? spv::OpSGreaterThan : spv::OpUGreaterThan,
                              Scalar::Bool, {counting.step, m_.constant(type, 0)});
    return m_.select(type, nearer, rounds(m_.select(type, nearer, counting.step, one)), one);
  }

  void body_of(ValueId id, const Node& node) {
    for (const auto& [slot, parameters] : slots_) {
      const Node& index = kernel_.node(slot);
      if (index.op == Op::ForIndex && index.operands[0] == id) fetch_at(slot);
    }
    block(node.blocks[0]);
  }

  void while_(const Node& node) {
    loop(
        loop_control(node),
        [&] {
          block(node.blocks[0]);
          return value(node.operands[0]);
        },
        [&] { block(node.blocks[1]); }, [] {});
  }

  const ir::Kernel& kernel_;
  const passes::Summary summary_;
  Module m_;
  const Layout layout_;
  std::unique_ptr<Parameters> parameters_;
  Memories memories_;
  Warp warp_;
  Matrices matrices_;

  Id block_size_ = 0;
  std::map<spv::BuiltIn, Id> built_ins_;
  std::map<std::pair<Op, std::uint8_t>, Id> positions_;
  std::map<ValueId, std::set<std::uint32_t>> slots_;
  std::map<std::pair<std::uint32_t, ValueId>, Fetched> fetched_;
  std::vector<Id> variables_;
  std::vector<Id> values_;  // by node, once emitted
  std::vector<Loop> loops_;
};

}  // namespace

namespace {

/// A function that expand_math_plain leaves, and a shader's library does not have.
bool is_function_of_f64(const Node& node) {
  return node.type == Scalar::F64 && ir::is_math(node.op) &&
         extended_instruction(Flavour::shader, node.op) < 0;
}

}  // namespace

Emitted emit(const ir::Kernel& kernel, const Options& options) {
  if (options.flavour == Flavour::kernel) refuse_matrices(kernel, "LevelZero");
  // A kernel has the functions in its library.
  if (options.flavour == Flavour::kernel) return Emitter(kernel, options).run();
  const auto any = [](const ir::Kernel& in, const auto& wanted) {
    return std::ranges::any_of(in.nodes, wanted);
  };
  if (!any(kernel, [&](const Node& node) {
        return passes::expands(kernel, node) || is_function_of_f64(node);
      })) {
    return Emitter(kernel, options).run();
  }
  ir::Kernel expanded = passes::expand_math_plain(kernel);
  if (any(expanded, is_function_of_f64)) {
    expanded = passes::simplify(passes::expand_math(expanded));
  }
  return Emitter(expanded, options).run();
}

std::string disassemble(const std::vector<std::uint32_t>& words) {
  std::ostringstream text;
  spv::Disassemble(text, words);
  return text.str();
}

}  // namespace salvo::codegen::spirv
