// Runs one thread of a kernel of integers and control flow, and notes every memory operation.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::test {

/// One Load, Store, or Barrier as it was executed.
struct Event {
  ir::Op op = ir::Op::Barrier;
  std::int32_t index = 0;
  std::int32_t value = 0;
  friend bool operator==(const Event&, const Event&) = default;
};

/// Loads give `input[index % size]`, whatever was stored: stores are only noted. Knows the
/// operations that the random kernels use, on I32 and Bool.
class ControlEvaluator {
 public:
  ControlEvaluator(const ir::Kernel& kernel, std::vector<std::int32_t> input,
                   std::int32_t thread = 0)
      : kernel_(kernel),
        thread_(thread),
        input_(std::move(input)),
        values_(kernel.nodes.size()),
        variables_(kernel.variables.size()) {}

  const std::vector<Event>& run() {
    returned_ = block(kernel_.body) == Exit::Return;
    return events_;
  }
  /// Whether a Return ended the kernel.
  bool returned() const { return returned_; }
  /// Values of the kernel's variables, in order, once it has run.
  const std::vector<std::int32_t>& variables() const { return variables_; }

 private:
  enum class Exit { End, Break, Continue, Return };

  Exit block(ir::BlockId id) {
    for (ir::ValueId node : kernel_.block(id).nodes) {
      if (const Exit exit = execute(node); exit != Exit::End) return exit;
    }
    return Exit::End;
  }

  std::int32_t operand(const ir::Node& node, std::size_t i) const {
    return values_[node.operands[i]];
  }

  std::uint32_t bits(const ir::Node& node, std::size_t i) const {
    return static_cast<std::uint32_t>(operand(node, i));
  }
  static std::int32_t wrap(std::uint32_t bits) { return static_cast<std::int32_t>(bits); }

  Exit execute(ir::ValueId id) {
    if (++steps_ > 1'000'000) throw std::runtime_error("kernel does not end");
    const ir::Node& node = kernel_.node(id);
    switch (node.op) {
      case ir::Op::If:
        return block(node.blocks[operand(node, 0) != 0 ? 0 : 1]);
      case ir::Op::Switch:
        for (std::size_t i = 0; i < node.cases.size(); ++i) {
          if (node.cases[i] == operand(node, 0)) return block(node.blocks[i]);
        }
        return block(node.blocks.back());
      case ir::Op::For:
        return for_loop(node, id);
      case ir::Op::While:
        return while_loop(node);
      case ir::Op::Break:
        return Exit::Break;
      case ir::Op::Continue:
        return Exit::Continue;
      case ir::Op::Return:
        return Exit::Return;
      case ir::Op::VarSet:
        variables_[node.index] = operand(node, 0);
        return Exit::End;
      case ir::Op::Store:
        events_.push_back({node.op, operand(node, 0), operand(node, 1)});
        return Exit::End;
      case ir::Op::Barrier:
        events_.push_back({});
        return Exit::End;
      default:
        values_[id] = compute(node);
        return Exit::End;
    }
  }

  Exit for_loop(const ir::Node& node, ir::ValueId id) {
    const std::int32_t limit = operand(node, 1), step = operand(node, 2);
    for (std::int32_t i = operand(node, 0); node.literal == 0 ? i < limit : i > limit;
         i = node.literal == 0 ? i + step : i - step) {
      values_[id] = i;
      const Exit exit = block(node.blocks[0]);
      if (exit == Exit::Return) return exit;
      if (exit == Exit::Break) break;
    }
    return Exit::End;
  }

  Exit while_loop(const ir::Node& node) {
    while (true) {
      block(node.blocks[0]);
      if (operand(node, 0) == 0) return Exit::End;
      const Exit exit = block(node.blocks[1]);
      if (exit == Exit::Return) return exit;
      if (exit == Exit::Break) return Exit::End;
    }
  }

  std::int32_t compute(const ir::Node& node) {
    switch (node.op) {
      case ir::Op::Constant:
        return static_cast<std::int32_t>(node.literal);
      case ir::Op::ThreadIdx:
        return thread_;
      case ir::Op::ForIndex:
        return operand(node, 0);
      case ir::Op::VarGet:
        return variables_[node.index];
      case ir::Op::Add:
        return wrap(bits(node, 0) + bits(node, 1));
      case ir::Op::Mul:
        return wrap(bits(node, 0) * bits(node, 1));
      case ir::Op::And:
        return operand(node, 0) & operand(node, 1);
      case ir::Op::Lt:
        return operand(node, 0) < operand(node, 1) ? 1 : 0;
      case ir::Op::Ne:
        return operand(node, 0) != operand(node, 1) ? 1 : 0;
      case ir::Op::Load: {
        const std::int32_t index = operand(node, 0);
        const std::int32_t value = input_[static_cast<std::size_t>(index) % input_.size()];
        events_.push_back({node.op, index, value});
        return value;
      }
      default:
        throw std::runtime_error("cannot run " + std::string(name(node.op)));
    }
  }

  const ir::Kernel& kernel_;
  const std::int32_t thread_;
  std::vector<std::int32_t> input_;
  std::vector<std::int32_t> values_;
  std::vector<std::int32_t> variables_;
  std::vector<Event> events_;
  int steps_ = 0;
  bool returned_ = false;
};

}  // namespace salvo::test
