// Finds barriers and warp operations under thread-dependent control (K7).
// SPDX-License-Identifier: MIT
//
// An abstract run of the kernel by all threads at once. Each value and variable has a level: who
// agrees on it. Each point has one too: who reaches it together. Loops are run until what they
// feed back to themselves no longer changes; levels only rise, so that ends.
#include "passes/convergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace salvo::passes {
namespace {

using ir::BlockId;
using ir::kNoValue;
using ir::Op;
using ir::ValueId;

enum class Level : std::uint8_t {
  Block,   // all threads of a block agree
  Warp,    // all threads of a warp agree
  Thread,  // anything
};

// How together the threads are at a point, and the node that parted them.
struct Control {
  Level level = Level::Block;
  ValueId cause = kNoValue;
};

Control worse(Control a, Control b) {
  return b.level > a.level ? b : a;
}

// Jumps out of the part of the program being run: whether there was one, and how unevenly.
struct Absence {
  ValueId jump = kNoValue;  // one that threads may have taken, evenly or not
  Control uneven;           // those who took one are missing here
};

// What holds on one path through the program.
struct Flow {
  bool reached = true;
  std::vector<Level> variables;
  Absence returned;  // threads that are gone for good
  Absence left;      // threads that left this turn of the innermost loop
};

Flow unreached() {
  Flow flow;
  flow.reached = false;
  return flow;
}

class Analysis {
 public:
  explicit Analysis(const ir::Kernel& kernel)
      : kernel_(kernel),
        levels_(kernel.nodes.size(), Level::Block),
        assigned_(kernel.blocks.size()) {
    do {
      changed_ = false;
      divergences_.clear();
      flow_ = Flow{};
      flow_.variables.assign(kernel.variables.size(), Level::Block);
      block(kernel.body, {});
    } while (changed_);
  }

  std::vector<Divergence> divergences() && { return std::move(divergences_); }

  std::vector<bool> uniform() const {
    std::vector<bool> result(levels_.size());
    std::transform(levels_.begin(), levels_.end(), result.begin(),
                   [](Level level) { return level == Level::Block; });
    return result;
  }

 private:
  // What a loop feeds back to its own head, kept from run to run.
  struct Feedback {
    std::vector<Level> variables;
    Control exits;  // how unevenly threads leave, by its condition, a break or a return
  };

  // A loop that is being run.
  struct Loop {
    Feedback& feedback;
    Flow at_break = unreached();
    Flow at_continue = unreached();
    Control skipped{};  // by continue
    Absence returned{};
  };

  void block(BlockId id, Control control) {
    for (ValueId node_id : kernel_.block(id).nodes) {
      if (!flow_.reached) return;
      node(node_id, worse(worse(control, flow_.returned.uneven), flow_.left.uneven));
    }
  }

  // `here` is the control at the node itself.
  void node(ValueId id, Control here) {
    const ir::Node& node = kernel_.node(id);
    levels_[id] = ir::is_statement(node.op) ? here.level : value(node, here);
    if (node.op == Op::Barrier && here.level > Level::Block) report(id, here.cause);
    if (ir::is_warp(node.op) && here.level > Level::Warp) report(id, here.cause);
    if (ir::is_matrix(node.op)) matrix(id, node, here);
    if (ir::is_user_code(node.op) && here.level > together(node)) report(id, here.cause);
    switch (node.op) {
      case Op::VarSet:
        flow_.variables[node.index] = levels_[node.operands[0]];
        return;
      case Op::If:
      case Op::Switch:
        return alternatives(id, node, here);
      case Op::For:
      case Op::While:
        return loop(id, node, here);
      case Op::Break:
      case Op::Continue:
      case Op::Return:
        return jump(node.op, {here.level, id});
      default:
        return;
    }
  }

  // The warp has one matrix between its threads: they come together, with equal operands.
  void matrix(ValueId id, const ir::Node& node, Control here) {
    if (here.level > Level::Warp) report(id, here.cause);
    for (ValueId operand : node.inputs()) {
      if (levels_[operand] <= Level::Warp) continue;
      divergences_.push_back(
          {id, fmt::format("{} takes a value that differs between the threads of a warp ({} at {})",
                           ir::name(node.op), ir::name(kernel_.node(operand).op), place(operand))});
    }
  }

  // Who must reach user code together.
  Level together(const ir::Node& node) const {
    switch (kernel_.user_calls[node.index].code->convergence()) {
      case ir::Convergence::block:
        return Level::Block;
      case ir::Convergence::warp:
        return Level::Warp;
      default:
        return Level::Thread;
    }
  }

  Level of_operands(const ir::Node& node) const {
    Level level = Level::Block;
    for (ValueId operand : node.inputs()) level = std::max(level, levels_[operand]);
    return level;
  }

  Level value(const ir::Node& node, Control here) const {
    switch (node.op) {
      case Op::ThreadIdx:
      case Op::GlobalIdx:
      case Op::LaneId:
      case Op::ShuffleUp:
      case Op::ShuffleDown:
      case Op::ShuffleXor:
        return Level::Thread;
      // One lane's value for all of them, if they name the same lane.
      case Op::Shuffle:
        return std::max({Level::Warp, here.level, levels_[node.operands[1]]});
      case Op::Any:
      case Op::All:
      case Op::Ballot:
      case Op::WarpAdd:
      case Op::WarpMin:
      case Op::WarpMax:
        return std::max(Level::Warp, here.level);
      case Op::Load: {
        const bool local = kernel_.memories[node.memory].space == ir::Space::Local;
        return local ? Level::Thread : of_operands(node);
      }
      case Op::Intrinsic:
        return kernel_.user_calls[node.index].code->is_pure() && together(node) == Level::Thread
                   ? of_operands(node)
                   : Level::Thread;
      case Op::VarGet:
        return flow_.variables[node.index];
      case Op::ForIndex:
        return counters_.at(node.operands[0]);
      default:
        return ir::is_atomic(node.op) ? Level::Thread : of_operands(node);
    }
  }

  // Variables that a block or what is nested in it assigns.
  const std::vector<bool>& assigned(BlockId id) {
    std::vector<bool>& result = assigned_[id];
    if (result.size() == kernel_.variables.size()) return result;
    std::vector<bool> found(kernel_.variables.size());
    for (ValueId node_id : kernel_.block(id).nodes) {
      const ir::Node& node = kernel_.node(node_id);
      if (node.op == Op::VarSet) found[node.index] = true;
      for (BlockId nested : node.blocks) {
        const std::vector<bool>& inner = assigned(nested);
        for (std::size_t v = 0; v < found.size(); ++v) found[v] = found[v] || inner[v];
      }
    }
    return assigned_[id] = std::move(found);
  }

  // Raises what `node` assigns to `level`: threads arrive with values from different paths.
  void raise_assigned(const ir::Node& node, std::vector<Level>& variables, Level level) {
    for (BlockId id : node.blocks) {
      const std::vector<bool>& set = assigned(id);
      for (std::size_t v = 0; v < variables.size(); ++v) {
        if (set[v]) variables[v] = std::max(variables[v], level);
      }
    }
  }

  static void join_variables(Flow& to, const Flow& from) {
    if (!from.reached) return;
    if (!to.reached) {
      to.variables = from.variables;
      to.reached = true;
      return;
    }
    for (std::size_t v = 0; v < to.variables.size(); ++v) {
      to.variables[v] = std::max(to.variables[v], from.variables[v]);
    }
  }

  void alternatives(ValueId id, const ir::Node& node, Control here) {
    const Level condition = levels_[node.operands[0]];
    const Control inside = worse(here, {condition, id});
    const Flow before = flow_;
    Flow after = before;
    after.reached = false;
    int reaching = 0;
    for (BlockId alternative : node.blocks) {
      flow_ = before;
      flow_.returned.jump = flow_.left.jump = kNoValue;
      block(alternative, inside);
      reaching += flow_.reached ? 1 : 0;
      join_variables(after, flow_);
      join(after.returned, flow_.returned, flow_.reached, condition);
      join(after.left, flow_.left, flow_.reached, condition);
    }
    if (reaching > 1) raise_assigned(node, after.variables, condition);
    flow_ = std::move(after);
  }

  // Adds those who jumped in an alternative. Where all threads choose alike and none come back from
  // it, nobody is missed in the others; where they choose unlike, even an even jump parts them.
  static void join(Absence& to, const Absence& from, bool reached, Level condition) {
    if (reached || condition > Level::Block) to.uneven = worse(to.uneven, from.uneven);
    if (from.jump == kNoValue) return;
    to.jump = from.jump;
    to.uneven = worse(to.uneven, {condition, from.jump});
  }

  void jump(Op op, Control control) {
    if (op == Op::Return) {
      flow_.reached = false;
      flow_.returned.jump = control.cause;
      for (Loop* loop : loops_) {
        loop->returned.jump = control.cause;
        loop->returned.uneven = worse(loop->returned.uneven, control);
        feed(loop->feedback.exits, control);
      }
      return;
    }
    Loop& loop = *loops_.back();
    flow_.left.jump = control.cause;
    join_variables(op == Op::Break ? loop.at_break : loop.at_continue, flow_);
    flow_.reached = false;
    if (op == Op::Break) {
      feed(loop.feedback.exits, control);
    } else {
      loop.skipped = worse(loop.skipped, control);
    }
  }

  void feed(Control& to, Control control) {
    if (control.level <= to.level) return;
    to = control;
    changed_ = true;
  }

  void loop(ValueId id, const ir::Node& node, Control here) {
    Feedback& feedback = feedback_[id];
    if (node.op == Op::For) feed(feedback.exits, {of_operands(node), id});
    const Flow before = flow_;
    if (feedback.variables.empty()) feedback.variables = before.variables;
    for (std::size_t v = 0; v < before.variables.size(); ++v) {
      flow_.variables[v] = std::max(flow_.variables[v], feedback.variables[v]);
    }
    // Threads that leave at different turns do not agree on what the loop counts, even inside.
    raise_assigned(node, flow_.variables, feedback.exits.level);
    flow_.left = {};
    Loop current{feedback};
    loops_.push_back(&current);

    const Control inside = worse(here, feedback.exits);
    if (node.op == Op::While) {
      block(node.blocks[0], inside);
      feed(feedback.exits, {levels_[node.operands[0]], id});
    } else {
      counters_[id] = std::max(of_operands(node), feedback.exits.level);
    }
    Flow after = flow_;
    block(node.blocks.back(), worse(inside, feedback.exits));
    loops_.pop_back();

    join_variables(flow_, current.at_continue);
    if (flow_.reached) {
      raise_assigned(node, flow_.variables, current.skipped.level);
      for (std::size_t v = 0; v < flow_.variables.size(); ++v) {
        if (flow_.variables[v] <= feedback.variables[v]) continue;
        feedback.variables[v] = flow_.variables[v];
        changed_ = true;
      }
    }
    join_variables(after, current.at_break);
    raise_assigned(node, after.variables, feedback.exits.level);
    after.returned = before.returned;
    if (current.returned.jump != kNoValue) {
      after.returned.jump = current.returned.jump;
      after.returned.uneven = worse(after.returned.uneven, current.returned.uneven);
    }
    after.left = before.left;
    flow_ = std::move(after);
  }

  std::string place(ValueId id) const {
    const ir::Node& node = kernel_.node(id);
    if (node.location >= kernel_.locations.size()) return fmt::format("%{}", id);
    const ir::Location& location = kernel_.locations[node.location];
    return fmt::format("{}:{}", location.file, location.line);
  }

  void report(ValueId id, ValueId cause) {
    const ir::Node& node = kernel_.node(id);
    const Op op = kernel_.node(cause).op;
    const bool jumped = op == Op::Return || op == Op::Break || op == Op::Continue;
    const std::string why =
        jumped ? fmt::format("comes after a {} that only some threads take", ir::name(op))
               : "is reached under a condition that differs between threads";
    divergences_.push_back({id, fmt::format("{}{} {} ({})", ir::name(node.op),
                                            ir::in_superstep(kernel_, node), why, place(cause))});
  }

  const ir::Kernel& kernel_;
  std::vector<Level> levels_;  // of values; of statements: who reaches them together
  std::vector<std::vector<bool>> assigned_;
  std::map<ValueId, Feedback> feedback_;
  std::map<ValueId, Level> counters_;
  std::vector<Loop*> loops_;
  std::vector<Divergence> divergences_;
  Flow flow_;
  bool changed_ = false;
};

}  // namespace

std::vector<Divergence> check_convergence(const ir::Kernel& kernel) {
  return Analysis(kernel).divergences();
}

std::vector<bool> uniform_values(const ir::Kernel& kernel) {
  return Analysis(kernel).uniform();
}

}  // namespace salvo::passes
