// Kernels without returns do what they did with them, and plain guards stay plain.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/lower_returns.hpp"
#include "unit/control_evaluator.hpp"
#include "unit/random_control.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;
using ::testing::IsEmpty;

// A kernel with one span, one condition (%0) and one constant (%1) to store.
struct Sample : test::Shapes {
  Sample() : Shapes("k") {}
  ir::MemoryId x = span_parameter("x", ir::Element::scalar(Scalar::I32), false);
  std::uint32_t c = scalar_parameter("c", Scalar::Bool);
  ValueId yes = param(c);
  ValueId one = constant_i32(1);
  void put() { store(x, one, one); }
  void leave() { statement(Op::Return); }
};

std::string lowered_body(const ir::Kernel& kernel) {
  EXPECT_THAT(ir::verify(kernel), IsEmpty());
  const ir::Kernel lowered = lower_returns(kernel);
  EXPECT_THAT(ir::verify(lowered), IsEmpty());
  const std::string text = ir::print(lowered);
  const std::string head =
      "  %0: bool = param c\n"
      "  %1: i32 = constant 1\n";
  const std::size_t start = text.find(head);
  return start == std::string::npos ? text : text.substr(start + head.size());
}

TEST(PassesLowerReturns, GuardPutsTheRestIntoTheOtherBranch) {
  Sample b;
  b.if_else(b.yes, [&] { b.leave(); });
  b.put();
  b.put();
  EXPECT_EQ(lowered_body(b.kernel()),
            "  if %0\n"
            "  else:\n"
            "    store x[%1] %1\n"
            "    store x[%1] %1\n"
            "}\n");
}

TEST(PassesLowerReturns, GuardsInARowNestWithoutFlags) {
  Sample b;
  b.if_else(b.yes, [&] { b.leave(); });
  b.put();
  b.if_else(
      b.yes, [&] { b.put(); },
      [&] {
        b.put();
        b.leave();
        b.put();  // never reached
      });
  b.put();
  EXPECT_EQ(lowered_body(b.kernel()),
            "  if %0\n"
            "  else:\n"
            "    store x[%1] %1\n"
            "    if %0\n"
            "      store x[%1] %1\n"
            "      store x[%1] %1\n"
            "    else:\n"
            "      store x[%1] %1\n"
            "}\n");
}

TEST(PassesLowerReturns, BothBranchesReturningEndTheBlock) {
  Sample b;
  b.if_else(
      b.yes, [&] { b.leave(); }, [&] { b.put(), b.leave(); });
  b.put();
  EXPECT_EQ(lowered_body(b.kernel()),
            "  if %0\n"
            "  else:\n"
            "    store x[%1] %1\n"
            "}\n");
}

TEST(PassesLowerReturns, BranchThatMayReturnSetsAFlag) {
  Sample b;
  b.if_else(b.yes, [&] {
    b.if_else(b.yes, [&] { b.leave(); });
    b.put();
  });
  b.put();
  EXPECT_EQ(lowered_body(b.kernel()),
            "  %2: bool = constant false\n"
            "  var_set returned %2\n"
            "  if %0\n"
            "    if %0\n"
            "      %6: bool = constant true\n"
            "      var_set returned %6\n"
            "    else:\n"
            "      store x[%1] %1\n"
            "  %9: bool = var_get returned\n"
            "  if %9\n"
            "  else:\n"
            "    store x[%1] %1\n"
            "}\n");
}

TEST(PassesLowerReturns, ReturnInTheLastLoopIsABreak) {
  Sample b;
  b.for_up(b.one, b.one, b.one, [&](ValueId) {
    b.if_else(b.yes, [&] { b.leave(); });
    b.put();
  });
  EXPECT_EQ(lowered_body(b.kernel()),
            "  %2 = for %1, %1, %1\n"
            "    %3: i32 = for_index %2\n"
            "    if %0\n"
            "      break\n"
            "    store x[%1] %1\n"
            "}\n");
}

TEST(PassesLowerReturns, ReturnInNestedLoopsLeavesThemOneByOne) {
  Sample b;
  b.for_up(b.one, b.one, b.one, [&](ValueId) {
    b.while_loop([&] { return b.constant_bool(true); }, [&] { b.leave(); });
    b.put();
  });
  b.put();
  EXPECT_EQ(lowered_body(b.kernel()),
            "  %2: bool = constant false\n"
            "  var_set returned %2\n"
            "  %4 = for %1, %1, %1\n"
            "    %5: i32 = for_index %4\n"
            "    while %7\n"
            "      %7: bool = constant true\n"
            "    do:\n"
            "      %8: bool = constant true\n"
            "      var_set returned %8\n"
            "      break\n"
            "    %11: bool = var_get returned\n"
            "    if %11\n"
            "      break\n"
            "    store x[%1] %1\n"
            "  %15: bool = var_get returned\n"
            "  if %15\n"
            "  else:\n"
            "    store x[%1] %1\n"
            "}\n");
}

TEST(PassesLowerReturns, SwitchWithOneWayOnHasTheRestThere) {
  Sample b;
  b.switch_on(b.one, {4, 5}, {[&] { b.leave(); }, [&] { b.put(); }, [&] { b.leave(); }});
  b.put();
  EXPECT_EQ(lowered_body(b.kernel()),
            "  switch %1\n"
            "  case 4:\n"
            "  case 5:\n"
            "    store x[%1] %1\n"
            "    store x[%1] %1\n"
            "  default:\n"
            "}\n");
}

TEST(PassesLowerReturns, KernelWithoutReturnsIsUntouched) {
  Sample b;
  b.if_else(b.yes, [&] { b.put(); });
  EXPECT_EQ(ir::print(lower_returns(b.kernel())), ir::print(b.kernel()));
}

TEST(PassesLowerReturns, KeepsSourceLines) {
  Sample b;
  b.at("k.cpp", 5);
  b.if_else(b.yes, [&] { b.leave(); });
  b.at("k.cpp", 8);
  b.put();
  const std::string text = ir::print(lower_returns(b.kernel()), true);
  EXPECT_NE(text.find("  if %0  ; k.cpp:5\n  else:\n    store x[%1] %1  ; k.cpp:8\n"),
            std::string::npos)
      << text;
}

TEST(PassesLowerReturns, RandomKernelsDoTheSameMemoryOperationsInTheSameOrder) {
  std::mt19937 random(1);
  int with_return = 0, cut_short = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const ir::Kernel kernel = test::RandomControl(seed).kernel();
    ASSERT_THAT(ir::verify(kernel), IsEmpty()) << ir::print(kernel);
    const ir::Kernel lowered = lower_returns(kernel);
    ASSERT_THAT(ir::verify(lowered), IsEmpty()) << ir::print(kernel) << ir::print(lowered);
    const auto is_return = [](const ir::Node& node) { return node.op == Op::Return; };
    ASSERT_TRUE(std::none_of(lowered.nodes.begin(), lowered.nodes.end(), is_return));
    with_return += std::any_of(kernel.nodes.begin(), kernel.nodes.end(), is_return) ? 1 : 0;
    for (int run = 0; run < 8; ++run) {
      std::vector<std::int32_t> input(61);
      for (std::int32_t& value : input) value = static_cast<std::int32_t>(random() % 3);
      test::ControlEvaluator before(kernel, input), after(lowered, input);
      const std::vector<test::Event>& expected = before.run();
      ASSERT_EQ(expected, after.run()) << "seed " << seed << '\n'
                                       << ir::print(kernel) << ir::print(lowered);
      for (std::size_t v = 0; v < kernel.variables.size(); ++v) {
        ASSERT_EQ(before.variables()[v], after.variables()[v]) << "seed " << seed;
      }
      cut_short += before.returned() ? 1 : 0;
    }
  }
  // The property says something only while returns are there and are taken.
  EXPECT_GT(with_return, 1000);
  EXPECT_GT(cut_short, 5000);
}

}  // namespace
}  // namespace salvo::passes
