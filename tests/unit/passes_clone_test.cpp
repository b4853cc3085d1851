// Copies of kernels: equal where nothing is replaced, remapped and replaced as asked.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/clone.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::passes {
namespace {

using ir::Element;
using ir::kNoValue;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Uses every kind of nesting, operands across blocks, all tables and several lines.
ir::Kernel sample() {
  test::Shapes b("sample");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  const std::uint32_t n = b.scalar_parameter("n", Scalar::I32);
  const std::uint32_t v = b.variable("v", Scalar::I32);
  b.at("a.cpp", 1);
  const ValueId limit = b.param(n);
  const ValueId zero = b.constant_i32(0);
  const ValueId one = b.constant_i32(1);
  b.var_set(v, zero);
  b.at("a.cpp", 2);
  b.for_up(zero, limit, one, [&](ValueId outer) {
    b.for_up(zero, outer, one, [&](ValueId inner) {
      b.at("b.cpp", 3);
      b.while_loop(
          [&] {
            return b.op(Op::Lt, {b.var_get(v), inner});
          },
          [&] {
            b.var_set(v, b.op(Op::Add, {b.var_get(v), outer}));
          });
    });
  });
  b.at("a.cpp", 4);
  b.switch_on(limit, {1, 2},
              {[&] { b.store(x, zero, one); }, nullptr,
               [&] {
                 b.if_else(b.op(Op::Eq, {limit, one}), [&] { b.statement(Op::Return); });
               }});
  return b.finish();
}

TEST(PassesClone, CopyPrintsAsTheOriginalDoesOnceNumberedInOrder) {
  const ir::Kernel original = sample();
  const ir::Kernel once = copy(original);
  EXPECT_THAT(ir::verify(original), IsEmpty());
  EXPECT_THAT(ir::verify(once), IsEmpty());
  EXPECT_EQ(once.nodes.size(), original.nodes.size());
  EXPECT_EQ(once.locations, original.locations);
  EXPECT_EQ(ir::print(copy(once), true), ir::print(once, true));
  EXPECT_EQ(ir::print(once, true),
            "kernel sample(x: span<i32>, n: i32) {\n"
            "  var v: i32\n"
            "  %0: i32 = param n  ; a.cpp:1\n"
            "  %1: i32 = constant 0  ; a.cpp:1\n"
            "  %2: i32 = constant 1  ; a.cpp:1\n"
            "  var_set v %1  ; a.cpp:1\n"
            "  %4 = for %1, %0, %2  ; a.cpp:2\n"
            "    %5: i32 = for_index %4  ; a.cpp:2\n"
            "    %6 = for %1, %5, %2  ; a.cpp:2\n"
            "      %7: i32 = for_index %6  ; a.cpp:2\n"
            "      while %10  ; b.cpp:3\n"
            "        %9: i32 = var_get v  ; b.cpp:3\n"
            "        %10: bool = lt %9, %7  ; b.cpp:3\n"
            "      do:\n"
            "        %11: i32 = var_get v  ; b.cpp:3\n"
            "        %12: i32 = add %11, %5  ; b.cpp:3\n"
            "        var_set v %12  ; b.cpp:3\n"
            "  switch %0  ; a.cpp:4\n"
            "  case 1:\n"
            "    store x[%1] %2  ; a.cpp:4\n"
            "  case 2:\n"
            "  default:\n"
            "    %16: bool = eq %0, %2  ; a.cpp:4\n"
            "    if %16  ; a.cpp:4\n"
            "      return  ; a.cpp:4\n"
            "}\n");
}

TEST(PassesClone, DropsWhatNoBlockLists) {
  ir::Kernel kernel = sample();
  kernel.nodes.push_back(kernel.nodes[0]);
  kernel.blocks.emplace_back();
  kernel.locations.push_back({"unused.cpp", 9});
  EXPECT_FALSE(ir::verify(kernel).empty());
  EXPECT_EQ(ir::print(copy(kernel), true), ir::print(copy(sample()), true));
  EXPECT_THAT(ir::verify(copy(kernel)), IsEmpty());
  EXPECT_EQ(copy(kernel).locations, sample().locations);
}

TEST(PassesClone, MapsTablesIntoAnotherKernel) {
  const ir::Kernel from = sample();
  test::Shapes to("to");
  to.at("b.cpp", 3);
  const ir::MemoryId first = to.span_parameter("first", Element::scalar(Scalar::F32), true);
  const std::uint32_t size = to.scalar_parameter("size", Scalar::I32);
  const ir::MemoryId second = to.span_parameter("second", Element::scalar(Scalar::I32), false);
  to.variable("w", Scalar::F32);
  to.load(first, to.constant_i32(0));
  for (int repeat = 0; repeat < 2; ++repeat) {
    Cloner cloner(from, to);
    cloner.memories = {second};
    cloner.parameters = {ir::kNone, size};
    cloner.block(from.body);
    EXPECT_EQ(cloner.variables[0], 1U + static_cast<std::uint32_t>(repeat));
  }
  const ir::Kernel made = to.finish();
  EXPECT_THAT(ir::verify(made), IsEmpty());
  EXPECT_EQ(made.variables.size(), 3U);
  EXPECT_EQ(made.locations.size(), 4U);  // a.cpp's three lines and the one that was there
  const std::string text = ir::print(made);
  EXPECT_THAT(text, HasSubstr("= param size\n"));
  EXPECT_THAT(text, HasSubstr("store second["));
  EXPECT_THAT(text, HasSubstr("var_get v#1\n"));
  EXPECT_THAT(text, HasSubstr("var_get v#2\n"));
}

TEST(PassesClone, ReplacesLeavesAndStatements) {
  const ir::Kernel made = copy(sample(), [](Cloner& cloner, ValueId, const ir::Node& node) {
    ir::Builder& b = cloner.builder();
    if (node.op == Op::Param) return b.constant_i32(42);
    if (node.op == Op::Return) return Cloner::kReplacedStatement;
    if (node.op == Op::Store) {
      return b.store(node.memory, cloner.value(node.operands[0]),
                     b.op(Op::Neg, {cloner.value(node.operands[1])}));
    }
    return kNoValue;
  });
  EXPECT_THAT(ir::verify(made), IsEmpty());
  const std::string text = ir::print(made, true);
  EXPECT_THAT(text, HasSubstr("%0: i32 = constant 42  ; a.cpp:1\n"));
  EXPECT_THAT(text, HasSubstr("neg %2  ; a.cpp:4\n    store x[%1] %15  ; a.cpp:4\n"));
  EXPECT_THAT(text, Not(HasSubstr("return")));
  EXPECT_THAT(text, Not(HasSubstr("param")));
}

TEST(PassesClone, BoundValuesStandForTheOriginals) {
  const ir::Kernel from = sample();
  test::Shapes to("to");
  const ValueId seven = to.constant_i32(7);
  Cloner cloner(from, to);
  cloner.memories = {to.span_parameter("x", Element::scalar(Scalar::I32), false)};
  // The first case stores the constant one at the constant zero, both made outside it.
  const ir::Node& choice = from.nodes[from.blocks[from.body].nodes.back()];
  cloner.bind(1, seven);
  cloner.bind(2, seven);
  cloner.block(choice.blocks[0]);
  EXPECT_THAT(ir::print(to.kernel()), HasSubstr("store x[%0] %0\n"));
}

}  // namespace
}  // namespace salvo::passes
