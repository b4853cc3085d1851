// Kernels that together use all of the IR, for tests of the CUDA code generators.
// SPDX-License-Identifier: MIT
#pragma once

#include "unit/kernel_shapes.hpp"

namespace salvo::test {

using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// Every float operation there is, on one type.
inline ir::Kernel all_float_operations(Scalar type) {
  Shapes k("floats");
  const auto x = k.span_parameter("x", ir::Element::scalar(type), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(type), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId a = k.load(x, i);
  ValueId sum = a;
  for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Atan2, Op::Pow, Op::Hypot,
                Op::Fmod, Op::Copysign}) {
    sum = k.op(Op::Add, {sum, k.op(op, {a, sum})});
  }
  sum = k.op(Op::Fma, {sum, a, a});
  for (Op op : {Op::Neg,   Op::Abs,  Op::Sqrt,  Op::Rsqrt, Op::Cbrt, Op::Sin,   Op::Cos,
                Op::Tan,   Op::Asin, Op::Acos,  Op::Atan,  Op::Sinh, Op::Cosh,  Op::Tanh,
                Op::Exp,   Op::Exp2, Op::Expm1, Op::Log,   Op::Log2, Op::Log10, Op::Log1p,
                Op::Floor, Op::Ceil, Op::Round, Op::Trunc}) {
    sum = k.op(Op::Mul, {sum, k.op(op, {a})});
  }
  k.store(y, i, sum);
  return k.finish();
}

/// A kernel with control, shared memory, warp operations, atomics and narrow types.
inline ir::Kernel everything_else() {
  Shapes k("add");  // an instruction's name
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F16), false);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::BF16), false);
  const auto n = k.span_parameter("n", ir::Element::scalar(Scalar::I64), false);
  const auto shared = k.shared_array("tile", ir::Element::scalar(Scalar::F32), 64);
  const auto local = k.local_array("kept", ir::Element::scalar(Scalar::I8), 4);
  k.at("a.cpp", 12);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.store(shared, t, k.load(x, t));
  k.statement(Op::Barrier);
  k.for_up(k.constant_i32(0), k.constant_i32(9), k.constant_i32(2), [&](ValueId i) {
    k.store(local, k.op(Op::And, {i, k.constant_i32(3)}), i);
    k.if_else(
        k.op(Op::Gt, {i, t}), [&] { k.statement(Op::Break); }, [&] { k.statement(Op::Continue); });
  });
  k.at("b.cpp", 7);
  k.store(y, t, k.op(Op::WarpAdd, {k.load(shared, t)}));
  const ValueId wide = k.cast(Scalar::I64, k.op(Op::Shuffle, {t, k.constant_i32(1)}));
  k.switch_on(t, {1, 5},
              {[&] {
                 k.atomic(Op::AtomicMax, n, {t, wide});
               },
               [&] {
                 k.store(n, t, k.op(Op::Div, {wide, k.cast(Scalar::I64, t)}));
               },
               [&] { k.statement(Op::Return); }});
  k.store(n, t, k.length(n));
  return k.finish();
}

/// y[i] = x[i] of records of three floats and an integer, the floats in turn with each other.
inline ir::Kernel copied_records() {
  const ir::Element record{"Particle",
                           16,
                           4,
                           {{"x", Scalar::F32, 0},
                            {"y", Scalar::F32, 4},
                            {"z", Scalar::F32, 8},
                            {"id", Scalar::I32, 12}}};
  Shapes k("copied");
  const auto x = k.span_parameter("x", record, true);
  const auto y = k.span_parameter("y", record, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  for (std::uint32_t leaf = 0; leaf < 3; ++leaf) k.store(y, i, k.load(x, i, (leaf + 1) % 3), leaf);
  k.store(y, i, k.load(x, i, 3), 3);
  return k.finish();
}

inline ir::Kernel through_a_table(std::uint32_t slots) {
  Shapes k("table");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false, slots);
  const auto scale = k.scalar_parameter("scale", Scalar::F32, slots);
  const ValueId slot = k.position(Op::BlockIdx, 0);
  const ValueId i = k.position(Op::ThreadIdx, 0);
  const ValueId old = k.load(x, i, 0, slot);
  k.store(x, i, k.op(Op::Mul, {old, k.param(scale, slot)}), 0, slot);
  return k.finish();
}

}  // namespace salvo::test
