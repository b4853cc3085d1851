// Native's math functions next to those of SLEEF and libmvec, where they are installed.
// SPDX-License-Identifier: MIT
//
// Nanoseconds an element on one core: run it with OMP_NUM_THREADS=1. Both libraries are called for
// whole vectors of the widest registers, as a compiler that knows them would.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "runtime/library.hpp"

namespace {

#if defined(__AVX512F__)
constexpr std::size_t kBytes = 64;
constexpr const char* kSleef = "avx512f";
constexpr char kMvec = 'e';
#else
constexpr std::size_t kBytes = 32;
constexpr const char* kSleef = "avx2";
constexpr char kMvec = 'd';
#endif

constexpr std::size_t kCount = 1 << 13;  // stays in the caches
constexpr int kRounds = 101;

template <typename T>
struct Wide {
  using Type [[gnu::vector_size(kBytes)]] = T;
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

/// A function of one argument or two, on arrays.
template <typename T>
std::function<void()> by_library(const salvo::runtime::Library& library, const std::string& symbol,
                                 int arguments, const std::vector<T>& x, std::vector<T>& y) {
  using Vector = typename Wide<T>::Type;
  void* found = library ? library.find(symbol.c_str()) : nullptr;
  if (found == nullptr) return {};
  return [found, arguments, &x, &y] {
    constexpr std::size_t kLanes = kBytes / sizeof(T);
    for (std::size_t i = 0; i < x.size(); i += kLanes) {
      Vector value;
      std::memcpy(&value, &x[i], kBytes);
      const Vector result = arguments == 1
                                ? reinterpret_cast<Vector (*)(Vector)>(found)(value)
                                : reinterpret_cast<Vector (*)(Vector, Vector)>(found)(value, value);
      std::memcpy(&y[i], &result, kBytes);
    }
  };
}

template <typename T, typename F>
void measure(const std::string& name, int arguments, const F& function, T least, T most) {
  constexpr bool kWide = std::is_same_v<T, double>;
  static const auto sleef = salvo::runtime::Library::open({"libsleef.so.3"});
  static const auto mvec = salvo::runtime::Library::open({"libmvec.so.1"});
  std::vector<T> x(kCount), by_sleef(kCount), by_mvec(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    x[i] = least + (most - least) * static_cast<T>(i * 7919 % kCount) / static_cast<T>(kCount);
  }
  const salvo::Device device = salvo::Device::by_backend("Native").at(0);
  const auto kernel =
      salvo::kernel(name, [&](salvo::Span<const T> from, salvo::Span<T> to, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { to[i] = function(salvo::Value<T>(from[i])); });
      });
  salvo::Vector<T> from{std::span<const T>(x)};
  salvo::Vector<T> to(kCount);
  const std::size_t lanes = kBytes / sizeof(T);
  const std::function<void()> ways[] = {
      [&] { device.launch(kernel, salvo::over(kCount), from, to, static_cast<int>(kCount)); },
      by_library(sleef, fmt::format("Sleef_{}{}{}_u10{}", name, kWide ? 'd' : 'f', lanes, kSleef),
                 arguments, x, by_sleef),
      by_library(mvec,
                 fmt::format("_ZGV{}N{}{}_{}{}", kMvec, lanes, arguments == 1 ? "v" : "vv", name,
                             kWide ? "" : "f"),
                 arguments, x, by_mvec)};
  for (const auto& way : ways) {
    if (way) way();
  }
  const auto results = to.read();
  for (std::size_t i = 0; i < kCount; ++i) {
    const double most_apart = std::fabs(double{results[i]}) * (kWide ? 1e-14 : 1e-5) + 1e-30;
    for (const auto* other : {&by_sleef, &by_mvec}) {
      const bool there = static_cast<bool>(ways[other == &by_sleef ? 1 : 2]);
      if (there && !(std::fabs((*other)[i] - results[i]) <= most_apart)) {
        throw std::runtime_error(fmt::format("{}({}) differs", name, x[i]));
      }
    }
  }
  std::vector<double> times[3];
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t w = 0; w < 3; ++w) {
      if (!ways[w]) continue;
      const auto before = std::chrono::steady_clock::now();
      ways[w]();
      const std::chrono::duration<double, std::nano> spent =
          std::chrono::steady_clock::now() - before;
      times[w].push_back(spent.count() / kCount);
    }
  }
  fmt::print("| {}, {} |", name, kWide ? "f64" : "f32");
  for (const auto& all : times) {
    fmt::print(" {} |", all.empty() ? "-" : fmt::format("{:.2f}", median(all)));
  }
  fmt::print("\n");
}

template <typename T>
void measure_all() {
  const T one = 1;
  measure<T>(
      "sin", 1, [](const auto& x) { return salvo::sin(x); }, -100 * one, 100 * one);
  measure<T>(
      "exp", 1, [](const auto& x) { return salvo::exp(x); }, -80 * one, 80 * one);
  measure<T>(
      "log", 1, [](const auto& x) { return salvo::log(x); }, one / 1000, 1000 * one);
  measure<T>(
      "tanh", 1, [](const auto& x) { return salvo::tanh(x); }, -5 * one, 5 * one);
  measure<T>(
      "pow", 2, [](const auto& x) { return salvo::pow(x, x); }, one / 10, 10 * one);
}

}  // namespace

int main() {
  try {
    fmt::print(
        "| function, ns an element | Native | SLEEF, 1.0 ulp | libmvec, 4 ulp |\n"
        "|---|---|---|---|\n");
    measure_all<float>();
    measure_all<double>();
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "salvo_bench_native_math: {}\n", failure.what());
    return 1;
  }
}
