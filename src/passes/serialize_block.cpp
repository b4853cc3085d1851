// Turns a kernel into one whose single thread does the work of a whole block, for CPU devices.
// SPDX-License-Identifier: MIT
#include "passes/serialize_block.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ir/builder.hpp"
#include "passes/access.hpp"
#include "passes/clone.hpp"
#include "passes/lower_returns.hpp"

namespace salvo::passes {
namespace {

using ir::BlockId;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

class Serializer {
 public:
  explicit Serializer(const ir::Kernel& kernel)
      : from_(kernel),
        to_(kernel.name),
        cloner_(from_, to_),
        varies_(kernel.nodes.size(), false),
        independent_(!summarize(kernel).has_local_array) {}

  ir::Kernel run() {
    ir::Kernel& kernel = to_.kernel();
    kernel.parameters = from_.parameters;
    kernel.memories = from_.memories;
    kernel.no_fuse = from_.no_fuse;
    for (std::uint32_t i = 0; i < from_.parameters.size(); ++i) cloner_.parameters[i] = i;
    for (std::uint32_t i = 0; i < from_.memories.size(); ++i) cloner_.memories[i] = i;
    for (std::uint8_t axis = 0; axis < 3; ++axis) {
      block_dim_[axis] = to_.scalar_parameter(std::string("block_dim_") + "xyz"[axis], Scalar::I32);
    }
    cloner_.replace = [this](Cloner&, ValueId, const Node& node) { return position(node); };
    mark_varying(from_.body);
    peel(from_.body, {});
    return to_.finish();
  }

 private:
  /// Pure values that differ between the threads of a block.
  void mark_varying(BlockId block) {
    for (ValueId id : from_.block(block).nodes) {
      const Node& node = from_.node(id);
      const auto inputs = node.inputs();
      varies_[id] =
          node.op == Op::ThreadIdx || node.op == Op::GlobalIdx || !ir::is_pure(node.op) ||
          std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) { return varies_[v]; });
      if (node.op == Op::ThreadIdx) reads_thread_[node.axis] = true;
      if (node.op == Op::GlobalIdx) reads_global_[node.axis] = true;
      for (BlockId inner : node.blocks) mark_varying(inner);
    }
  }

  /// Copies what all threads share, then puts the rest of the block into loops. A last If or Switch
  /// that all threads take alike gets its loops inside. `pending` are pure values of enclosing
  /// blocks that each loop computes for itself.
  void peel(BlockId block, std::vector<ValueId> pending) {
    const std::vector<ValueId>& nodes = from_.block(block).nodes;
    std::size_t next = 0;
    for (; next < nodes.size() && ir::is_pure(from_.node(nodes[next]).op); ++next) {
      if (varies_[nodes[next]]) {
        pending.push_back(nodes[next]);
      } else {
        cloner_.node(nodes[next]);
      }
    }
    if (next == nodes.size()) return;  // nothing with an effect
    const Node& node = from_.node(nodes[next]);
    const bool branches = node.op == Op::If || node.op == Op::Switch;
    if (!branches || next + 1 < nodes.size() || varies_[node.operands[0]]) {
      pending.insert(pending.end(), nodes.begin() + static_cast<std::ptrdiff_t>(next), nodes.end());
      return loops(pending);
    }
    Node copy = node;
    copy.location = ir::kNone;
    copy.blocks.clear();
    copy.operands[0] = cloner_.value(node.operands[0]);
    const ValueId made = to_.append(std::move(copy));
    for (BlockId inner : node.blocks) {
      const BlockId opened = to_.open();
      peel(inner, pending);
      to_.close();
      to_.kernel().nodes[made].blocks.push_back(opened);
    }
  }

  void loops(const std::vector<ValueId>& body) {
    std::array<ValueId, 3> made{};
    for (int axis = 2; axis >= 0; --axis) made[axis] = open_loop(static_cast<std::uint8_t>(axis));
    for (std::uint8_t axis = 0; axis < 3; ++axis) enter(axis, made[axis]);
    for (ValueId id : body) cloner_.node(id);
    for (ValueId loop : made) {
      const BlockId block = to_.current();
      to_.close();
      to_.kernel().nodes[loop].blocks.push_back(block);
    }
  }

  ValueId open_loop(std::uint8_t axis) {
    Node loop;
    loop.op = Op::For;
    loop.operand_count = 3;
    loop.operands = {to_.constant_i32(0), to_.param(block_dim_[axis]), to_.constant_i32(1),
                     kNoValue};
    // Threads may run in any order, yet an array of a thread's own is one array for all of them.
    if (axis == 0 && independent_) loop.unroll = ir::kIndependent;
    const ValueId made = to_.append(std::move(loop));
    to_.open();
    return made;
  }

  /// Emits the positions along an axis, at the start of the innermost body.
  void enter(std::uint8_t axis, ValueId loop) {
    if (!reads_thread_[axis] && !reads_global_[axis]) return;
    Node counter;
    counter.op = Op::ForIndex;
    counter.operand_count = 1;
    counter.operands[0] = loop;
    thread_idx_[axis] = to_.append(std::move(counter));
    if (!reads_global_[axis]) return;
    const ValueId first =
        to_.op(Op::Mul, {to_.position(Op::BlockIdx, axis), to_.param(block_dim_[axis])});
    global_idx_[axis] = to_.op(Op::Add, {first, thread_idx_[axis]});
  }

  ValueId position(const Node& node) {
    switch (node.op) {
      case Op::ThreadIdx:
        return thread_idx_[node.axis];
      case Op::GlobalIdx:
        return global_idx_[node.axis];
      case Op::BlockDim:
        return to_.param(block_dim_[node.axis]);
      default:
        return kNoValue;
    }
  }

  const ir::Kernel& from_;
  ir::Builder to_;
  Cloner cloner_;
  std::vector<bool> varies_;
  bool independent_;
  std::array<bool, 3> reads_thread_{};  // by axis
  std::array<bool, 3> reads_global_{};
  std::array<std::uint32_t, 3> block_dim_{};
  std::array<ValueId, 3> thread_idx_{};
  std::array<ValueId, 3> global_idx_{};
};

}  // namespace

bool can_serialize_block(const ir::Kernel& kernel) {
  const bool lanes = std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [](const Node& node) {
    return node.op == Op::LaneId || node.op == Op::WarpSize;
  });
  const Summary summary = summarize(kernel);
  return !lanes && !summary.has_barrier && !summary.has_shared && !summary.has_warp_operation;
}

ir::Kernel serialize_block(const ir::Kernel& kernel) {
  return Serializer(lower_returns(kernel)).run();
}

}  // namespace salvo::passes
