// Moves what follows a return into the branch that did not take it, or behind a flag.
// SPDX-License-Identifier: MIT
#include "passes/lower_returns.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/clone.hpp"

namespace salvo::passes {
namespace {

using ir::BlockId;
using ir::kNone;
using ir::Op;
using ir::ValueId;
using NodeList = std::vector<ValueId>;

bool is_loop(Op op) {
  return op == Op::For || op == Op::While;
}

// Where a list of nodes stands: whether a return must leave a loop, and which variable, if any,
// tells the code after the enclosing nodes that it was taken.
struct Context {
  std::uint32_t flag = kNone;
  bool in_loop = false;
};

class Lowering {
 public:
  explicit Lowering(const ir::Kernel& from) : from_(from), to_(from) {}

  ir::Kernel run() {
    set(from_.body, sequence(from_.block(from_.body).nodes, {}));
    // The returns and what follows them in their block are listed no more: the copy leaves them
    // out.
    return copy(to_);
  }

 private:
  bool holds_return(const ir::Node& node) const {
    return node.op == Op::Return ||
           std::any_of(node.blocks.begin(), node.blocks.end(), [&](BlockId id) {
             const NodeList& nodes = from_.block(id).nodes;
             return std::any_of(nodes.begin(), nodes.end(),
                                [&](ValueId n) { return holds_return(from_.node(n)); });
           });
  }

  // Whether control can reach the end of a block. A loop is taken to end: its body may never run.
  bool falls_through(BlockId block) const {
    const NodeList& nodes = from_.block(block).nodes;
    return std::all_of(nodes.begin(), nodes.end(), [&](ValueId id) {
      const ir::Node& node = from_.node(id);
      if (node.op == Op::Return || node.op == Op::Break || node.op == Op::Continue) return false;
      if (node.op != Op::If && node.op != Op::Switch) return true;
      return std::any_of(node.blocks.begin(), node.blocks.end(),
                         [&](BlockId b) { return falls_through(b); });
    });
  }

  bool returns_from_inner_loop(const ir::Node& loop) const { return in_inner_loop(loop, false); }
  bool in_inner_loop(const ir::Node& node, bool inner) const {
    if (node.op == Op::Return) return inner;
    return std::any_of(node.blocks.begin(), node.blocks.end(), [&](BlockId block) {
      const NodeList& nodes = from_.block(block).nodes;
      return std::any_of(nodes.begin(), nodes.end(), [&](ValueId id) {
        const ir::Node& next = from_.node(id);
        return in_inner_loop(next, inner || is_loop(next.op));
      });
    });
  }

  NodeList sequence(const NodeList& nodes, Context context) {
    NodeList out;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ValueId id = nodes[i];
      const ir::Node& node = from_.node(id);
      if (node.op == Op::Return) {
        take_return(out, context, node.location);
        return out;
      }
      if (!holds_return(node)) {
        out.push_back(id);
      } else if (context.in_loop) {
        inside_loop(out, id, context);
      } else {
        const NodeList rest(nodes.begin() + static_cast<std::ptrdiff_t>(i) + 1, nodes.end());
        if (is_loop(node.op)) {
          outermost_loop(out, id, rest, context);
        } else {
          alternatives(out, id, rest, context);
        }
        return out;
      }
    }
    return out;
  }

  void take_return(NodeList& out, Context context, ir::LocationId location) {
    if (context.flag != kNone) set_flag(out, context.flag, true, location);
    if (context.in_loop) append(out, at(location, Op::Break));
  }

  // A break leaves the loop, so what follows inside it needs no guard.
  void inside_loop(NodeList& out, ValueId id, Context context) {
    const ir::Node& node = from_.node(id);
    for (BlockId block : node.blocks) set(block, sequence(from_.block(block).nodes, context));
    out.push_back(id);
    if (!is_loop(node.op)) return;
    NodeList leave;
    append(leave, at(node.location, Op::Break));
    branch_on_flag(out, context.flag, std::move(leave), {}, node.location);
  }

  void outermost_loop(NodeList& out, ValueId id, const NodeList& rest, Context context) {
    const ir::Node& node = from_.node(id);
    Context inner{context.flag, true};
    if (inner.flag == kNone && (!rest.empty() || returns_from_inner_loop(node))) {
      inner.flag = new_flag(out, node.location);
    }
    for (BlockId block : node.blocks) set(block, sequence(from_.block(block).nodes, inner));
    out.push_back(id);
    if (!rest.empty()) {
      branch_on_flag(out, inner.flag, {}, sequence(rest, context), node.location);
    }
  }

  // If and Switch. Where at most one alternative reaches its end, the rest belongs to that one.
  void alternatives(NodeList& out, ValueId id, const NodeList& rest, Context context) {
    const ir::Node& node = from_.node(id);
    const auto reaching = std::count_if(node.blocks.begin(), node.blocks.end(),
                                        [&](BlockId block) { return falls_through(block); });
    const bool guard = reaching > 1 && !rest.empty();
    Context inner = context;
    if (guard && inner.flag == kNone) inner.flag = new_flag(out, node.location);
    for (BlockId block : node.blocks) {
      NodeList nodes = from_.block(block).nodes;
      if (!guard && falls_through(block)) nodes.insert(nodes.end(), rest.begin(), rest.end());
      set(block, sequence(nodes, inner));
    }
    out.push_back(id);
    if (guard) branch_on_flag(out, inner.flag, {}, sequence(rest, context), node.location);
  }

  std::uint32_t new_flag(NodeList& out, ir::LocationId location) {
    to_.variables.push_back({"returned", ir::Scalar::Bool});
    const auto flag = static_cast<std::uint32_t>(to_.variables.size() - 1);
    set_flag(out, flag, false, location);
    return flag;
  }

  void set_flag(NodeList& out, std::uint32_t flag, bool value, ir::LocationId location) {
    ir::Node constant = at(location, Op::Constant, ir::Scalar::Bool);
    constant.literal = value ? 1 : 0;
    ir::Node assignment = at(location, Op::VarSet);
    assignment.index = flag;
    assignment.operand_count = 1;
    assignment.operands[0] = append(out, std::move(constant));
    append(out, std::move(assignment));
  }

  void branch_on_flag(NodeList& out, std::uint32_t flag, NodeList then, NodeList otherwise,
                      ir::LocationId location) {
    ir::Node taken = at(location, Op::VarGet, ir::Scalar::Bool);
    taken.index = flag;
    ir::Node branch = at(location, Op::If);
    branch.operand_count = 1;
    branch.operands[0] = append(out, std::move(taken));
    branch.blocks = {new_block(std::move(then)), new_block(std::move(otherwise))};
    append(out, std::move(branch));
  }

  static ir::Node at(ir::LocationId location, Op op, ir::Scalar type = ir::Scalar::I32) {
    ir::Node node;
    node.op = op;
    node.type = type;
    node.location = location;
    return node;
  }

  ValueId append(NodeList& out, ir::Node node) {
    const auto id = static_cast<ValueId>(to_.nodes.size());
    to_.nodes.push_back(std::move(node));
    out.push_back(id);
    return id;
  }
  BlockId new_block(NodeList nodes) {
    to_.blocks.push_back({std::move(nodes)});
    return static_cast<BlockId>(to_.blocks.size() - 1);
  }
  void set(BlockId block, NodeList nodes) { to_.blocks[block].nodes = std::move(nodes); }

  const ir::Kernel& from_;  // analysed as it was
  ir::Kernel to_;           // the same with edited block lists; ids of `from_` stay valid in it
};

}  // namespace

ir::Kernel lower_returns(const ir::Kernel& kernel) {
  const bool any = std::any_of(kernel.blocks.begin(), kernel.blocks.end(), [&](const auto& block) {
    return std::any_of(block.nodes.begin(), block.nodes.end(),
                       [&](ValueId id) { return kernel.node(id).op == Op::Return; });
  });
  return any ? Lowering(kernel).run() : kernel;
}

}  // namespace salvo::passes
