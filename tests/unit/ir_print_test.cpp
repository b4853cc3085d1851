// The printed form of kernels, whole texts at a time.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/builder.hpp"
#include "ir/print.hpp"

namespace salvo::ir {
namespace {

Element particle() {
  return {"Particle", 16, 8, {{"pos.x", Scalar::F64, 0}, {"id", Scalar::U16, 8}}};
}

TEST(IrPrint, ShowsDeclarationsAndStraightLineCode) {
  Builder b("move");
  const MemoryId p = b.span_parameter("p", particle(), false);
  const MemoryId q = b.span_parameter("q", Element::scalar(Scalar::F64), true, 4);
  const std::uint32_t n = b.scalar_parameter("n", Scalar::I16, 4);
  b.shared_array("tile", Element::scalar(Scalar::F32), 64);
  b.shared_array("extra", particle(), 0);
  b.local_array("tmp", Element::scalar(Scalar::I32), 3);
  const std::uint32_t sum = b.variable("sum", Scalar::F64);
  b.kernel().no_fuse = true;
  const ValueId i = b.position(Op::GlobalIdx, 1);
  const ValueId lane = b.position(Op::LaneId, 0);
  b.param(n, lane);
  b.length(q, lane);
  const ValueId v = b.load(q, i, 0, lane);
  b.var_set(sum, v);
  const ValueId total = b.var_get(sum);
  b.store(p, i, total, 0);
  b.statement(Op::Fence, 1);
  b.statement(Op::Barrier);
  EXPECT_EQ(print(b.kernel()),
            "record Particle size 16 align 8 { pos.x: f64 @0, id: u16 @8 }\n"
            "kernel move(p: span<Particle>, q: span<const f64>[4], n: i16[4]) no_fuse {\n"
            "  shared tile: f32[64]\n"
            "  shared extra: Particle[dynamic]\n"
            "  local tmp: i32[3]\n"
            "  var sum: f64\n"
            "  %0: i32 = global_idx.y\n"
            "  %1: i32 = lane_id\n"
            "  %2: i32 = param n{%1}\n"
            "  %3: i64 = length q{%1}\n"
            "  %4: f64 = load q{%1}[%0]\n"
            "  var_set sum %4\n"
            "  %6: f64 = var_get sum\n"
            "  store p[%0].pos.x %6\n"
            "  fence device\n"
            "  barrier\n"
            "}\n");
}

TEST(IrPrint, ShowsNestedControl) {
  Builder b("control");
  const MemoryId x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  const ValueId zero = b.constant_i32(0);
  const ValueId yes = b.constant_bool(true);

  Node loop;
  loop.op = Op::For;
  loop.operands = {zero, zero, zero, kNoValue};
  loop.operand_count = 3;
  loop.literal = 1;
  loop.unroll = 4;
  const ValueId for_ = b.append(loop);
  const BlockId body = b.open();
  const ValueId index = b.op(Op::ForIndex, {for_});
  Node atomic;
  atomic.op = Op::AtomicCompareExchange;
  atomic.operands = {index, zero, zero, kNoValue};
  atomic.operand_count = 3;
  atomic.memory = x;
  b.append(atomic);
  b.statement(Op::Continue);
  b.close();
  b.kernel().nodes[for_].blocks = {body};

  const BlockId condition = b.open();
  const ValueId again = b.op(Op::Not, {yes});
  b.close();
  const BlockId do_ = b.open();
  b.statement(Op::Break);
  b.close();
  Node repeat;
  repeat.op = Op::While;
  repeat.operands[0] = again;
  repeat.operand_count = 1;
  repeat.blocks = {condition, do_};
  b.append(repeat);

  const BlockId then_block = b.open();
  b.statement(Op::Return);
  b.close();
  const BlockId else_block = b.open();
  b.close();
  b.if_(yes, then_block, else_block);

  const BlockId minus_one = b.open();
  b.close();
  const BlockId otherwise = b.open();
  b.store(x, zero, zero);
  b.close();
  Node choose;
  choose.op = Op::Switch;
  choose.operands[0] = zero;
  choose.operand_count = 1;
  choose.blocks = {minus_one, otherwise};
  choose.cases = {-1};
  b.append(choose);

  EXPECT_EQ(print(b.kernel()),
            "kernel control(x: span<i32>) {\n"
            "  %0: i32 = constant 0\n"
            "  %1: bool = constant true\n"
            "  %2 = for down %0, %0, %0 unroll 4\n"
            "    %3: i32 = for_index %2\n"
            "    %4: i32 = atomic_compare_exchange x[%3] %0, %0\n"
            "    continue\n"
            "  while %6\n"
            "    %6: bool = not %1\n"
            "  do:\n"
            "    break\n"
            "  if %1\n"
            "    return\n"
            "  switch %0\n"
            "  case -1:\n"
            "  default:\n"
            "    store x[%0] %0\n"
            "}\n");
}

TEST(IrPrint, SpellsConstantsSoThatTheirBitsCanBeTold) {
  Builder b("constants");
  b.constant_i32(-5);
  b.constant(Scalar::U32, 0xffffffff);
  b.constant(Scalar::I64, std::bit_cast<std::uint64_t>(std::int64_t{-7}));
  b.constant(Scalar::U64, ~std::uint64_t{0});
  b.constant(Scalar::F32, std::bit_cast<std::uint32_t>(0.1f));
  b.constant(Scalar::F32, 0x80000000);
  b.constant(Scalar::F32, 0x7fc00001);
  b.constant(Scalar::F64, std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(print(b.kernel()),
            "kernel constants() {\n"
            "  %0: i32 = constant -5\n"
            "  %1: u32 = constant 4294967295\n"
            "  %2: i64 = constant -7\n"
            "  %3: u64 = constant 18446744073709551615\n"
            "  %4: f32 = constant 0.1\n"
            "  %5: f32 = constant -0\n"
            "  %6: f32 = constant nan(0x7fc00001)\n"
            "  %7: f64 = constant inf\n"
            "}\n");
}

TEST(IrPrint, TellsEqualNamesApartAndAddsLocationsWhenAsked) {
  Builder b("k");
  const std::uint32_t first = b.variable("v", Scalar::I32);
  const std::uint32_t second = b.variable("v", Scalar::I32);
  b.var_set(first, b.constant_i32(1));
  b.at("dir/k.cpp", 12);
  b.var_get(second);
  EXPECT_EQ(print(b.kernel(), true),
            "kernel k() {\n"
            "  var v#0: i32\n"
            "  var v#1: i32\n"
            "  %0: i32 = constant 1\n"
            "  var_set v#0 %0\n"
            "  %2: i32 = var_get v#1  ; dir/k.cpp:12\n"
            "}\n");
}

TEST(IrPrint, SurvivesMalformedKernels) {
  Builder b("bad");
  b.var_get(b.variable("v", Scalar::I32));
  Kernel kernel = b.finish();
  kernel.nodes[0].index = 9;
  Node loop;
  loop.op = Op::For;
  loop.blocks = {0};  // holds itself
  kernel.nodes.push_back(loop);
  kernel.blocks[0].nodes = {0, 77, 1};
  const std::string text = print(kernel);
  EXPECT_NE(text.find("var_get ?9"), std::string::npos) << text;
  EXPECT_NE(text.find("?77"), std::string::npos) << text;
  EXPECT_NE(text.find("?block 0"), std::string::npos) << text;
}

}  // namespace
}  // namespace salvo::ir
