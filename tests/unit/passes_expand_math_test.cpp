// Expanded math functions stay within their stated bounds, against the host's long double.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "backends/interpreter/interpreter_backend.hpp"
#include "ir/builder.hpp"
#include "ir/verify.hpp"
#include "passes/expand_math.hpp"
#include "passes/expand_math_single.hpp"
#include "passes/simplify.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;

using Reference = std::function<long double(long double, long double)>;

struct Function {
  Op op;
  int operands;
  Reference exact;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {Op::Rsqrt, 1, [](auto x, auto) { return 1 / std::sqrt(x); }},
      {Op::Cbrt, 1, [](auto x, auto) { return std::cbrt(x); }},
      {Op::Sin, 1, [](auto x, auto) { return std::sin(x); }},
      {Op::Cos, 1, [](auto x, auto) { return std::cos(x); }},
      {Op::Tan, 1, [](auto x, auto) { return std::tan(x); }},
      {Op::Asin, 1, [](auto x, auto) { return std::asin(x); }},
      {Op::Acos, 1, [](auto x, auto) { return std::acos(x); }},
      {Op::Atan, 1, [](auto x, auto) { return std::atan(x); }},
      {Op::Sinh, 1, [](auto x, auto) { return std::sinh(x); }},
      {Op::Cosh, 1, [](auto x, auto) { return std::cosh(x); }},
      {Op::Tanh, 1, [](auto x, auto) { return std::tanh(x); }},
      {Op::Exp, 1, [](auto x, auto) { return std::exp(x); }},
      {Op::Exp2, 1, [](auto x, auto) { return std::exp2(x); }},
      {Op::Expm1, 1, [](auto x, auto) { return std::expm1(x); }},
      {Op::Log, 1, [](auto x, auto) { return std::log(x); }},
      {Op::Log2, 1, [](auto x, auto) { return std::log2(x); }},
      {Op::Log10, 1, [](auto x, auto) { return std::log10(x); }},
      {Op::Log1p, 1, [](auto x, auto) { return std::log1p(x); }},
      {Op::Atan2, 2, [](auto x, auto y) { return std::atan2(x, y); }},
      {Op::Pow, 2, [](auto x, auto y) { return std::pow(x, y); }},
      {Op::Hypot, 2, [](auto x, auto y) { return std::hypot(x, y); }},
      {Op::Fmod, 2, [](auto x, auto y) { return std::fmod(x, y); }},
  };
  return all;
}

using Expand = ir::Kernel (*)(const ir::Kernel& kernel);

/// Runs `op` on each pair of arguments, expanded, on the interpreter.
template <typename T>
std::vector<T> run(Op op, int operands, const std::vector<T>& x, const std::vector<T>& y,
                   Expand expand) {
  constexpr Scalar kType = sizeof(T) == 8 ? Scalar::F64 : Scalar::F32;
  ir::Builder b("math");
  const auto first = b.span_parameter("x", ir::Element::scalar(kType), true);
  const auto second = b.span_parameter("y", ir::Element::scalar(kType), true);
  const auto result = b.span_parameter("result", ir::Element::scalar(kType), false);
  const auto i = b.position(Op::GlobalIdx, 0);
  const auto a = b.load(first, i);
  const auto c = b.load(second, i);
  b.store(result, i, operands == 1 ? b.op(op, {a}) : b.op(op, {a, c}));
  const ir::Kernel kernel = simplify(expand(b.finish()));
  EXPECT_TRUE(ir::verify(kernel).empty()) << ir::verify(kernel).front();

  static const auto devices = backends::interpreter::InterpreterBackend().open();
  runtime::DeviceDriver& driver = *devices.at(0);
  const std::size_t bytes = x.size() * sizeof(T);
  std::array<runtime::Buffer, 3> buffers;
  std::vector<runtime::Argument> arguments;
  for (auto& buffer : buffers) {
    buffer = driver.allocate(bytes);
    arguments.push_back({.buffer = buffer, .length = x.size()});
  }
  driver.write(driver.queue(), buffers[0], 0, x.data(), bytes);
  driver.write(driver.queue(), buffers[1], 0, y.data(), bytes);
  const auto executable = driver.build(kernel, driver.translate(kernel, {}), {});
  driver.launch(driver.queue(), *executable,
                {{static_cast<std::uint32_t>(x.size() / 64), 1, 1}, {64, 1, 1}, 0}, arguments);
  std::vector<T> got(x.size());
  driver.read(driver.queue(), got.data(), buffers[2], 0, bytes);
  for (auto buffer : buffers) driver.release(buffer);
  return got;
}

/// Distance from the exact result in units of the type's last place there.
template <typename T>
double error(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    // An ulp from overflow may fall on either side.
    const T largest = std::numeric_limits<T>::max();
    const auto beside = [&](T a, T b) { return a == b || std::abs(b) == largest; };
    return beside(got, rounded) || beside(rounded, got) ? 0
                                                        : std::numeric_limits<double>::infinity();
  }
  if (got == 0 && exact == 0) return std::signbit(got) == std::signbit(exact) ? 0 : 9e9;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs((static_cast<long double>(got) - exact)) *
                             std::ldexp(1.0L, std::numeric_limits<T>::digits - exponent));
}

template <typename T>
std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> values{0,
                        1,
                        T(0.5),
                        2,
                        3,
                        10,
                        L::min(),
                        L::denorm_min(),
                        L::max(),
                        L::infinity(),
                        L::epsilon(),
                        T(0.70710678),
                        T(1.41421356),
                        T(1.5707963),
                        T(3.14159265),
                        T(88.5),
                        T(709.7),
                        T(-745.2),
                        T(1e-5),
                        T(1e5),
                        T(1e20),
                        T(0.4142),
                        T(1e-300),
                        L::min() * 3,
                        1 + L::epsilon(),
                        1 - L::epsilon() / 2,
                        T(22.5),
                        T(1048577)};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(L::quiet_NaN());
  return values;
}

template <typename T>
void check(const Function& function, Expand expand, double bound) {
  std::vector<T> x;
  std::vector<T> y;
  for (T a : edges<T>()) {
    for (T b : edges<T>()) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> power(-30, 12);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 20'000 || x.size() % 64 != 0; ++i) {
    const bool near = i % 2 == 0;
    const double wide = near ? 2 : 100;
    x.push_back(
        static_cast<T>(i % 4 < 2 ? wide * unit(random) : unit(random) * std::exp2(power(random))));
    y.push_back(static_cast<T>(near ? 40 * unit(random) : unit(random) * std::exp2(power(random))));
  }
  const std::vector<T> got = run(function.op, function.operands, x, y, expand);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = error(got[i], function.exact(x[i], y[i]));
    if (off > worst) {
      worst = off;
      at = i;
    }
  }
  EXPECT_LE(worst, bound) << ir::name(function.op) << "(" << x[at] << ", " << y[at] << ") is "
                          << got[at] << ", not "
                          << static_cast<double>(function.exact(x[at], y[at]));
  testing::Test::RecordProperty(std::string(ir::name(function.op)), std::to_string(worst));
}

TEST(ExpandMath, SinglesStayWithinTheirBounds) {
  for (const Function& function : functions()) {
    check<float>(function, expand_math, math_ulps(function.op, Scalar::F32));
  }
}

TEST(ExpandMath, DoublesStayWithinTheirBounds) {
  for (const Function& function : functions()) {
    check<double>(function, expand_math, math_ulps(function.op, Scalar::F64));
  }
}

bool is_written_in_single(Op op) {
  return op == Op::Cbrt || op == Op::Expm1 || op == Op::Log1p || op == Op::Hypot;
}

TEST(ExpandMathSingle, WithoutF64TheyStayWithinTheirBoundsToo) {
  for (const Function& function : functions()) {
    if (!is_written_in_single(function.op)) continue;
    // The interpreter's Log is the host's, rounded once.
    check<float>(function, expand_math_single, single_math_ulps(function.op, 1));
  }
}

TEST(ExpandMathSingle, OnlyWhatShadingLanguagesLackIsWrittenOut) {
  ir::Builder b("all");
  const auto y = b.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  const auto i = b.position(Op::GlobalIdx, 0);
  for (const Function& function : functions()) {
    const auto x = b.load(y, i);
    b.store(y, i, function.operands == 1 ? b.op(function.op, {x}) : b.op(function.op, {x, x}));
  }
  const ir::Kernel expanded = expand_math_single(b.finish());
  EXPECT_TRUE(ir::verify(expanded).empty()) << ir::verify(expanded).front();
  std::set<Op> left;
  for (const ir::Node& node : expanded.nodes) {
    left.insert(node.op);
    EXPECT_NE(node.type, Scalar::F64);
  }
  for (const Function& function : functions()) {
    EXPECT_EQ(left.contains(function.op), !is_written_in_single(function.op))
        << ir::name(function.op);
  }
}

TEST(ExpandMath, LeavesNoFunctionBehind) {
  ir::Builder b("all");
  const auto y = b.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  const auto i = b.position(Op::GlobalIdx, 0);
  for (const Function& function : functions()) {
    const auto x = b.load(y, i);
    b.store(y, i, function.operands == 1 ? b.op(function.op, {x}) : b.op(function.op, {x, x}));
  }
  const ir::Kernel expanded = expand_math(b.finish());
  EXPECT_TRUE(ir::verify(expanded).empty()) << ir::verify(expanded).front();
  for (const ir::Node& node : expanded.nodes) {
    const bool kept = node.op == Op::Sqrt || node.op == Op::Floor || node.op == Op::Copysign ||
                      node.op == Op::IsNan;
    EXPECT_TRUE(!ir::is_math(node.op) || kept) << ir::name(node.op);
  }
}

}  // namespace
}  // namespace salvo::passes
