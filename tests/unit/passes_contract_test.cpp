// Which multiplies and adds are fused, that a kernel never grows, and what the results are.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "ir/print.hpp"
#include "passes/contract.hpp"
#include "unit/interpreter_support.hpp"

namespace salvo::passes {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;

constexpr int kInputs = 8;

/// A kernel of one thread: input v(k) is element k of `in`, results go to `out`.
struct Straight {
  Shapes b{"k"};
  ir::MemoryId in = b.span_parameter("in", Element::scalar(Scalar::F32), true);
  ir::MemoryId out = b.span_parameter("out", Element::scalar(Scalar::F32), false);
  int stores = 0;

  ValueId v(int k) { return b.load(in, b.constant_i32(k)); }
  ValueId mul(ValueId x, ValueId y) { return b.op(Op::Mul, {x, y}); }
  ValueId add(ValueId x, ValueId y) { return b.op(Op::Add, {x, y}); }
  ValueId sub(ValueId x, ValueId y) { return b.op(Op::Sub, {x, y}); }
  ValueId neg(ValueId x) { return b.op(Op::Neg, {x}); }
  ValueId div(ValueId x, ValueId y) { return b.op(Op::Div, {x, y}); }
  ValueId number(float value) { return b.constant(Scalar::F32, std::bit_cast<std::uint32_t>(value)); }
  void store(ValueId x) { b.store(out, b.constant_i32(stores++), x); }
};

int count(const ir::Kernel& kernel, Op op) {
  int found = 0;
  for (const ir::Block& block : kernel.blocks) {
    for (ValueId id : block.nodes) {
      found += kernel.node(id).op == op && is_float(kernel.node(id).type) ? 1 : 0;
    }
  }
  return found;
}

/// "mul 1 fma 2 add 1": the float operations that are left, those that there are.
std::string operations(const ir::Kernel& kernel) {
  std::string words;
  for (Op op : {Op::Mul, Op::Fma, Op::Add, Op::Sub, Op::Neg, Op::Div}) {
    if (const int n = count(kernel, op); n > 0) {
      words += (words.empty() ? "" : " ") + std::string(name(op)) + " " + std::to_string(n);
    }
  }
  return words;
}

/// Evaluates straight-line code with the host's own operations, each rounded on its own.
std::vector<float> evaluate(const ir::Kernel& kernel, const std::vector<float>& in, int outputs) {
  std::vector<float> values(kernel.nodes.size());
  std::vector<float> out(static_cast<std::size_t>(outputs));
  const auto index = [&](ValueId id) {
    return static_cast<std::size_t>(kernel.node(id).literal);
  };
  for (ValueId id : kernel.block(kernel.body).nodes) {
    const ir::Node& node = kernel.node(id);
    const auto x = [&](std::size_t k) { return values[node.operands[k]]; };
    switch (node.op) {
      case Op::Constant:
        values[id] = std::bit_cast<float>(static_cast<std::uint32_t>(node.literal));
        break;
      case Op::Load: values[id] = in[index(node.operands[0])]; break;
      case Op::Store: out[index(node.operands[0])] = x(1); break;
      case Op::Mul: values[id] = x(0) * x(1); break;
      case Op::Add: values[id] = x(0) + x(1); break;
      case Op::Sub: values[id] = x(0) - x(1); break;
      case Op::Div: values[id] = x(0) / x(1); break;
      case Op::Neg: values[id] = -x(0); break;
      case Op::Fma: values[id] = std::fma(x(0), x(1), x(2)); break;
      default: ADD_FAILURE() << "cannot evaluate " << name(node.op);
    }
  }
  return out;
}

std::vector<float> interpret(const ir::Kernel& kernel, std::vector<float> in, int outputs) {
  std::vector<float> out(static_cast<std::size_t>(outputs));
  using backends::interpreter::on;
  backends::interpreter::run_sound(kernel, backends::interpreter::shape(1, 1), {on(in), on(out)});
  return out;
}

bool same(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

std::string contracted(const std::function<void(Straight&)>& build) {
  Straight k;
  build(k);
  const ir::Kernel result = contract(k.b.kernel());
  EXPECT_TRUE(ir::verify(result).empty()) << ir::print(result);
  return operations(result);
}

TEST(PassesContract, FusesASingleSum) {
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.add(k.mul(k.v(0), k.v(1)), k.v(2))); }), "fma 1");
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.add(k.v(2), k.mul(k.v(0), k.v(1)))); }), "fma 1");
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.sub(k.mul(k.v(0), k.v(1)), k.v(2))); }),
            "fma 1 neg 1");
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.sub(k.v(2), k.mul(k.v(0), k.v(1)))); }),
            "fma 1 neg 1");
}

TEST(PassesContract, FusesOneOfTwoProductsOfASum) {
  EXPECT_EQ(contracted([](Straight& k) {
              k.store(k.add(k.mul(k.v(0), k.v(1)), k.mul(k.v(2), k.v(3))));
            }),
            "mul 1 fma 1");
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId two = k.add(k.mul(k.v(0), k.v(1)), k.mul(k.v(2), k.v(3)));
              k.store(k.add(two, k.mul(k.v(4), k.v(5))));
            }),
            "mul 1 fma 2");
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId left = k.add(k.mul(k.v(0), k.v(1)), k.mul(k.v(2), k.v(3)));
              const ValueId right = k.add(k.mul(k.v(4), k.v(5)), k.mul(k.v(6), k.v(7)));
              k.store(k.add(left, right));
            }),
            "mul 2 fma 2 add 1");
}

TEST(PassesContract, TheFirstProductOfASumIsFused) {
  Straight k;
  const ValueId a = k.v(0), b = k.v(1), c = k.v(2), d = k.v(3);
  const ValueId first = k.mul(a, b);
  const ValueId second = k.mul(c, d);
  k.store(k.add(second, first));
  const std::string text = ir::print(contract(k.b.kernel()));
  EXPECT_NE(text.find("fma %1, %3, "), std::string::npos) << text;
}

TEST(PassesContract, AProductWithFewerUsesGoesFirst) {
  // t = ab is used by both sums, u = cd by one: u takes the first, and t then keeps its product.
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId t = k.mul(k.v(0), k.v(1)), u = k.mul(k.v(2), k.v(3));
              k.store(k.add(t, u));
              k.store(k.add(t, k.v(4)));
            }),
            "mul 1 fma 1 add 1");
}

TEST(PassesContract, AllUsesOfAProductAreFusedOrNone) {
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId t = k.mul(k.v(0), k.v(1));
              k.store(k.add(t, k.v(2)));
              k.store(k.add(t, k.v(3)));
            }),
            "fma 2");
  EXPECT_EQ(contracted([](Straight& k) {  // stored too
              const ValueId t = k.mul(k.v(0), k.v(1));
              k.store(k.add(t, k.v(2)));
              k.store(t);
            }),
            "mul 1 add 1");
  EXPECT_EQ(contracted([](Straight& k) {  // multiplied too
              const ValueId t = k.mul(k.v(0), k.v(1));
              k.store(k.add(t, k.v(2)));
              k.store(k.mul(t, k.v(3)));
            }),
            "mul 2 add 1");
  EXPECT_EQ(contracted([](Straight& k) {  // added to itself
              const ValueId t = k.mul(k.v(0), k.v(1));
              k.store(k.add(t, t));
            }),
            "mul 1 add 1");
}

TEST(PassesContract, SumAndDifferenceOfTwoProducts) {
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId t = k.mul(k.v(0), k.v(1)), u = k.mul(k.v(2), k.v(3));
              k.store(k.add(t, u));
              k.store(k.sub(t, u));
            }),
            "mul 1 fma 2 neg 1");
}

TEST(PassesContract, AChainOfProductsFusesTheLast) {
  EXPECT_EQ(contracted([](Straight& k) {
              k.store(k.add(k.mul(k.mul(k.v(0), k.v(1)), k.v(2)), k.v(3)));
            }),
            "mul 1 fma 1");
}

TEST(PassesContract, RepeatedProductsAreOneInEitherOrder) {
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId a = k.v(0), b = k.v(1);
              k.store(k.add(k.mul(a, b), k.v(2)));
              k.store(k.mul(b, a));
            }),
            "mul 1 add 1");
}

TEST(PassesContract, NegationsAreLookedThrough) {
  EXPECT_EQ(contracted([](Straight& k) {
              k.store(k.add(k.neg(k.mul(k.v(0), k.v(1))), k.v(2)));
            }),
            "fma 1 neg 1");
  EXPECT_EQ(contracted([](Straight& k) {
              k.store(k.sub(k.v(2), k.neg(k.mul(k.v(0), k.v(1)))));
            }),
            "fma 1");
  EXPECT_EQ(contracted([](Straight& k) {  // t - t through a negation
              const ValueId t = k.mul(k.v(0), k.v(1));
              k.store(k.add(t, k.neg(t)));
            }),
            "mul 1 add 1 neg 1");
}

TEST(PassesContract, AConstantTakesTheSign) {
  EXPECT_EQ(contracted([](Straight& k) {
              k.store(k.sub(k.v(1), k.mul(k.v(0), k.number(3.0f))));
            }),
            "fma 1");
}

TEST(PassesContract, DivisionByAPowerOfTwoIsAProduct) {
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.add(k.div(k.v(0), k.number(4.0f)), k.v(1))); }),
            "fma 1");
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.add(k.div(k.v(0), k.number(3.0f)), k.v(1))); }),
            "add 1 div 1");
  // The inverse of 2^127 is not a normal number.
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.div(k.v(0), k.number(0x1p127f))); }), "div 1");
  EXPECT_EQ(contracted([](Straight& k) { k.store(k.div(k.v(0), k.number(0x1p126f))); }), "mul 1");
}

TEST(PassesContract, BlocksAreNotCrossed) {
  EXPECT_EQ(contracted([](Straight& k) {
              const ValueId t = k.mul(k.v(0), k.v(1));
              k.b.if_else(k.b.op(Op::Lt, {k.v(2), k.v(3)}), [&] { k.store(k.add(t, k.v(4))); });
            }),
            "mul 1 add 1");
  EXPECT_EQ(contracted([](Straight& k) {  // a loop's own product is fused
              const std::uint32_t sum = k.b.variable("sum", Scalar::F32);
              k.b.var_set(sum, k.number(0.0f));
              k.b.for_up(k.b.constant_i32(0), k.b.constant_i32(4), k.b.constant_i32(1),
                         [&](ValueId i) {
                           const ValueId t = k.mul(k.b.load(k.in, i), k.v(1));
                           k.b.var_set(sum, k.add(k.b.var_get(sum), t));
                         });
              k.store(k.b.var_get(sum));
            }),
            "fma 1");
}

TEST(PassesContract, IntegersAreLeftAlone) {
  Shapes b("k");
  const ir::MemoryId x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.store(x, i, b.op(Op::Add, {b.op(Op::Mul, {i, i}), i}));
  EXPECT_EQ(ir::print(contract(b.kernel())).find("fma"), std::string::npos);
}

/// Random straight-line code over a few inputs, with everything stored that nothing uses.
ir::Kernel random_kernel(unsigned seed, int& outputs) {
  std::mt19937 random(seed);
  Straight k;
  std::vector<ValueId> values;
  for (int i = 0; i < kInputs; ++i) values.push_back(k.v(i));
  std::vector<int> uses(values.size());
  const auto pick = [&] {
    const std::size_t which = random() % values.size();
    ++uses[which];
    return values[which];
  };
  const int length = 4 + static_cast<int>(random() % 16);
  for (int i = 0; i < length; ++i) {
    const auto kind = random() % 10;
    const ValueId x = pick();
    values.push_back(kind < 4   ? k.mul(x, pick())
                     : kind < 7 ? k.add(x, pick())
                     : kind < 9 ? k.sub(x, pick())
                                : k.neg(x));
    uses.push_back(0);
  }
  for (std::size_t i = kInputs; i < values.size(); ++i) {
    if (uses[i] == 0 || random() % 8 == 0) k.store(values[i]);
  }
  outputs = k.stores;
  return k.b.finish();
}

TEST(PassesContract, RandomKernelsNeverGrowAndComputeWhatTheirFusedFormSays) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> fraction(-2.0f, 2.0f);
  int fused = 0, differ = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    int outputs = 0;
    const ir::Kernel kernel = random_kernel(seed, outputs);
    const ir::Kernel result = contract(kernel);
    ASSERT_TRUE(ir::verify(result).empty()) << ir::print(result);
    const auto size = [](const ir::Kernel& k) {
      return count(k, Op::Mul) + count(k, Op::Add) + count(k, Op::Sub) + count(k, Op::Fma);
    };
    EXPECT_LE(size(result), size(kernel)) << "seed " << seed;
    EXPECT_EQ(ir::print(contract(kernel)), ir::print(result)) << "seed " << seed;
    fused += count(result, Op::Fma);

    std::vector<float> in(kInputs);
    for (float& value : in) value = fraction(random);
    if (seed % 5 == 0) in[seed % kInputs] = -0.0f;
    if (seed % 7 == 0) in[seed % kInputs] = std::numeric_limits<float>::infinity();
    if (seed % 11 == 0) in[seed % kInputs] = 1e-41f;
    const std::vector<float> expected = evaluate(result, in, outputs);
    const std::vector<float> apart = evaluate(kernel, in, outputs);
    const std::vector<float> got = interpret(result, in, outputs);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(same(got[i], expected[i])) << "seed " << seed << " output " << i;
      differ += same(got[i], apart[i]) ? 0 : 1;
    }
  }
  // The property would hold of a pass that does nothing; this one fuses, and results tell.
  EXPECT_GT(fused, 1000);
  EXPECT_GT(differ, 300);
}

}  // namespace
}  // namespace salvo::passes
