// Values of the IR with the operators of C++, for passes that write formulas.
// SPDX-License-Identifier: MIT
#include "passes/math/number.hpp"

#include <iterator>
#include <utility>

namespace salvo::passes::math {

using ir::Op;
using ir::Scalar;

Number Number::like(double value) const {
  switch (type()) {
    case Scalar::F64:
      return integer(Scalar::F64, std::bit_cast<std::uint64_t>(value));
    case Scalar::F32:
      return integer(Scalar::F32, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case Scalar::I32:
      return integer(Scalar::I32, static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
    default:
      return integer(type(), static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
}

Number Number::integer(Scalar type, std::uint64_t bits) const {
  return {*builder_, builder_->constant(type, bits)};
}

Number Number::apply(Op op, std::initializer_list<Number> others) const {
  switch (others.size()) {
    case 0:
      return {*builder_, builder_->op(op, {id_})};
    case 1:
      return {*builder_, builder_->op(op, {id_, others.begin()->id_})};
    default:
      return {*builder_,
              builder_->op(op, {id_, others.begin()->id_, std::next(others.begin())->id_})};
  }
}

Number Number::bits(Scalar to) const {
  ir::Node node;
  node.op = Op::Bitcast;
  node.type = to;
  node.operands[0] = id_;
  node.operand_count = 1;
  return {*builder_, builder_->append(std::move(node))};
}

Number polynomial(const Number& x, std::initializer_list<double> coefficients) {
  auto next = std::rbegin(coefficients);
  Number sum = x.like(*next);
  while (++next != std::rend(coefficients)) sum = fma(sum, x, x.like(*next));
  return sum;
}

Number power_of_two(const Number& exponent) {
  return ((exponent + 1023) << 52).bits(Scalar::F64);
}

Number scale(const Number& value, const Number& exponent) {
  // In steps that a factor can express; only the last may round.
  const Number half = exponent >> 1;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

Cell::Cell(const Number& initial)
    : builder_(&initial.builder()), variable_(builder_->variable("m", initial.type())) {
  set(initial);
}

void when(const Number& condition, const std::function<void()>& body) {
  ir::Builder& builder = condition.builder();
  const ir::BlockId yes = builder.open();
  body();
  builder.close();
  const ir::BlockId no = builder.open();
  builder.close();
  builder.if_(condition.id(), yes, no);
}

void loop_while(ir::Builder& builder, const std::function<Number()>& condition,
                const std::function<void()>& body) {
  ir::Node node;
  node.op = Op::While;
  node.operand_count = 1;
  const ir::BlockId first = builder.open();
  node.operands[0] = condition().id();
  builder.close();
  const ir::BlockId second = builder.open();
  body();
  builder.close();
  node.blocks = {first, second};
  builder.append(std::move(node));
}

}  // namespace salvo::passes::math
