// Elements of every type, records, tables of arguments, shared and local arrays, atomics.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "backends/interpreter/lanes.hpp"
#include "unit/interpreter_support.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// y[i] = x[i], through the compute type.
ir::Kernel copy_kernel(Scalar from, Scalar to) {
  test::Shapes b("copy");
  const auto x = b.span_parameter("x", Element::scalar(from), true);
  const auto y = b.span_parameter("y", Element::scalar(to), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.store(y, i, b.cast(ir::compute_type(to), b.load(x, i)));
  return b.finish();
}

template <class From, class To>
std::vector<To> copied(Scalar from, Scalar to, std::vector<From> x) {
  std::vector<To> y(x.size());
  const auto threads = static_cast<std::uint32_t>(x.size());
  run_sound(copy_kernel(from, to), shape(1, threads), {on(x), unwritten(y)});
  return y;
}

TEST(InterpreterMemory, NarrowIntegersWidenWhenLoadedAndAreCutWhenStored) {
  using I32 = std::vector<std::int32_t>;
  EXPECT_EQ((copied<std::int8_t, std::int32_t>(Scalar::I8, Scalar::I32, {-1, 127, -128})),
            (I32{-1, 127, -128}));
  EXPECT_EQ((copied<std::uint8_t, std::int32_t>(Scalar::U8, Scalar::I32, {255, 1})), (I32{255, 1}));
  EXPECT_EQ((copied<std::int16_t, std::int32_t>(Scalar::I16, Scalar::I32, {-32768})),
            (I32{-32768}));
  EXPECT_EQ((copied<std::uint16_t, std::int32_t>(Scalar::U16, Scalar::I32, {65535})), (I32{65535}));
  EXPECT_EQ((copied<std::int32_t, std::int8_t>(Scalar::I32, Scalar::I8, {0x1ff, 0x180, -2})),
            (std::vector<std::int8_t>{-1, -128, -2}));
  EXPECT_EQ((copied<std::int32_t, std::uint16_t>(Scalar::I32, Scalar::U16, {0x1'2345, -1})),
            (std::vector<std::uint16_t>{0x2345, 0xffff}));
}

TEST(InterpreterMemory, BoolsAreOneByteOfZeroOrOne) {
  EXPECT_EQ((copied<std::int32_t, std::uint8_t>(Scalar::I32, Scalar::Bool, {0, 256, -1})),
            (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_EQ((copied<std::uint8_t, std::int32_t>(Scalar::Bool, Scalar::I32, {0, 1, 7})),
            (std::vector<std::int32_t>{0, 1, 1}));
}

TEST(InterpreterMemory, ShortFloatsAreRoundedWhenStored) {
  EXPECT_EQ((copied<float, std::uint16_t>(Scalar::F32, Scalar::F16,
                                          {1.0f, 1.00048828125f, 65520.0f, 0x1p-24f, -0.0f})),
            (std::vector<std::uint16_t>{0x3c00, 0x3c00, 0x7c00, 0x0001, 0x8000}));
  EXPECT_EQ((copied<float, std::uint16_t>(Scalar::F32, Scalar::BF16,
                                          {1.0f, 1.00390625f, 1.01171875f, 3.4e38f})),
            (std::vector<std::uint16_t>{0x3f80, 0x3f80, 0x3f82, 0x7f80}));
  EXPECT_EQ((copied<std::uint16_t, float>(Scalar::F16, Scalar::F32, {0x3555, 0x0001})),
            (std::vector<float>{0x1.554p-2f, 0x1p-24f}));
}

TEST(InterpreterMemory, SixtyFourBitElements) {
  EXPECT_EQ((copied<std::int64_t, std::uint64_t>(Scalar::I64, Scalar::U64, {-1})),
            (std::vector<std::uint64_t>{~std::uint64_t{0}}));
  EXPECT_EQ((copied<double, float>(Scalar::F64, Scalar::F32, {0.1})), (std::vector<float>{0.1f}));
}

TEST(InterpreterMemory, ScalarParametersAreReadAsTheirComputeType) {
  test::Shapes b("scalars");
  const auto y = b.span_parameter("y", Element::scalar(Scalar::F64), false);
  const Scalar types[] = {Scalar::I8,   Scalar::U8,  Scalar::I16, Scalar::F16,
                          Scalar::BF16, Scalar::U64, Scalar::F32, Scalar::Bool};
  int index = 0;
  for (const Scalar type : types) {
    const auto p = b.scalar_parameter(std::string(ir::name(type)), type);
    b.store(y, b.constant_i32(index++), b.cast(Scalar::F64, b.param(p)));
  }
  std::vector<double> values(std::size(types));
  run_sound(b.kernel(), shape(1, 1),
            {unwritten(values), HostArgument::scalar(0x80), HostArgument::scalar(0x80),
             HostArgument::scalar(0xfffe), HostArgument::scalar(0xc000),
             HostArgument::scalar(0x4040), HostArgument::scalar(std::uint64_t{1} << 63),
             HostArgument::scalar(to_slot(0.5f)), HostArgument::scalar(1)});
  EXPECT_EQ(values, (std::vector<double>{-128, 128, -2, -2, 3, 0x1p63, 0.5, 1}));
}

TEST(InterpreterMemory, IndicesOfEveryIntegerType) {
  for (const Scalar type : {Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64}) {
    test::Shapes b("indices");
    const auto y = b.span_parameter("y", Element::scalar(Scalar::I32), false);
    const ValueId i = b.position(Op::ThreadIdx, 0);
    b.store(y, b.cast(type, i), i);
    std::vector<std::int32_t> values(3);
    run_sound(b.kernel(), shape(1, 3), {unwritten(values)});
    EXPECT_EQ(values, (std::vector<std::int32_t>{0, 1, 2})) << ir::name(type);
  }
}

struct Particle {
  float x;
  float y;
  std::int16_t kind;
  bool alive;
  double mass;
};

Element particle_element() {
  return {"Particle",
          sizeof(Particle),
          alignof(Particle),
          {{"pos.x", Scalar::F32, offsetof(Particle, x)},
           {"pos.y", Scalar::F32, offsetof(Particle, y)},
           {"kind", Scalar::I16, offsetof(Particle, kind)},
           {"alive", Scalar::Bool, offsetof(Particle, alive)},
           {"mass", Scalar::F64, offsetof(Particle, mass)}}};
}

TEST(InterpreterMemory, RecordsHaveTheHostsLayout) {
  test::Shapes b("records");
  const auto p = b.span_parameter("p", particle_element(), false);
  const ValueId i = b.position(Op::ThreadIdx, 0);
  b.store(p, i, b.op(Op::Add, {b.load(p, i, 0), b.load(p, i, 1)}), 1);
  b.store(p, i, b.op(Op::Sub, {b.load(p, i, 2), b.constant_i32(1)}), 2);
  b.store(p, i, b.op(Op::Not, {b.load(p, i, 3)}), 3);
  b.store(p, i, b.op(Op::Mul, {b.load(p, i, 4), b.load(p, i, 4)}), 4);
  std::vector<Particle> particles{{1, 2, -32768, true, 3}, {10, 20, 5, false, -4}};
  run_sound(b.kernel(), shape(1, 2), {on(particles)});
  EXPECT_EQ(particles[0].x, 1.0f);
  EXPECT_EQ(particles[0].y, 3.0f);
  EXPECT_EQ(particles[0].kind, 32767);
  EXPECT_FALSE(particles[0].alive);
  EXPECT_EQ(particles[0].mass, 9.0);
  EXPECT_EQ(particles[1].y, 30.0f);
  EXPECT_EQ(particles[1].kind, 4);
  EXPECT_TRUE(particles[1].alive);
  EXPECT_EQ(particles[1].mass, 16.0);
}

TEST(InterpreterMemory, SlotsSelectAmongTheArgumentsOfATable) {
  test::Shapes b("table");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), true, 3);
  const auto y = b.span_parameter("y", Element::scalar(Scalar::I32), false, 3);
  const auto factor = b.scalar_parameter("factor", Scalar::I32, 3);
  const ValueId slot = b.position(Op::BlockIdx, 0);
  const ValueId i = b.position(Op::ThreadIdx, 0);
  const ValueId inside = b.op(Op::Lt, {b.cast(Scalar::I64, i), b.length(x, slot)});
  b.if_else(inside, [&] {
    const ValueId scaled = b.op(Op::Mul, {b.load(x, i, 0, slot), b.param(factor, slot)});
    b.store(y, i, scaled, 0, slot);
  });
  std::vector<std::int32_t> x0{1, 2}, x1{3}, x2{4, 5, 6};
  std::vector<std::int32_t> y0(2), y1(1), y2(3);
  run_sound(b.kernel(), shape(3, 4),
            {on(x0), on(x1), on(x2), unwritten(y0), unwritten(y1), unwritten(y2),
             HostArgument::scalar(10), HostArgument::scalar(100),
             HostArgument::scalar(static_cast<std::uint32_t>(-1))});
  EXPECT_EQ(y0, (std::vector<std::int32_t>{10, 20}));
  EXPECT_EQ(y1, (std::vector<std::int32_t>{300}));
  EXPECT_EQ(y2, (std::vector<std::int32_t>{-4, -5, -6}));
}

TEST(InterpreterMemory, SlotPastTheTableIsAnErrorOfTheKernel) {
  test::Shapes b = kernel_named("table");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), false, 2);
  b.store(x, b.constant_i32(0), b.constant_i32(0), 0, b.constant_i32(2));
  std::vector<std::int32_t> x0(1), x1(1);
  try {
    run_sound(b.kernel(), shape(1, 1), {on(x0), on(x1)});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_kernel);
    EXPECT_EQ(error.message(),
              "slot 2 of x past its 2 arguments, by thread (0,0,0) of block (0,0,0)");
  }
}

/// Sums 128 elements of each block in shared memory, halving the number of threads each round.
ir::Kernel reduction_kernel(std::uint32_t shared_count) {
  test::Shapes b("reduce");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), true);
  const auto sums = b.span_parameter("sums", Element::scalar(Scalar::I32), false);
  const auto partial = b.shared_array("partial", Element::scalar(Scalar::I32), shared_count);
  const auto width = b.variable("width", Scalar::I32);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.store(partial, t, b.load(x, b.position(Op::GlobalIdx, 0)));
  b.var_set(width, b.op(Op::Div, {b.position(Op::BlockDim, 0), b.constant_i32(2)}));
  b.while_loop(
      [&] {
        return b.op(Op::Gt, {b.var_get(width), b.constant_i32(0)});
      },
      [&] {
        b.statement(Op::Barrier);
        const ValueId half = b.var_get(width);
        b.if_else(b.op(Op::Lt, {t, half}), [&] {
          const ValueId other = b.load(partial, b.op(Op::Add, {t, half}));
          b.store(partial, t, b.op(Op::Add, {b.load(partial, t), other}));
        });
        b.var_set(width, b.op(Op::Div, {half, b.constant_i32(2)}));
      });
  b.if_else(b.op(Op::Eq, {t, b.constant_i32(0)}),
            [&] { b.store(sums, b.position(Op::BlockIdx, 0), b.load(partial, t)); });
  return b.finish();
}

TEST(InterpreterMemory, BarriersOrderATreeReduction) {
  std::vector<std::int32_t> x(4 * 128);
  std::iota(x.begin(), x.end(), 0);
  for (const std::uint32_t dynamic : {0u, 128u}) {
    std::vector<std::int32_t> sums(4);
    run_sound(reduction_kernel(dynamic == 0 ? 128 : 0), {{4, 1, 1}, {128, 1, 1}, dynamic * 4},
              {on(x), unwritten(sums)});
    EXPECT_EQ(sums, (std::vector<std::int32_t>{8128, 24512, 40896, 57280}));
  }
}

TEST(InterpreterMemory, EachThreadHasItsLocalArray) {
  test::Shapes b("locals");
  const auto y = b.span_parameter("y", Element::scalar(Scalar::I32), false);
  const auto digits = b.local_array("digits", Element::scalar(Scalar::U8), 3);
  const ValueId i = b.position(Op::ThreadIdx, 0);
  for (int k = 0; k < 3; ++k) {
    const ValueId digit = b.op(Op::Mul, {i, b.constant_i32(k + 1)});
    b.store(digits, b.constant_i32(k), b.cast(Scalar::U32, digit));
  }
  const ValueId picked = b.load(digits, b.op(Op::Rem, {i, b.constant_i32(3)}));
  b.store(y, i, b.cast(Scalar::I32, picked));
  std::vector<std::int32_t> values(6);
  run_sound(b.kernel(), shape(1, 6), {unwritten(values)});
  EXPECT_EQ(values, (std::vector<std::int32_t>{0, 2, 6, 3, 8, 15}));
}

TEST(InterpreterMemory, HistogramWithAtomicsOnSharedAndGlobalMemory) {
  test::Shapes b("histogram");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::U8), true);
  const auto bins = b.span_parameter("bins", Element::scalar(Scalar::U32), false);
  const auto own = b.shared_array("own", Element::scalar(Scalar::U32), 4);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  const ValueId one = b.constant(Scalar::U32, 1);
  const ValueId first = b.op(Op::Lt, {t, b.constant_i32(4)});
  b.if_else(first, [&] { b.store(own, t, b.constant(Scalar::U32, 0)); });
  b.statement(Op::Barrier);
  b.atomic(Op::AtomicAdd, own, {b.load(x, b.position(Op::GlobalIdx, 0)), one});
  b.statement(Op::Barrier);
  b.if_else(first, [&] { b.atomic(Op::AtomicAdd, bins, {t, b.load(own, t)}); });
  std::vector<std::uint8_t> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i % 7 % 4);
  std::vector<std::uint32_t> counts(4);
  run_sound(b.kernel(), shape(4, 16), {on(values), on(counts)});
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{19, 18, 18, 9}));
}

/// What memory holds after one atomic, and what the atomic gave back.
std::pair<std::uint64_t, std::uint64_t> atomic(Op op, Scalar type, std::uint64_t old,
                                               std::vector<std::uint64_t> operands) {
  test::Shapes b("atomic");
  const auto x = b.span_parameter("x", Element::scalar(type), false);
  const auto y = b.span_parameter("y", Element::scalar(type), false);
  const ValueId zero = b.constant_i32(0);
  ir::Node node = test::make_node(op, type, {zero});
  for (const std::uint64_t operand : operands) {
    node.operands[node.operand_count++] = b.constant(type, operand);
  }
  node.memory = x;
  b.store(y, zero, b.append(node));
  std::vector<std::uint64_t> memory{old, 0};
  const std::size_t size = ir::size_of(type);
  run_sound(
      b.kernel(), shape(1, 1),
      {HostArgument{&memory[0], size, 1, 0, true}, HostArgument{&memory[1], size, 1, 0, true}});
  return {memory[0], memory[1]};
}

TEST(InterpreterMemory, AtomicsUpdateAndReturnTheOldValue) {
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(atomic(Op::AtomicAdd, Scalar::I32, 0x7fff'ffff, {1}), (Pair{0x8000'0000, 0x7fff'ffff}));
  EXPECT_EQ(atomic(Op::AtomicSub, Scalar::U64, 0, {1}), (Pair{ones, 0}));
  EXPECT_EQ(atomic(Op::AtomicExchange, Scalar::U32, 5, {6}), (Pair{6, 5}));
  EXPECT_EQ(atomic(Op::AtomicMin, Scalar::I32, 5, {0xffff'ffff}), (Pair{0xffff'ffff, 5}));
  EXPECT_EQ(atomic(Op::AtomicMin, Scalar::U32, 5, {0xffff'ffff}), (Pair{5, 5}));
  EXPECT_EQ(atomic(Op::AtomicMax, Scalar::I64, 5, {ones}), (Pair{5, 5}));
  EXPECT_EQ(atomic(Op::AtomicMax, Scalar::U64, 5, {ones}), (Pair{ones, 5}));
  EXPECT_EQ(atomic(Op::AtomicAnd, Scalar::U32, 12, {10}), (Pair{8, 12}));
  EXPECT_EQ(atomic(Op::AtomicOr, Scalar::U32, 12, {10}), (Pair{14, 12}));
  EXPECT_EQ(atomic(Op::AtomicXor, Scalar::I64, 12, {10}), (Pair{6, 12}));
  EXPECT_EQ(atomic(Op::AtomicCompareExchange, Scalar::U32, 12, {12, 99}), (Pair{99, 12}));
  EXPECT_EQ(atomic(Op::AtomicCompareExchange, Scalar::I64, 12, {13, 99}), (Pair{12, 12}));
  EXPECT_EQ(atomic(Op::AtomicAdd, Scalar::F32, to_slot(0.1f), {to_slot(0.2f)}),
            (Pair{to_slot(0.1f + 0.2f), to_slot(0.1f)}));
  EXPECT_EQ(atomic(Op::AtomicAdd, Scalar::F64, to_slot(0.1), {to_slot(0.2)}),
            (Pair{to_slot(0.1 + 0.2), to_slot(0.1)}));
}

TEST(InterpreterMemory, AtomicsOfOneLaunchCountEveryThread) {
  test::Shapes b("tickets");
  const auto counter = b.span_parameter("counter", Element::scalar(Scalar::I32), false);
  const auto taken = b.span_parameter("taken", Element::scalar(Scalar::I32), false);
  const ValueId ticket = b.atomic(Op::AtomicAdd, counter, {b.constant_i32(0), b.constant_i32(1)});
  b.store(taken, ticket, b.position(Op::GlobalIdx, 0));
  std::vector<std::int32_t> count(1);
  std::vector<std::int32_t> order(96);
  run_sound(b.kernel(), shape(3, 32), {on(count), unwritten(order)});
  EXPECT_EQ(count[0], 96);
  std::vector<std::int32_t> expected(96);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(InterpreterMemory, EmptySpansAndEmptyGridsRun) {
  test::Shapes b("empty");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  const ValueId i = b.position(Op::ThreadIdx, 0);
  const ValueId inside = b.op(Op::Lt, {b.cast(Scalar::I64, i), b.length(x)});
  b.if_else(inside, [&] { b.store(x, i, i); });
  std::vector<std::int32_t> none;
  run_sound(b.kernel(), shape(1, 8), {on(none)});
  std::vector<std::int32_t> one{7};
  run_sound(b.kernel(), shape(0, 8), {on(one)});
  EXPECT_EQ(one[0], 7);
}

}  // namespace
}  // namespace salvo::backends::interpreter
