// Every arithmetic, bit and comparison operation on every compute type, at its edges.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

std::vector<Output> apply(Shapes& kernel, std::initializer_list<Op> ops,
                          std::initializer_list<ValueId> operands) {
  std::vector<Output> outputs;
  for (Op op : ops) outputs.push_back({std::string(name(op)), kernel.op(op, operands)});
  return outputs;
}

class Integers : public OnType {};
SALVO_ON_TYPES(Integers, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64);

TEST_P(Integers, ArithmeticWrapsAndDividesTowardZero) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("arithmetic", {type, type}, combinations({type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel,
                                   {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::Min, Op::Max},
                                   {x[0], x[1]});
                    }));
}

TEST_P(Integers, BitsAndShiftsTakeCountsModuloTheWidth) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("bits", {type, type}, combinations({type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel,
                                   {Op::And, Op::Or, Op::Xor, Op::Shl, Op::Shr, Op::ShrLogical},
                                   {x[0], x[1]});
                    }));
}

TEST_P(Integers, UnaryOperationsAtTheirEdges) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise(
      "unary", {type}, combinations({type}), [](Shapes& kernel, const std::vector<ValueId>& x) {
        return apply(kernel, {Op::Neg, Op::Abs, Op::Not, Op::Clz, Op::Popcount}, {x[0]});
      }));
}

TEST_P(Integers, DivisionByConstantsMatchesDivisionByValues) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("constant_divisor", {type}, combinations({type}),
                    [&](Shapes& kernel, const std::vector<ValueId>& x) {
                      std::vector<Output> outputs;
                      for (std::uint64_t divisor : {0ull, 1ull, ~0ull, 7ull, ~6ull, 64ull}) {
                        const std::uint64_t bits =
                            ir::size_of(type) == 8 ? divisor : divisor & 0xffffffffu;
                        const ValueId by = kernel.constant(type, bits);
                        const std::string suffix = std::to_string(divisor % 1000);
                        outputs.push_back({"div" + suffix, kernel.op(Op::Div, {x[0], by})});
                        outputs.push_back({"rem" + suffix, kernel.op(Op::Rem, {x[0], by})});
                      }
                      return outputs;
                    }));
}

TEST_P(Integers, ShiftsByConstants) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("constant_shift", {type}, combinations({type}),
                    [&](Shapes& kernel, const std::vector<ValueId>& x) {
                      std::vector<Output> outputs;
                      for (std::uint64_t count : {0, 1, 31, 32, 33, 63, 64, 65}) {
                        const ValueId by = kernel.constant(type, count);
                        for (Op op : {Op::Shl, Op::Shr, Op::ShrLogical}) {
                          outputs.push_back({std::string(name(op)) + std::to_string(count),
                                             kernel.op(op, {x[0], by})});
                        }
                      }
                      return outputs;
                    }));
}

class Floats : public OnType {};
SALVO_ON_TYPES(Floats, Scalar::F32, Scalar::F64);

TEST_P(Floats, ArithmeticRoundsOnce) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("arithmetic", {type, type}, combinations({type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel, {Op::Add, Op::Sub, Op::Mul, Op::Div}, {x[0], x[1]});
                    }));
}

TEST_P(Floats, MinAndMaxOrderZerosAndPassOverNan) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("extrema", {type, type}, combinations({type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel, {Op::Min, Op::Max}, {x[0], x[1]});
                    }));
}

TEST_P(Floats, UnaryOperationsAreExact) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("unary", {type}, combinations({type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel,
                                   {Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Ceil, Op::Round,
                                    Op::Trunc, Op::IsNan, Op::IsInf},
                                   {x[0]});
                    }));
}

TEST_P(Floats, FmodAndCopysignAreExact) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("exact_math", {type, type}, combinations({type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel, {Op::Fmod, Op::Copysign}, {x[0], x[1]});
                    }));
}

TEST_P(Floats, FmaRoundsOnceAndMultiplyAddTwice) {
  const Scalar type = std::get<1>(GetParam());
  if (!driver().properties().fast_fma) GTEST_SKIP() << "the device has no fma of its own";
  check(elementwise("fma", {type, type, type}, combinations({type, type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      const ValueId product = kernel.op(Op::Mul, {x[0], x[1]});
                      return std::vector<Output>{{"once", kernel.op(Op::Fma, {x[0], x[1], x[2]})},
                                                 {"twice", kernel.op(Op::Add, {product, x[2]})}};
                    }));
}

class ComputeTypes : public OnType {};
SALVO_ON_TYPES(ComputeTypes, Scalar::Bool, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64,
               Scalar::F32, Scalar::F64);

TEST_P(ComputeTypes, ComparisonsFollowTheType) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise(
      "compare", {type, type}, combinations({type, type}),
      [&](Shapes& kernel, const std::vector<ValueId>& x) {
        if (type == Scalar::Bool) return apply(kernel, {Op::Eq, Op::Ne}, {x[0], x[1]});
        return apply(kernel, {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge}, {x[0], x[1]});
      }));
}

TEST_P(ComputeTypes, SelectKeepsTheBits) {
  const Scalar type = std::get<1>(GetParam());
  check(elementwise("choose", {Scalar::Bool, type, type}, combinations({Scalar::Bool, type, type}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return apply(kernel, {Op::Select}, {x[0], x[1], x[2]});
                    }));
}

TEST_P(ComputeTypes, ConstantsKeepTheirBits) {
  const Scalar type = std::get<1>(GetParam());
  const auto& bits = edge_bits(type);
  Shapes kernel("constants");
  const ir::MemoryId y = kernel.span_parameter("y", ir::Element::scalar(type), false);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    kernel.store(y, kernel.constant_i32(static_cast<std::int32_t>(i)),
                 kernel.constant(type, bits[i]));
  }
  check({.kernel = kernel.finish(),
         .shape = {},
         .arguments = {zeros(bits.size(), ir::size_of(type))},
         .options = {}});
}

class Booleans : public OnDevice {};
SALVO_ON_DEVICES(Booleans);

TEST_P(Booleans, LogicHoldsForAllPairs) {
  check(elementwise(
      "logic", {Scalar::Bool, Scalar::Bool}, combinations({Scalar::Bool, Scalar::Bool}),
      [](Shapes& kernel, const std::vector<ValueId>& x) {
        std::vector<Output> outputs = apply(kernel, {Op::And, Op::Or, Op::Xor}, {x[0], x[1]});
        outputs.push_back({"not", kernel.op(Op::Not, {x[0]})});
        return outputs;
      }));
}

class Casts : public OnType {};
SALVO_ON_TYPES(Casts, Scalar::Bool, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F32,
               Scalar::F64);

TEST_P(Casts, ToEveryTypeThatNeedsNoF64) {
  const Scalar from = std::get<1>(GetParam());
  check(elementwise(
      "cast", {from}, combinations({from}), [&](Shapes& kernel, const std::vector<ValueId>& x) {
        std::vector<Output> outputs;
        for (Scalar to :
             {Scalar::Bool, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F32}) {
          if (to == from) continue;
          outputs.push_back({"to_" + std::string(name(to)), kernel.cast(to, x[0])});
        }
        return outputs;
      }));
}

TEST_P(Casts, ToF64) {
  const Scalar from = std::get<1>(GetParam());
  if (from == Scalar::F64) GTEST_SKIP() << "a cast to the same type is none";
  check(elementwise("cast", {from}, combinations({from}),
                    [](Shapes& kernel, const std::vector<ValueId>& x) {
                      return std::vector<Output>{{"to_f64", kernel.cast(Scalar::F64, x[0])}};
                    }));
}

TEST_P(Casts, BitcastKeepsTheBits) {
  const Scalar from = std::get<1>(GetParam());
  if (from == Scalar::Bool) GTEST_SKIP() << "no other type has the width of a Bool";
  check(elementwise(
      "bitcast", {from}, combinations({from}), [&](Shapes& kernel, const std::vector<ValueId>& x) {
        std::vector<Output> outputs;
        for (Scalar to :
             {Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F32, Scalar::F64}) {
          if (to == from || ir::size_of(to) != ir::size_of(from)) continue;
          if (to == Scalar::F64 && !driver().properties().fp64) continue;
          ir::Node node = test::make_node(Op::Bitcast, to, {x[0]});
          outputs.push_back({"as_" + std::string(name(to)), kernel.append(node)});
        }
        return outputs;
      }));
}

}  // namespace
}  // namespace salvo::conformance
