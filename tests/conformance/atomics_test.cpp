// Atomics on global and shared memory: every operation, its old value, and no lost update.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

constexpr Op kIntegerOps[] = {Op::AtomicAdd, Op::AtomicSub, Op::AtomicExchange, Op::AtomicMin,
                              Op::AtomicMax, Op::AtomicAnd, Op::AtomicOr,       Op::AtomicXor};
constexpr Op kFloatOps[] = {Op::AtomicAdd};

class Atomics : public OnType {
 protected:
  Scalar type() const { return std::get<1>(GetParam()); }
  ir::Element element() const { return ir::Element::scalar(type()); }
  std::size_t size() const { return ir::size_of(type()); }
  std::span<const Op> ops() const {
    return ir::is_float(type()) ? std::span<const Op>(kFloatOps) : std::span<const Op>(kIntegerOps);
  }
};
SALVO_ON_TYPES(Atomics, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F32,
               Scalar::F64);

TEST_P(Atomics, EachReturnsTheOldValueAndLeavesTheNew) {
  // A thread a pair of edge values, so that the order of threads does not matter.
  for (Op op : ops()) {
    const auto pairs = combinations({type(), type()});
    const auto count = static_cast<std::uint32_t>(pairs[0].size());
    Shapes k(std::string(name(op)));
    const auto x = k.span_parameter("x", element(), false);
    const auto by = k.span_parameter("by", element(), true);
    const auto old = k.span_parameter("old", element(), false);
    const auto n = k.scalar_parameter("n", Scalar::I32);
    guarded(k, n, [&](ValueId i) { k.store(old, i, k.atomic(op, x, {i, k.load(by, i)})); });
    check({.kernel = k.finish(),
           .shape = over(count),
           .arguments = {span_of_bits(type(), pairs[0]), span_of_bits(type(), pairs[1]),
                         zeros(count, size()), scalar(count)},
           .options = {}});
  }
}

TEST_P(Atomics, CompareExchangeReplacesOnEqualBits) {
  if (ir::is_float(type())) GTEST_SKIP() << "the kernel language adds floats only";
  const auto triples = combinations({type(), type()});
  const auto count = static_cast<std::uint32_t>(triples[0].size());
  Shapes k("compare_exchange");
  const auto x = k.span_parameter("x", element(), false);
  const auto expected = k.span_parameter("expected", element(), true);
  const auto old = k.span_parameter("old", element(), false);
  const auto n = k.scalar_parameter("n", Scalar::I32);
  guarded(k, n, [&](ValueId i) {
    const ValueId desired = k.constant(type(), 1);
    k.store(old, i, k.atomic(Op::AtomicCompareExchange, x, {i, k.load(expected, i), desired}));
  });
  check({.kernel = k.finish(),
         .shape = over(count),
         .arguments = {span_of_bits(type(), triples[0]), span_of_bits(type(), triples[1]),
                       zeros(count, size()), scalar(count)},
         .options = {}});
}

/// All threads of a launch change one element by small whole numbers: exact in floats too, and the
/// result does not depend on their order.
TEST_P(Atomics, NoUpdateIsLost) {
  constexpr std::int32_t kThreads = 2048;
  std::vector<Op> commuting;
  for (Op op : ops()) {
    if (op != Op::AtomicExchange) commuting.push_back(op);
  }
  Shapes k("contended");
  const auto x = k.span_parameter("x", element(), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId small = k.op(Op::And, {i, k.constant_i32(63)});
  const ValueId by = k.cast(type(), small);
  for (std::size_t at = 0; at < commuting.size(); ++at) {
    k.atomic(commuting[at], x, {k.constant_i32(static_cast<std::int32_t>(at)), by});
  }
  const std::vector<std::uint64_t> start(commuting.size(), 0);
  check({.kernel = k.finish(),
         .shape = over(kThreads),
         .arguments = {span_of_bits(type(), start)},
         .options = {}});
}

TEST_P(Atomics, SharedMemoryCountsABlock) {
  Shapes k("histogram");
  const auto y = k.span_parameter("y", element(), false);
  const auto bins = k.shared_array("bins", element(), 16);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.if_else(k.op(Op::Lt, {t, k.constant_i32(16)}),
            [&] { k.store(bins, t, k.constant(type(), 0)); });
  k.statement(Op::Barrier);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId bin = k.op(Op::And, {k.op(Op::Mul, {i, k.constant_i32(7)}), k.constant_i32(15)});
  const ValueId one = k.cast(type(), k.constant_i32(1));
  k.atomic(Op::AtomicAdd, bins, {bin, one});
  if (!ir::is_float(type())) {
    // Apart from the sums: a maximum taken among them would depend on the threads' order.
    k.statement(Op::Barrier);
    k.atomic(Op::AtomicMax, bins, {k.constant_i32(3), k.cast(type(), t)});
  }
  k.statement(Op::Barrier);
  k.if_else(k.op(Op::Lt, {t, k.constant_i32(16)}), [&] {
    k.atomic(Op::AtomicAdd, y, {t, k.load(bins, t)});
  });
  const std::vector<std::uint64_t> start(16, 0);
  check({.kernel = k.finish(),
         .shape = over(64),
         .arguments = {span_of_bits(type(), start)},
         .options = {}});
}

class CompareExchange : public OnDevice {};
SALVO_ON_DEVICES(CompareExchange);

TEST_P(CompareExchange, LoopsMakeAnyAtomic) {
  // x = x * 3 + 1 by a loop, once a thread: the result is that of 256 rounds in any order.
  Shapes k("by_loop");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::U32), false);
  const auto done = k.variable("done", Scalar::Bool);
  const auto seen = k.variable("seen", Scalar::U32);
  const ValueId zero = k.constant_i32(0);
  k.var_set(done, k.constant_bool(false));
  k.var_set(seen, k.atomic(Op::AtomicOr, x, {zero, k.constant(Scalar::U32, 0)}));
  k.while_loop([&] { return k.op(Op::Not, {k.var_get(done)}); },
               [&] {
                 const ValueId was = k.var_get(seen);
                 const ValueId tripled = k.op(Op::Mul, {was, k.constant(Scalar::U32, 3)});
                 const ValueId next = k.op(Op::Add, {tripled, k.constant(Scalar::U32, 1)});
                 const ValueId now = k.atomic(Op::AtomicCompareExchange, x, {zero, was, next});
                 k.var_set(done, k.op(Op::Eq, {now, was}));
                 k.var_set(seen, now);
               });
  check({.kernel = k.finish(),
         .shape = over(256, 32),
         .arguments = {span(std::vector<std::uint32_t>{5})},
         .options = {}});
}

TEST_P(CompareExchange, FieldsOfRecordsCanBeAtomic) {
  ir::Element element{"Counter", 12, 4, {}};
  element.fields = {{"hits", Scalar::U32, 0}, {"total", Scalar::F32, 4}, {"low", Scalar::I32, 8}};
  Shapes k("counters");
  const auto x = k.span_parameter("x", element, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId at = k.op(Op::And, {i, k.constant_i32(3)});
  k.atomic(Op::AtomicAdd, x, {at, k.constant(Scalar::U32, 1)}, 0);
  k.atomic(Op::AtomicAdd, x, {at, k.cast(Scalar::F32, i)}, 1);
  k.atomic(Op::AtomicMin, x, {at, k.op(Op::Neg, {i})}, 2);
  check({.kernel = k.finish(), .shape = over(256), .arguments = {zeros(4, 12)}, .options = {}});
}

}  // namespace
}  // namespace salvo::conformance
