// Math functions stay within the bounds that are stated for the backend.
// SPDX-License-Identifier: MIT
#include <cmath>

#include <gtest/gtest.h>

#include "conformance/exceptions.hpp"
#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

class Math : public OnType {
 protected:
  Scalar type() const { return std::get<1>(GetParam()); }

  /// Edge values, and a spread over many magnitudes of both signs.
  std::vector<std::uint64_t> arguments() const {
    std::vector<std::uint64_t> bits = edge_bits(type());
    for (int i = 0; i < 4000; ++i) {
      const double magnitude = std::exp2((i % 250) * 0.17 - 26.0);
      const double value = (i % 2 == 0 ? 1 : -1) * magnitude * (1 + (i * 7919 % 1000) * 1e-3);
      bits.push_back(type() == Scalar::F32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                           : std::bit_cast<std::uint64_t>(value));
    }
    return bits;
  }

  void check_within_bound(Op op, const std::vector<std::vector<std::uint64_t>>& columns) {
    Case what =
        elementwise(std::string(name(op)), std::vector<Scalar>(columns.size(), type()), columns,
                    [&](Shapes& k, const std::vector<ValueId>& x) {
                      const ValueId y = x.size() == 1 ? k.op(op, {x[0]}) : k.op(op, {x[0], x[1]});
                      return std::vector<Output>{{"y", y}};
                    });
    what.ulps = ulp_bound(subject(), op, type());
    check(what);
  }
};
SALVO_ON_TYPES(Math, Scalar::F32, Scalar::F64);

TEST_P(Math, FunctionsOfOneArgument) {
  for (Op op : {Op::Rsqrt, Op::Cbrt, Op::Sin, Op::Cos, Op::Tan, Op::Asin, Op::Acos, Op::Atan,
                Op::Sinh, Op::Cosh, Op::Tanh, Op::Exp, Op::Exp2, Op::Expm1, Op::Log, Op::Log2,
                Op::Log10, Op::Log1p}) {
    SCOPED_TRACE(name(op));
    check_within_bound(op, {arguments()});
  }
}

TEST_P(Math, FunctionsOfTwoArguments) {
  for (Op op : {Op::Atan2, Op::Pow, Op::Hypot}) {
    SCOPED_TRACE(name(op));
    check_within_bound(op, combinations({type(), type()}));
    std::vector<std::uint64_t> first = arguments();
    std::vector<std::uint64_t> second(first.rbegin(), first.rend());
    check_within_bound(op, {first, second});
  }
}

TEST_P(Math, RoundingTiesAndLargeValues) {
  check(elementwise("roundings", {type()}, {arguments()},
                    [](Shapes& k, const std::vector<ValueId>& x) {
                      std::vector<Output> outputs;
                      for (Op op : {Op::Floor, Op::Ceil, Op::Round, Op::Trunc, Op::Sqrt}) {
                        outputs.push_back({std::string(name(op)), k.op(op, {x[0]})});
                      }
                      return outputs;
                    }));
}

}  // namespace
}  // namespace salvo::conformance
