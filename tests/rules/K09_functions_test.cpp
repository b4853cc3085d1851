// K3, K9: each operator and function of the language is the operation that its name says.
// SPDX-License-Identifier: MIT
//
// The table names the C++ spelling, the operation in the IR, and what the host computes. So a row
// of a macro table in the headers that was copied and not changed fails here.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rules/traced_operations.hpp"

namespace salvo::tests {

struct Counter {
  std::int32_t value;
  std::int32_t other;
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Counter>
    : salvo::Fields<&salvo::tests::Counter::value, &salvo::tests::Counter::other> {};

namespace salvo::tests {
namespace {

/// A function of up to three arguments T with a result R.
template <class T, class R = T>
struct Function {
  std::string spelling;
  std::vector<std::string> operations;
  std::function<Value<R>(Value<T>, Value<T>, Value<T>)> traced;
  std::function<R(T, T, T)> host;
};

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return detail::bits_of(a) == detail::bits_of(b);
}

/// Runs each function on the Interpreter, for every three of the samples.
template <class T, class R>
void check(const std::vector<Function<T, R>>& functions, const std::vector<T>& samples) {
  const std::size_t one = samples.size();
  const std::size_t count = one * one * one;
  Vector<T> a(count), b(count), c(count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = samples[i % one];
    b[i] = samples[i / one % one];
    c[i] = samples[i / one / one];
  }
  const Device device = Device::get("Interpreter:0");
  for (const Function<T, R>& function : functions) {
    SCOPED_TRACE(function.spelling);
    const auto traced = kernel(
        function.spelling, [&](Span<const T> x, Span<const T> y, Span<const T> z, Span<R> result) {
          const Int i = thread_idx_x();
          result[i] = function.traced(x[i], y[i], z[i]);
        });
    EXPECT_EQ(operations(traced), function.operations);
    Vector<R> result(count);
    device.launch(traced, grid(1).block(static_cast<int>(count)), a, b, c, result);
    for (std::size_t i = 0; i < count; ++i) {
      const T x = samples[i % one], y = samples[i / one % one], z = samples[i / one / one];
      const R expected = function.host(x, y, z);
      ASSERT_TRUE(same<R>(result[i], expected)) << "of " << +x << ", " << +y << ", " << +z << ": "
                                                << +result[i] << ", expected " << +expected;
    }
  }
}

// One token gives the spelling in a kernel, the operation's name and the host's function. The
// Interpreter works f32 functions out in double and rounds once.
#define SALVO_TEST_UNARY(name)                                                                    \
  {                                                                                               \
#    name, {#    name },                                                                          \
            [](V a, V,                                                                            \
               V) { return salvo::name(a); },                                                     \
                                           [](T a, T,                                             \
                                              T) { return static_cast<T>(std::name(double(a))); } \
  }
#define SALVO_TEST_BINARY(name)                                      \
  {                                                                  \
#name, {#name}, [](V a, V b, V) { return salvo::name(a, b); },     \
        [](T a, T b, T) { return static_cast<T>(std::name(double(a), double(b))); } \
  }

template <class T>
void check_math() {
  using V = Value<T>;
  const std::vector<T> samples{T(-2.5), T(-0.75), T(-0.0), T(0.375), T(0.5), T(1), T(2.5), T(7.25)};
  check<T, T>(
      {
          SALVO_TEST_UNARY(sqrt),
          {"rsqrt",
           {"rsqrt"},
           [](V a, V, V) { return salvo::rsqrt(a); },
           [](T a, T, T) { return static_cast<T>(1.0 / std::sqrt(double(a))); }},
          SALVO_TEST_UNARY(cbrt),
          SALVO_TEST_UNARY(sin),
          SALVO_TEST_UNARY(cos),
          SALVO_TEST_UNARY(tan),
          SALVO_TEST_UNARY(asin),
          SALVO_TEST_UNARY(acos),
          SALVO_TEST_UNARY(atan),
          SALVO_TEST_UNARY(sinh),
          SALVO_TEST_UNARY(cosh),
          SALVO_TEST_UNARY(tanh),
          SALVO_TEST_UNARY(exp),
          SALVO_TEST_UNARY(exp2),
          SALVO_TEST_UNARY(expm1),
          SALVO_TEST_UNARY(log),
          SALVO_TEST_UNARY(log2),
          SALVO_TEST_UNARY(log10),
          SALVO_TEST_UNARY(log1p),
          SALVO_TEST_UNARY(floor),
          SALVO_TEST_UNARY(ceil),
          SALVO_TEST_UNARY(round),
          SALVO_TEST_UNARY(trunc),
          {"fabs",
           {"abs"},
           [](V a, V, V) { return salvo::fabs(a); },
           [](T a, T, T) { return std::fabs(a); }},
          SALVO_TEST_UNARY(abs),
          SALVO_TEST_BINARY(atan2),
          SALVO_TEST_BINARY(pow),
          SALVO_TEST_BINARY(hypot),
          SALVO_TEST_BINARY(fmod),
          SALVO_TEST_BINARY(copysign),
          {"min",
           {"min"},
           [](V a, V b, V) { return salvo::min(a, b); },
           [](T a, T b, T) { return std::min(a, b); }},
          {"max",
           {"max"},
           [](V a, V b, V) { return salvo::max(a, b); },
           [](T a, T b, T) { return std::max(a, b); }},
          {"clamp",
           {"max", "min"},
           [](V a, V b, V c) { return salvo::clamp(a, b, c); },
           [](T a, T b, T c) { return std::min(std::max(a, b), c); }},
          {"fma",
           {"fma"},
           [](V a, V b, V c) { return salvo::fma(a, b, c); },
           [](T a, T b, T c) { return std::fma(a, b, c); }},
          {"+", {"add"}, [](V a, V b, V) { return a + b; }, [](T a, T b, T) { return a + b; }},
          {"-", {"sub"}, [](V a, V b, V) { return a - b; }, [](T a, T b, T) { return a - b; }},
          {"*", {"mul"}, [](V a, V b, V) { return a * b; }, [](T a, T b, T) { return a * b; }},
          {"/", {"div"}, [](V a, V b, V) { return a / b; }, [](T a, T b, T) { return a / b; }},
          {"unary -", {"neg"}, [](V a, V, V) { return -a; }, [](T a, T, T) { return -a; }},
          {"unary +", {}, [](V a, V, V) { return +a; }, [](T a, T, T) { return a; }},
          {"select",
           {"lt", "select"},
           [](V a, V b, V c) { return salvo::select(a < b, b, c); },
           [](T a, T b, T c) { return a < b ? b : c; }},
      },
      samples);
}
#undef SALVO_TEST_UNARY
#undef SALVO_TEST_BINARY

TEST(K09Functions, K9_FloatFunctionsAndOperatorsAreWhatTheirNamesSay) {
  check_math<float>();
  check_math<double>();
}

template <class T>
void check_integers() {
  using V = Value<T>;
  using Bits = std::make_unsigned_t<T>;
  using Limits = std::numeric_limits<T>;
  static constexpr int kWidth = std::numeric_limits<Bits>::digits;
  const auto wrap = [](Bits bits) { return static_cast<T>(bits); };
  const auto negative = [wrap](T a) { return wrap(Bits{0} - Bits(a)); };
  const auto magnitude = [=](T a) {
    if constexpr (std::is_signed_v<T>) return a < 0 ? negative(a) : a;
    return a;
  };
  // Division by zero and of the least number by -1 are defined (K3).
  const auto quotient = [=](T a, T b) {
    if (b == 0) return T{0};
    return b == T(-1) && std::is_signed_v<T> ? negative(a) : T(a / b);
  };
  const auto remainder = [](T a, T b) {
    if (b == 0) return a;
    return b == T(-1) && std::is_signed_v<T> ? T{0} : T(a % b);
  };
  const auto shift = [](T b) { return static_cast<int>(Bits(b) % Bits(kWidth)); };
  check<T, T>(
      {
          {"+",
           {"add"},
           [](V a, V b, V) { return a + b; },
           [=](T a, T b, T) { return wrap(Bits(a) + Bits(b)); }},
          {"-",
           {"sub"},
           [](V a, V b, V) { return a - b; },
           [=](T a, T b, T) { return wrap(Bits(a) - Bits(b)); }},
          {"*",
           {"mul"},
           [](V a, V b, V) { return a * b; },
           [=](T a, T b, T) { return wrap(Bits(a) * Bits(b)); }},
          {"/",
           {"div"},
           [](V a, V b, V) { return a / b; },
           [=](T a, T b, T) { return quotient(a, b); }},
          {"%",
           {"rem"},
           [](V a, V b, V) { return a % b; },
           [=](T a, T b, T) { return remainder(a, b); }},
          {"&",
           {"and"},
           [](V a, V b, V) { return a & b; },
           [](T a, T b, T) { return static_cast<T>(a & b); }},
          {"|",
           {"or"},
           [](V a, V b, V) { return a | b; },
           [](T a, T b, T) { return static_cast<T>(a | b); }},
          {"^",
           {"xor"},
           [](V a, V b, V) { return a ^ b; },
           [](T a, T b, T) { return static_cast<T>(a ^ b); }},
          {"~",
           {"not"},
           [](V a, V, V) { return ~a; },
           [](T a, T, T) { return static_cast<T>(~a); }},
          {"<<",
           {"shl"},
           [](V a, V b, V) { return a << b; },
           [=](T a, T b, T) { return wrap(Bits(a) << shift(b)); }},
          {">>",
           {"shr"},
           [](V a, V b, V) { return a >> b; },
           [=](T a, T b, T) { return static_cast<T>(a >> shift(b)); }},
          {"shift_right_logical",
           {"shr_logical"},
           [](V a, V b, V) { return salvo::shift_right_logical(a, b); },
           [=](T a, T b, T) { return wrap(Bits(a) >> shift(b)); }},
          {"unary -",
           {"neg"},
           [](V a, V, V) { return -a; },
           [=](T a, T, T) { return negative(a); }},
          {"abs",
           {"abs"},
           [](V a, V, V) { return salvo::abs(a); },
           [=](T a, T, T) { return magnitude(a); }},
          {"min",
           {"min"},
           [](V a, V b, V) { return salvo::min(a, b); },
           [](T a, T b, T) { return std::min(a, b); }},
          {"max",
           {"max"},
           [](V a, V b, V) { return salvo::max(a, b); },
           [](T a, T b, T) { return std::max(a, b); }},
          {"clz",
           {"clz"},
           [](V a, V, V) { return salvo::clz(a); },
           [](T a, T, T) { return static_cast<T>(std::countl_zero(Bits(a))); }},
          {"popcount",
           {"popcount"},
           [](V a, V, V) { return salvo::popcount(a); },
           [](T a, T, T) { return static_cast<T>(std::popcount(Bits(a))); }},
      },
      {Limits::min(), T(-7), T(-1), T(0), T(1), T(5), T(33), Limits::max()});
}

TEST(K09Functions, K9_IntegerFunctionsAndOperatorsAreWhatTheirNamesSay) {
  check_integers<std::int32_t>();
  check_integers<std::uint32_t>();
  check_integers<std::int64_t>();
  check_integers<std::uint64_t>();
}

template <class T>
void check_comparisons(const std::vector<T>& samples) {
  using V = Value<T>;
  check<T, bool>(
      {
          {"==", {"eq"}, [](V a, V b, V) { return a == b; }, [](T a, T b, T) { return a == b; }},
          {"!=", {"ne"}, [](V a, V b, V) { return a != b; }, [](T a, T b, T) { return a != b; }},
          {"<", {"lt"}, [](V a, V b, V) { return a < b; }, [](T a, T b, T) { return a < b; }},
          {"<=", {"le"}, [](V a, V b, V) { return a <= b; }, [](T a, T b, T) { return a <= b; }},
          {">", {"gt"}, [](V a, V b, V) { return a > b; }, [](T a, T b, T) { return a > b; }},
          {">=", {"ge"}, [](V a, V b, V) { return a >= b; }, [](T a, T b, T) { return a >= b; }},
      },
      samples);
}

TEST(K09Functions, K3_ComparisonsAreWhatTheirNamesSay) {
  const float infinity = std::numeric_limits<float>::infinity();
  check_comparisons<float>({-infinity, -1.5f, -0.0f, 0.0f, 2.0f, infinity, std::nanf("")});
  check_comparisons<std::int32_t>({std::numeric_limits<std::int32_t>::min(), -1, 0, 1});
  check_comparisons<std::uint64_t>({0U, 1U, ~0ULL});
}

TEST(K09Functions, K3_LogicalOperatorsAreWhatTheirNamesSay) {
  check<bool, bool>(
      {
          {"&&",
           {"and"},
           [](Bool a, Bool b, Bool) { return a && b; },
           [](bool a, bool b, bool) { return a && b; }},
          {"||",
           {"or"},
           [](Bool a, Bool b, Bool) { return a || b; },
           [](bool a, bool b, bool) { return a || b; }},
          {"!",
           {"not"},
           [](Bool a, Bool, Bool) { return !a; },
           [](bool a, bool, bool) { return !a; }},
          {"select",
           {"select"},
           [](Bool a, Bool b, Bool c) { return salvo::select(a, b, c); },
           [](bool a, bool b, bool c) { return a ? b : c; }},
      },
      {false, true});
}

TEST(K09Functions, K9_ClassificationsAreWhatTheirNamesSay) {
  const float infinity = std::numeric_limits<float>::infinity();
  check<float, bool>(
      {
          {"isnan",
           {"isnan"},
           [](Float a, Float, Float) { return salvo::isnan(a); },
           [](float a, float, float) { return std::isnan(a); }},
          {"isinf",
           {"isinf"},
           [](Float a, Float, Float) { return salvo::isinf(a); },
           [](float a, float, float) { return std::isinf(a); }},
      },
      {-infinity, -1.0f, 0.0f, infinity, std::nanf("")});
}

TEST(K09Functions, K3_CastsSaturateAndBitcastsKeepTheBits) {
  const std::vector<float> floats{-1e20f, -1.75f, -0.0f, 0.5f, 3.9f, 1e20f, std::nanf("")};
  const auto saturated = [](float a, float, float) {
    if (std::isnan(a)) return std::int32_t{0};
    if (a <= -0x1p31f) return std::numeric_limits<std::int32_t>::min();
    return a >= 0x1p31f ? std::numeric_limits<std::int32_t>::max() : static_cast<std::int32_t>(a);
  };
  check<float, std::int32_t>(
      {
          {"cast",
           {"cast"},
           [](Float a, Float, Float) { return salvo::cast<std::int32_t>(a); },
           saturated},
          {"bitcast",
           {"bitcast"},
           [](Float a, Float, Float) { return salvo::bitcast<std::int32_t>(a); },
           [](float a, float, float) { return std::bit_cast<std::int32_t>(a); }},
      },
      floats);
  check<std::int32_t, float>(
      {{"cast",
        {"cast"},
        [](Int a, Int, Int) { return salvo::cast<float>(a); },
        [](std::int32_t a, std::int32_t, std::int32_t) { return static_cast<float>(a); }}},
      {std::numeric_limits<std::int32_t>::min(), -3, 0, 16777217});
}

/// A compound assignment, for everything that it exists for.
struct Assignment {
  std::string spelling;
  std::string operation;
  std::function<void(Var<std::int32_t>&, Int)> variable;
  std::function<void(Ref<std::int32_t>, Int)> element;
  std::function<void(detail::VarField<std::int32_t>, Int)> field;
  std::function<void(std::int32_t&, std::int32_t)> host;
};
template <class F>
Assignment assignment(std::string spelling, std::string operation, F assign) {
  return {std::move(spelling), std::move(operation), assign, assign, assign, assign};
}

TEST(K09Functions, K3_CompoundAssignmentsOfVariablesElementsAndFieldsAreWhatTheirNamesSay) {
  const std::vector<Assignment> all{
      assignment("+=", "add", [](auto&& to, const auto& by) { to += by; }),
      assignment("-=", "sub", [](auto&& to, const auto& by) { to -= by; }),
      assignment("*=", "mul", [](auto&& to, const auto& by) { to *= by; }),
      assignment("/=", "div", [](auto&& to, const auto& by) { to /= by; }),
      assignment("%=", "rem", [](auto&& to, const auto& by) { to %= by; }),
      assignment("&=", "and", [](auto&& to, const auto& by) { to &= by; }),
      assignment("|=", "or", [](auto&& to, const auto& by) { to |= by; }),
      assignment("^=", "xor", [](auto&& to, const auto& by) { to ^= by; }),
      assignment("<<=", "shl", [](auto&& to, const auto& by) { to <<= by; }),
      assignment(">>=", "shr", [](auto&& to, const auto& by) { to >>= by; }),
  };
  for (const Assignment& one : all) {
    SCOPED_TRACE(one.spelling);
    const auto traced = kernel(one.spelling, [&](Span<std::int32_t> x, Int by) {
      Var<std::int32_t> variable(x[0]);
      one.variable(variable, by);
      x[0] = variable;
      one.element(x[1], by);
      Var<Counter> counter(Value<Counter>({Int(x[2]).id(), Int(x[3]).id()}));
      one.field(counter[&Counter::value], by);
      x[2] = counter[&Counter::value];
      x[3] = counter[&Counter::other];
    });
    EXPECT_EQ(operations(traced), std::vector<std::string>(3, one.operation));
    Vector<std::int32_t> x{1234, -77, 91, 5};
    Device::get("Interpreter:0").launch(traced, grid(1), x, 3);
    std::int32_t expected[] = {1234, -77, 91};
    for (std::size_t i = 0; i < 3; ++i) {
      one.host(expected[i], 3);
      EXPECT_EQ(x[i], expected[i]) << i;
    }
    EXPECT_EQ(x[3], 5) << "the other field stays";
  }
}

}  // namespace
}  // namespace salvo::tests
