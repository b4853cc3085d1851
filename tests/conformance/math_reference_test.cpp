// Math functions against results of higher precision: errors in units in the last place, which the
// bounds are stated in.
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/exceptions.hpp"
#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

using Long = long double;

/// The function on more bits than F64 has, where the host's long double does.
Long exact(Op op, Long x, Long y) {
  switch (op) {
    case Op::Rsqrt:
      return 1 / std::sqrt(x);
    case Op::Cbrt:
      return std::cbrt(x);
    case Op::Sin:
      return std::sin(x);
    case Op::Cos:
      return std::cos(x);
    case Op::Tan:
      return std::tan(x);
    case Op::Asin:
      return std::asin(x);
    case Op::Acos:
      return std::acos(x);
    case Op::Atan:
      return std::atan(x);
    case Op::Sinh:
      return std::sinh(x);
    case Op::Cosh:
      return std::cosh(x);
    case Op::Tanh:
      return std::tanh(x);
    case Op::Exp:
      return std::exp(x);
    case Op::Exp2:
      return std::exp2(x);
    case Op::Expm1:
      return std::expm1(x);
    case Op::Log:
      return std::log(x);
    case Op::Log2:
      return std::log2(x);
    case Op::Log10:
      return std::log10(x);
    case Op::Log1p:
      return std::log1p(x);
    case Op::Atan2:
      return std::atan2(x, y);
    case Op::Pow:
      return std::pow(x, y);
    default:
      return std::hypot(x, y);
  }
}

template <typename T>
class Measure {
 public:
  /// Distance of a result from the exact one, in units of the type's last place there.
  static double error(T got, Long want) {
    using Limits = std::numeric_limits<T>;
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : kFar;
    if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : kFar;
    if (std::isinf(got)) {
      // What is half a unit above the largest number rounds to infinity.
      const bool beyond = std::fabs(want) >= static_cast<Long>(Limits::max());
      return beyond && std::signbit(got) == std::signbit(want) ? 0 : kFar;
    }
    if (std::isinf(want)) return kFar;
    const int exponent = std::max(std::ilogb(want), Limits::min_exponent - 1);
    const Long unit = std::ldexp(Long{1}, exponent - (Limits::digits - 1));
    return static_cast<double>(std::fabs(static_cast<Long>(got) - want) / unit);
  }
  static constexpr double kFar = std::numeric_limits<double>::infinity();
};

class MathReference : public OnType {
 protected:
  Scalar type() const { return std::get<1>(GetParam()); }

  template <typename T>
  std::vector<std::uint64_t> arguments() const {
    std::vector<std::uint64_t> bits;
    const bool flushes = type() == Scalar::F32 && !driver().properties().denormals_f32;
    for (std::uint64_t edge : edge_bits(type())) {
      if (!flushes || !is_denormal(value<T>(edge))) bits.push_back(edge);
    }
    for (int i = 0; i < 20'000; ++i) {
      const double magnitude = std::exp2((i % 1000) * 0.05 - 30.0);
      const double one = (i % 2 == 0 ? 1 : -1) * magnitude * (1 + (i * 7919 % 1000) * 1e-3);
      bits.push_back(bits_of(static_cast<T>(one)));
    }
    return bits;
  }
  template <typename T>
  static T value(std::uint64_t bits) {
    T result;
    std::memcpy(&result, &bits, sizeof(T));
    return result;
  }
  template <typename T>
  static std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  template <typename T>
  static bool is_denormal(T value) {
    return std::fpclassify(value) == FP_SUBNORMAL;
  }

  template <typename T>
  void measure(Op op, bool two) {
    const std::vector<std::uint64_t> first = arguments<T>();
    std::vector<std::vector<std::uint64_t>> columns{first};
    if (two) columns.emplace_back(first.rbegin(), first.rend());
    const Case what =
        elementwise(std::string(name(op)), std::vector<Scalar>(columns.size(), type()), columns,
                    [&](Shapes& k, const std::vector<ValueId>& x) {
                      const ValueId y = two ? k.op(op, {x[0], x[1]}) : k.op(op, {x[0]});
                      return std::vector<Output>{{"y", y}};
                    });
    if (const std::string lacks = lacking(driver().properties(), what.kernel); !lacks.empty()) {
      GTEST_SKIP() << "the device lacks " << lacks;
    }
    const std::vector<Bytes> results = run(driver(), what);
    const Bytes& got = results.back();
    ASSERT_EQ(got.size(), first.size() * sizeof(T));
    const double bound = stated_ulps(subject(), op, type());
    const bool flushes = type() == Scalar::F32 && !driver().properties().denormals_f32;
    double worst = 0;
    int shown = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const T x = value<T>(first[i]);
      const T y = two ? value<T>(columns[1][i]) : T{0};
      T z;
      std::memcpy(&z, got.data() + i * sizeof(T), sizeof(T));
      const Long want = exact(op, x, y);
      if (flushes && std::fabs(want) < static_cast<Long>(std::numeric_limits<T>::min())) continue;
      const double error = Measure<T>::error(z, want);
      worst = std::max(worst, error);
      if (error <= bound || ++shown > 5) continue;
      ADD_FAILURE() << fmt::format("{}({}, {}) is {}, {} units from {}; {} are stated", name(op), x,
                                   y, z, error, static_cast<double>(want), bound);
    }
    RecordProperty(std::string(name(op)), fmt::format("{:.3f}", worst));
  }
  void measure(Op op, bool two = false) {
    SCOPED_TRACE(name(op));
    type() == Scalar::F32 ? measure<float>(op, two) : measure<double>(op, two);
  }
};
SALVO_ON_TYPES(MathReference, Scalar::F32, Scalar::F64);

TEST_P(MathReference, FunctionsStayWithinTheStatedUnits) {
  if (std::numeric_limits<Long>::digits <= std::numeric_limits<double>::digits &&
      type() == Scalar::F64) {
    GTEST_SKIP() << "long double is no wider than f64 here";
  }
  for (Op op : {Op::Rsqrt, Op::Cbrt, Op::Sin, Op::Cos, Op::Tan, Op::Asin, Op::Acos, Op::Atan,
                Op::Sinh, Op::Cosh, Op::Tanh, Op::Exp, Op::Exp2, Op::Expm1, Op::Log, Op::Log2,
                Op::Log10, Op::Log1p}) {
    measure(op);
  }
  for (Op op : {Op::Atan2, Op::Pow, Op::Hypot}) measure(op, true);
}

}  // namespace
}  // namespace salvo::conformance
