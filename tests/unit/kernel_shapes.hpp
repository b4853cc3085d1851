// Control structures for kernels that tests build by hand.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/builder.hpp"

namespace salvo::test {

inline ir::Node make_node(ir::Op op, ir::Scalar type, std::initializer_list<ir::ValueId> operands) {
  ir::Node node;
  node.op = op;
  node.type = type;
  for (ir::ValueId operand : operands) node.operands[node.operand_count++] = operand;
  return node;
}

/// A Builder that takes nested blocks as functions.
class Shapes : public ir::Builder {
 public:
  using Fill = std::function<void()>;
  using ir::Builder::Builder;

  ir::BlockId block(const Fill& fill) {
    const ir::BlockId id = open();
    if (fill) fill();
    close();
    return id;
  }

  ir::ValueId if_else(ir::ValueId condition, const Fill& then, const Fill& otherwise = nullptr) {
    const ir::LocationId here = location();
    const ir::BlockId then_block = block(then);
    const ir::BlockId else_block = block(otherwise);
    at(here);
    return if_(condition, then_block, else_block);
  }

  /// Counts up from `first` to `limit`; the body gets the counter.
  ir::ValueId for_up(ir::ValueId first, ir::ValueId limit, ir::ValueId step,
                     const std::function<void(ir::ValueId)>& fill) {
    const ir::ValueId loop = append(make_node(ir::Op::For, ir::Scalar::I32, {first, limit, step}));
    // The counter names the loop, which therefore comes before its body.
    const ir::BlockId body = block([&] { fill(counter(loop, kernel().nodes[first].type)); });
    kernel().nodes[loop].blocks = {body};
    return loop;
  }

  ir::ValueId while_loop(const std::function<ir::ValueId()>& condition, const Fill& fill) {
    const ir::LocationId here = location();
    ir::ValueId again = ir::kNoValue;
    const ir::BlockId first = block([&] { again = condition(); });
    const ir::BlockId body = block(fill);
    at(here);
    ir::Node node = make_node(ir::Op::While, ir::Scalar::I32, {again});
    node.blocks = {first, body};
    return append(std::move(node));
  }

  /// One block more than cases: the last is the default.
  ir::ValueId switch_on(ir::ValueId value, std::vector<std::int64_t> cases,
                        const std::vector<Fill>& fills) {
    const ir::LocationId here = location();
    ir::Node node = make_node(ir::Op::Switch, ir::Scalar::I32, {value});
    for (const Fill& fill : fills) node.blocks.push_back(block(fill));
    node.cases = std::move(cases);
    at(here);
    return append(std::move(node));
  }

  ir::ValueId atomic(ir::Op op, ir::MemoryId memory, std::initializer_list<ir::ValueId> operands,
                     std::uint32_t field = 0) {
    const ir::Scalar type = kernel().memories[memory].element.fields[field].type;
    ir::Node node = make_node(op, ir::compute_type(type), operands);
    node.memory = memory;
    node.field = field;
    return append(std::move(node));
  }

 private:
  ir::ValueId counter(ir::ValueId loop, ir::Scalar type) {
    return append(make_node(ir::Op::ForIndex, type, {loop}));
  }
};

}  // namespace salvo::test
