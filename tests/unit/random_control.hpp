// Random kernels of nested control flow, for properties of passes.
// SPDX-License-Identifier: MIT
#pragma once

#include <random>

#include "unit/kernel_shapes.hpp"

namespace salvo::test {

/// Makes a kernel whose branches depend on elements of its input. All loops end.
class RandomControl {
 public:
  explicit RandomControl(unsigned seed) : random_(seed) {}

  ir::Kernel kernel() {
    in_ = b_.span_parameter("in", ir::Element::scalar(ir::Scalar::I32), true);
    out_ = b_.span_parameter("out", ir::Element::scalar(ir::Scalar::I32), false);
    tick_ = b_.variable("tick", ir::Scalar::I32);
    sum_ = b_.variable("sum", ir::Scalar::I32);
    b_.var_set(tick_, b_.constant_i32(0));
    b_.var_set(sum_, b_.constant_i32(0));
    statements(0, 0);
    return b_.finish();
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // An element of the input: a fixed one, the next one in turn, or one of the thread's own.
  ir::ValueId choice() {
    const int kind = pick(8);
    if (kind == 0) return b_.load(in_, b_.position(ir::Op::ThreadIdx, 0));
    if (kind < 4) return b_.load(in_, b_.constant_i32(++label_));
    const ir::ValueId tick = b_.var_get(tick_);
    b_.var_set(tick_, b_.op(ir::Op::Add, {tick, b_.constant_i32(1)}));
    return b_.load(in_, tick);
  }
  ir::ValueId condition() { return b_.op(ir::Op::Ne, {choice(), b_.constant_i32(0)}); }

  void statements(int depth, int loops) {
    const int count = pick(4) + (depth == 0 ? 2 : 0);
    for (int i = 0; i < count; ++i) statement(depth, loops);
  }

  void statement(int depth, int loops) {
    const auto nested = [=, this] { statements(depth + 1, loops); };
    switch (depth < 4 ? pick(10) : 8 + pick(2)) {
      case 0:
      case 1:
        b_.if_else(condition(), nested, pick(2) == 0 ? Shapes::Fill(nested) : nullptr);
        return;
      case 2:
        b_.switch_on(choice(), {0, 1}, {nested, nested, nested});
        return;
      case 3:
        if (loops == 2) return;
        b_.for_up(b_.constant_i32(0), b_.constant_i32(pick(4)), b_.constant_i32(1),
                  [&](ir::ValueId counter) {
                    store(counter);
                    statements(depth + 1, loops + 1);
                  });
        return;
      case 4:
        if (loops < 2) bounded_while(depth, loops);
        return;
      case 5:
        b_.statement(ir::Op::Barrier);
        return;
      case 8:
        if (loops > 0 && pick(2) == 0) {
          b_.statement(pick(2) == 0 ? ir::Op::Break : ir::Op::Continue);
        } else if (pick(3) != 0) {
          b_.statement(ir::Op::Return);
        }
        return;
      default:
        b_.var_set(sum_,
                   b_.op(ir::Op::Add, {b_.op(ir::Op::Mul, {b_.var_get(sum_), b_.constant_i32(3)}),
                                       b_.constant_i32(++label_)}));
        store(b_.var_get(sum_));
    }
  }

  void store(ir::ValueId value) { b_.store(out_, b_.constant_i32(++label_), value); }

  void bounded_while(int depth, int loops) {
    const std::uint32_t turns = b_.variable("turns", ir::Scalar::I32);
    b_.var_set(turns, b_.constant_i32(0));
    b_.while_loop(
        [&] {
          const ir::ValueId turn = b_.var_get(turns);
          b_.var_set(turns, b_.op(ir::Op::Add, {turn, b_.constant_i32(1)}));
          return b_.op(ir::Op::And, {condition(), b_.op(ir::Op::Lt, {turn, b_.constant_i32(3)})});
        },
        [&] { statements(depth + 1, loops + 1); });
  }

  Shapes b_{"random"};
  std::mt19937 random_;
  ir::MemoryId in_ = 0;
  ir::MemoryId out_ = 0;
  std::uint32_t tick_ = 0;
  std::uint32_t sum_ = 0;
  int label_ = 0;
};

}  // namespace salvo::test
