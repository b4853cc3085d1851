// Kernels that between them use all of what the SPIR-V emitter emits.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <vector>

#include "fusion/horizontal.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::test {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// y[i] = body(x[i]), in a kernel with a barrier and control around it.
inline ir::Kernel elementwise(Scalar stored, const std::function<ValueId(Shapes&, ValueId)>& body) {
  Shapes k("elementwise");
  const auto x = k.span_parameter("x", Element::scalar(stored), true);
  const auto y = k.span_parameter("y", Element::scalar(stored), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId inside = k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(y)});
  k.if_else(inside, [&] { k.store(y, i, body(k, k.load(x, i))); });
  return k.finish();
}

inline ir::Kernel float_arithmetic(Scalar type) {
  return elementwise(type, [](Shapes& k, ValueId x) {
    ValueId value = x;
    for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div}) value = k.op(op, {value, x});
    value = k.op(Op::Neg, {value});
    return k.op(Op::Fma, {value, x, x});
  });
}

inline ir::Kernel control() {
  Shapes k("control");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::I32), false);
  const auto shared = k.shared_array("tile", Element::scalar(Scalar::I32), 64);
  const auto local = k.local_array("mine", Element::scalar(Scalar::I8), 4);
  const ValueId thread = k.position(Op::ThreadIdx, 0);
  const auto sum = k.variable("sum", Scalar::I32);
  k.var_set(sum, k.constant_i32(0));
  k.store(shared, thread, k.load(x, thread));
  k.statement(Op::Barrier);
  k.for_up(k.constant_i32(0), k.constant_i32(4), k.constant_i32(1), [&](ValueId i) {
    k.store(local, i, i);
    k.if_else(k.op(Op::Eq, {i, k.constant_i32(2)}), [&] { k.statement(Op::Continue); });
    k.switch_on(
        i, {0, 1},
        {[&] { k.var_set(sum, k.load(local, i)); }, [&] { k.statement(Op::Break); }, nullptr});
  });
  k.while_loop(
      [&] {
        return k.op(Op::Lt, {k.var_get(sum), k.constant_i32(9)});
      },
      [&] {
        k.var_set(sum, k.op(Op::Add, {k.var_get(sum), k.constant_i32(2)}));
        k.if_else(
            k.op(Op::Gt, {k.var_get(sum), k.constant_i32(7)}), [&] { k.statement(Op::Return); },
            [&] { k.statement(Op::Break); });
      });
  k.atomic(Op::AtomicAdd, x, {thread, k.var_get(sum)});
  return k.finish();
}

/// A loop in strides of `step`, or of a parameter if that is zero, which is left in every way.
inline ir::Kernel strided(Scalar type, std::uint64_t step, bool down) {
  Shapes k("strided");
  const auto x = k.span_parameter("x", Element::scalar(type), false);
  const auto n = k.scalar_parameter("n", type);
  const ValueId limit = k.param(n);
  const ValueId loop = k.for_up(
      k.constant(type, 2), limit, step == 0 ? limit : k.constant(type, step), [&](ValueId i) {
        k.if_else(k.op(Op::Eq, {i, k.constant(type, 6)}), [&] { k.statement(Op::Continue); });
        k.if_else(k.op(Op::Eq, {i, k.constant(type, 8)}), [&] { k.statement(Op::Break); });
        k.if_else(k.op(Op::Eq, {i, k.constant(type, 9)}), [&] { k.statement(Op::Return); });
        k.store(x, k.cast(Scalar::I32, i), i);
      });
  k.kernel().nodes[loop].literal = down ? 1 : 0;
  return k.finish();
}

/// Eight members of one body and one of another, with arguments in a table.
inline ir::Kernel nine_members(Scalar scalar) {
  Shapes k("scaled");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), false);
  const auto by = k.scalar_parameter("by", scalar);
  const auto n = k.scalar_parameter("n", Scalar::I32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.if_else(k.op(Op::Lt, {i, k.param(n)}),
            [&] { k.store(x, i, k.cast(Scalar::F32, k.param(by))); });
  const ir::Kernel member = k.finish();
  const fusion::Body bodies[] = {{&member, 8}, {&member, 1}};
  return fusion::fuse_horizontally(bodies);
}

inline ir::Kernel dynamic_shared(Scalar scalar) {
  Shapes k("dynamic");
  const auto x = k.span_parameter("x", Element::scalar(scalar), false);
  const auto shared = k.shared_array("words", Element::scalar(scalar), 0);
  const ValueId thread = k.position(Op::ThreadIdx, 0);
  k.store(shared, thread, k.load(x, thread));
  k.statement(Op::Barrier);
  k.store(x, thread, k.load(shared, k.constant_i32(0)));
  return k.finish();
}

inline ir::Kernel warps() {
  Shapes k("warps");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), false);
  const auto masks = k.span_parameter("masks", Element::scalar(Scalar::U64), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId mine = k.load(x, i);
  const ValueId sum = k.op(Op::WarpAdd, {mine});
  const ValueId next = k.op(Op::ShuffleDown, {mine, k.constant_i32(1)});
  k.store(masks, i, k.op(Op::Ballot, {k.op(Op::Lt, {mine, next})}));
  k.store(x, i, k.op(Op::Add, {sum, next}));
  return k.finish();
}

inline std::vector<ir::Kernel> gallery() {
  std::vector<ir::Kernel> all{control()};
  for (Scalar type : {Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64}) {
    for (bool down : {false, true}) {
      for (std::uint64_t step : {0, 2}) all.push_back(strided(type, step, down));
    }
  }
  for (Scalar type :
       {Scalar::Bool, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32,
        Scalar::I64, Scalar::U64, Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64}) {
    all.push_back(elementwise(type, [](Shapes&, ValueId x) { return x; }));
  }
  for (Scalar type : {Scalar::F32, Scalar::F64}) all.push_back(float_arithmetic(type));
  for (Op op : {Op::Sin, Op::Cos, Op::Tan, Op::Asin, Op::Atan, Op::Sinh, Op::Tanh, Op::Exp,
                Op::Expm1, Op::Log, Op::Log1p, Op::Cbrt, Op::Rsqrt, Op::Sqrt, Op::Round}) {
    all.push_back(elementwise(Scalar::F32, [op](Shapes& k, ValueId x) { return k.op(op, {x}); }));
  }
  for (Op op : {Op::Pow, Op::Atan2, Op::Hypot, Op::Fmod, Op::Copysign, Op::Min, Op::Max}) {
    all.push_back(elementwise(Scalar::F32, [op](Shapes& k, ValueId x) {
      return k.op(op, {x, x});
    }));
  }
  return all;
}

}  // namespace salvo::test
