// Where a kernel stores to some of its memories, and what decides whether and where a thread does.
// SPDX-License-Identifier: MIT
#include "fusion/store_sites.hpp"

#include <algorithm>
#include <set>

namespace salvo::fusion {
namespace {

using ir::BlockId;
using ir::Node;
using ir::Op;
using ir::ValueId;

/// Whether a block leaves the loop it is the body of before its end.
bool jumps(const ir::Kernel& kernel, BlockId block) {
  return std::ranges::any_of(kernel.block(block).nodes, [&](ValueId id) {
    const Node& node = kernel.node(id);
    if (node.op == Op::Break || node.op == Op::Continue || node.op == Op::Return) return true;
    const bool loop = node.op == Op::For || node.op == Op::While;
    // A break in an inner loop is that loop's; a return is everybody's, and callers have none.
    return !loop && std::ranges::any_of(node.blocks, [&](BlockId b) { return jumps(kernel, b); });
  });
}

class Finder {
 public:
  Finder(const ir::Kernel& kernel, const std::vector<bool>& memories)
      : kernel_(kernel), memories_(memories), known_(launch_values(kernel)) {}

  std::vector<StoreSite> run() {
    block(kernel_.body, true);
    return std::move(sites_);
  }

 private:
  void block(BlockId id, bool exact) {
    for (ValueId node : kernel_.block(id).nodes) visit(node, exact);
  }

  void visit(ValueId id, bool exact) {
    const Node& node = kernel_.node(id);
    if (node.op == Op::Store && memories_[node.memory]) {
      sites_.push_back({id, path_, exact, known_[node.operands[0]]});
      return;
    }
    if (node.op == Op::If) {
      const bool known = known_[node.operands[0]];
      for (std::size_t arm = 0; arm < 2; ++arm) {
        if (known) path_.push_back({PathStep::Kind::condition, node.operands[0], arm == 0});
        block(node.blocks[arm], exact && known);
        if (known) path_.pop_back();
      }
      return;
    }
    if (node.op == Op::For) {
      const bool known =
          std::ranges::all_of(node.inputs(), [&](ValueId bound) { return known_[bound]; });
      if (known) path_.push_back({PathStep::Kind::loop, id, true});
      block(node.blocks[0], exact && known && !jumps(kernel_, node.blocks[0]));
      if (known) path_.pop_back();
      return;
    }
    for (BlockId inner : node.blocks) block(inner, false);
  }

  const ir::Kernel& kernel_;
  const std::vector<bool>& memories_;
  const std::vector<bool> known_;
  std::vector<PathStep> path_;
  std::vector<StoreSite> sites_;
};

/// Fills `known` in program order, which is that of dependence.
void find_known(const ir::Kernel& kernel, BlockId block, std::vector<bool>& known) {
  for (ValueId id : kernel.block(block).nodes) {
    const Node& node = kernel.node(id);
    const auto all_known = [&](const Node& of) {
      return std::ranges::all_of(of.inputs(), [&](ValueId operand) { return known[operand]; });
    };
    switch (node.op) {
      case Op::LaneId:
      case Op::WarpSize:
      case Op::Clz:       // nobody indexes by these two, and the host evaluator
      case Op::Popcount:  // need not know them
        break;
      case Op::Param:
      case Op::Length:
        known[id] = !ir::is_float(node.type) && kernel.slot_of(node) == ir::kNoValue;
        break;
      case Op::ForIndex:
        known[id] = all_known(kernel.node(node.operands[0]));
        break;
      default:
        known[id] = ir::is_pure(node.op) && !ir::is_float(node.type) && all_known(node);
    }
    for (BlockId inner : node.blocks) find_known(kernel, inner, known);
  }
}

class ParameterReader {
 public:
  explicit ParameterReader(const ir::Kernel& kernel)
      : kernel_(kernel), seen_(kernel.nodes.size(), false) {}

  void read(ValueId id) {
    if (seen_[id]) return;
    seen_[id] = true;
    const Node& node = kernel_.node(id);
    if (node.op == Op::Param) parameters.insert(node.index);
    if (node.op == Op::Length) parameters.insert(kernel_.memories[node.memory].parameter);
    for (ValueId operand : node.inputs()) read(operand);  // of a ForIndex: its loop's bounds
  }

  std::set<std::uint32_t> parameters;

 private:
  const ir::Kernel& kernel_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<bool> launch_values(const ir::Kernel& kernel) {
  std::vector<bool> known(kernel.nodes.size(), false);
  find_known(kernel, kernel.body, known);
  return known;
}

bool is_global_id(const ir::Kernel& kernel, ValueId id) {
  const Node& node = kernel.node(id);
  if (node.op == Op::GlobalIdx) return node.axis == 0;
  const bool holds =
      node.type == ir::Scalar::I64 || node.type == ir::Scalar::U32 || node.type == ir::Scalar::U64;
  return node.op == Op::Cast && holds && is_global_id(kernel, node.operands[0]);
}

std::vector<StoreSite> find_store_sites(const ir::Kernel& kernel,
                                        const std::vector<bool>& memories) {
  return Finder(kernel, memories).run();
}

std::vector<std::uint32_t> parameters_read(const ir::Kernel& kernel,
                                           const std::vector<StoreSite>& sites) {
  ParameterReader reader(kernel);
  for (const StoreSite& site : sites) {
    for (const PathStep& step : site.path) reader.read(step.value);
    if (site.known_index) reader.read(kernel.node(site.store).operands[0]);
  }
  return {reader.parameters.begin(), reader.parameters.end()};
}

}  // namespace salvo::fusion
