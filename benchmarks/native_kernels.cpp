// Native next to PoCL and to C++ with OpenMP: small launches, large ones, barriers, first uses.
// SPDX-License-Identifier: MIT
//
// salvo_bench_native [small|large|barriers|first|all [kernel or "" [rounds]]]. In a row all ways
// are measured in one process, turn by turn; results are compared beforehand.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "native_by_hand.hpp"
#include "native_gallery.hpp"

namespace {

namespace hand = bench::by_hand;
namespace gallery = bench::gallery;
using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double seconds_of(const std::function<void()>& call) {
  const auto before = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - before).count();
}

/// One way to do a task: does it once, and has what came out.
struct Way {
  std::function<void()> run;
  std::function<std::vector<double>()> result;
};

/// Medians of `rounds` rounds in which the ways take turns, each doing its work `repeats` times;
/// seconds for one.
std::vector<double> interleaved(std::span<Way> ways, int rounds, int repeats) {
  std::vector<std::vector<double>> times(ways.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t w = 0; w < ways.size(); ++w) {
      times[w].push_back(seconds_of([&] {
                           for (int i = 0; i < repeats; ++i) ways[w].run();
                         }) /
                         repeats);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& all : times) medians.push_back(median(std::move(all)));
  return medians;
}

/// Contraction differs between compilers: a few elements may, where a step decides, by much.
void compare(const std::string& name, std::span<Way> ways) {
  const std::vector<double> expected = ways.front().result();
  for (Way& way : ways.subspan(1)) {
    const std::vector<double> got = way.result();
    std::size_t wrong = got.size() == expected.size() ? 0 : expected.size();
    for (std::size_t i = 0; wrong < expected.size() && i < expected.size(); ++i) {
      const double size = std::max(1e-2, std::fabs(expected[i]));
      if (!(std::fabs(got[i] - expected[i]) <= 1e-3 * size)) ++wrong;
    }
    if (wrong * 500 > expected.size()) {
      throw std::runtime_error(
          fmt::format("{}: {} of {} elements differ", name, wrong, expected.size()));
    }
  }
}

std::vector<float> numbers(std::size_t count, float least = 0.0f, float most = 1.0f) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = least + (most - least) * static_cast<float>(i * 7919 % 1000) * 1e-3f;
  }
  return all;
}

template <typename T>
std::vector<double> as_doubles(std::span<const T> values) {
  return {values.begin(), values.end()};
}

/// The arrays that a task starts with; the last is its result.
template <typename T, std::size_t N>
using Arrays = std::array<std::vector<T>, N>;

/// A launch on `device` with vectors of its own, until its result is there.
template <typename T, std::size_t N, typename K, typename... A>
Way launched(const salvo::Device& device, const K& kernel, const salvo::Dims& dims,
             const Arrays<T, N>& start, A... scalars) {
  auto own = std::make_shared<std::vector<salvo::Vector<T>>>();
  for (const std::vector<T>& values : start) own->emplace_back(std::span<const T>(values));
  const auto run = [=]<std::size_t... I>(std::index_sequence<I...>) {
    device.launch(kernel, dims, (*own)[I]..., scalars...);
    device.synchronize();
  };
  return {[=] { run(std::make_index_sequence<N>()); },
          [=] { return as_doubles(own->back().read()); }};
}

/// A function written by hand on arrays of its own.
template <typename T, std::size_t N, typename... P, typename... A>
Way called(void (*function)(P...), const Arrays<T, N>& start, A... scalars) {
  auto own = std::make_shared<Arrays<T, N>>(start);
  const auto run = [=]<std::size_t... I>(std::index_sequence<I...>) {
    function((*own)[I].data()..., scalars...);
  };
  return {[=] { run(std::make_index_sequence<N>()); },
          [=] { return as_doubles(std::span<const T>(own->back())); }};
}

struct Devices {
  salvo::Device native;
  salvo::Device pocl;
};

/// The same on Native, on PoCL and by hand.
template <typename T, std::size_t N, typename K, typename F, typename... A>
std::vector<Way> three_ways(const Devices& on, const K& kernel, F* function,
                            const salvo::Dims& dims, const Arrays<T, N>& start, A... scalars) {
  return {launched(on.native, kernel, dims, start, scalars...),
          launched(on.pocl, kernel, dims, start, scalars...), called(function, start, scalars...)};
}

template <typename T, std::size_t N, typename K, typename... A>
std::vector<Way> two_ways(const Devices& on, const K& kernel, const salvo::Dims& dims,
                          const Arrays<T, N>& start, A... scalars) {
  return {launched(on.native, kernel, dims, start, scalars...),
          launched(on.pocl, kernel, dims, start, scalars...)};
}

void warm(const std::string& name, std::vector<Way>& ways) {
  for (Way& way : ways) way.run();
  compare(name, ways);
}

std::string_view only_kernel;  // empty: all
int rounds = 31;               // of large launches; small ones and first uses have more and less

// A launch of 256 elements.

void measure_small(const Devices& on) {
  constexpr int kCount = 256;
  const int turns = 10 * rounds;
  constexpr int kRepeats = 200;
  const Arrays<float, 2> start{numbers(kCount), numbers(kCount)};
  std::vector<Way> ways =
      three_ways(on, gallery::twice(), hand::twice, salvo::over(kCount), start, kCount);
  warm("twice", ways);
  // PoCL once more, waited for at the end of all launches only.
  const auto kernel = gallery::twice();
  auto x = std::make_shared<salvo::Vector<float>>(std::span<const float>(start[0]));
  auto y = std::make_shared<salvo::Vector<float>>(kCount);
  ways.push_back({[=, device = on.pocl] {
                    for (int i = 0; i < kRepeats; ++i) {
                      device.launch(kernel, salvo::over(kCount), *x, *y, kCount);
                    }
                    device.synchronize();
                  },
                  {}});
  std::vector<double> times = interleaved(std::span(ways).first(3), turns, kRepeats);
  times.push_back(interleaved(std::span(ways).last(1), rounds, 1).front() / kRepeats);
  fmt::print(
      "\nA warm launch of {} elements, ns: median of {} rounds of {}\n\n"
      "| a function call | Native | above the call | PoCL, waited for | of Native | "
      "PoCL, in a row | of Native |\n|---|---|---|---|---|---|---|\n"
      "| {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.1f}× | {:.0f} | {:.1f}× |\n",
      kCount, turns, kRepeats, times[2] * 1e9, times[0] * 1e9, (times[0] - times[2]) * 1e9,
      times[1] * 1e9, times[1] / times[0], times[3] * 1e9, times[3] / times[0]);
}

// Large launches.

void print_large(const std::string& name, const std::function<std::vector<Way>()>& make) {
  if (!only_kernel.empty() && name != only_kernel) return;
  std::vector<Way> ways = make();
  warm(name, ways);
  const std::vector<double> times = interleaved(ways, rounds, 1);
  fmt::print("| {} | {:.2f} | {:.2f} | {:.2f}× |", name, times[0] * 1e3, times[1] * 1e3,
             times[1] / times[0]);
  if (times.size() > 2) fmt::print(" {:.2f} | {:.2f}× |", times[2] * 1e3, times[2] / times[0]);
  fmt::print("\n");
  std::fflush(stdout);
}

void measure_large(const Devices& on) {
  fmt::print(
      "\nLarge launches, ms: median of {} rounds\n\n"
      "| kernel | Native | PoCL | of PoCL's speed | by hand | of its speed |\n"
      "|---|---|---|---|---|---|\n",
      rounds);
  constexpr int kLong = 1 << 24;
  const std::vector<float> a = numbers(kLong);
  print_large("saxpy", [&] {
    return three_ways(on, gallery::saxpy(), hand::saxpy, salvo::over(kLong), Arrays<float, 2>{a, a},
                      1.0001f, kLong);
  });
  print_large("triad", [&] {
    return three_ways(on, gallery::triad(), hand::triad, salvo::over(kLong),
                      Arrays<float, 3>{a, a, a}, 1.5f, kLong);
  });
  constexpr int kSide = 4096;
  print_large("stencil", [&] {
    return three_ways(on, gallery::stencil(), hand::stencil,
                      salvo::grid(kSide / 256, kSide / 4).block(256, 4),
                      Arrays<float, 2>{a, std::vector<float>(a.size())}, kSide, kSide);
  });
  constexpr int kBodies = 8192;
  const std::vector<float> body = numbers(kBodies, -1.0f, 1.0f);
  print_large("n-body", [&] {
    return three_ways(on, gallery::nbody(), hand::nbody, salvo::over(kBodies),
                      Arrays<float, 4>{body, numbers(kBodies), body, body}, kBodies);
  });
  constexpr int kPixels = 1024;
  constexpr int kSteps = 256;
  print_large("mandelbrot", [&] {
    return three_ways(on, gallery::mandelbrot(), hand::mandelbrot,
                      salvo::grid(kPixels / 32, kPixels / 8).block(32, 8),
                      Arrays<int, 1>{std::vector<int>(std::size_t{kPixels} * kPixels)}, kPixels,
                      kPixels, kSteps);
  });
  constexpr int kOptions = 1 << 21;
  const std::vector<float> none(kOptions);
  print_large("black-scholes", [&] {
    return three_ways(
        on, gallery::black_scholes(), hand::black_scholes, salvo::over(kOptions),
        Arrays<float, 5>{numbers(kOptions, 5.0f, 30.0f), numbers(kOptions, 1.0f, 100.0f),
                         numbers(kOptions, 0.25f, 10.0f), none, none},
        0.02f, 0.3f, kOptions);
  });
}

void measure_barriers(const Devices& on) {
  fmt::print(
      "\nKernels with barriers, ms: median of {} rounds\n\n"
      "| kernel | Native | PoCL | of PoCL's speed |\n|---|---|---|---|\n",
      rounds);
  constexpr int kLong = 1 << 23;
  constexpr int kBlocks = kLong / 256;
  const std::vector<float> a = numbers(kLong);
  print_large("reduction", [&] {
    return two_ways(on, gallery::reduction(), salvo::grid(kBlocks).block(256),
                    Arrays<float, 2>{a, std::vector<float>(std::size_t{kBlocks})});
  });
  print_large("scan", [&] {
    return two_ways(on, gallery::scan(), salvo::grid(kBlocks).block(256),
                    Arrays<float, 2>{a, std::vector<float>(a.size())});
  });
  constexpr int kMatrix = 512;
  const std::vector<float> matrix = numbers(std::size_t{kMatrix} * kMatrix);
  print_large("matrix product", [&] {
    return two_ways(on, gallery::matmul(), salvo::grid(kMatrix / 16, kMatrix / 16).block(16, 16),
                    Arrays<float, 3>{matrix, matrix, matrix}, kMatrix);
  });
}

// First uses.

struct FirstUse {
  std::string name;
  std::function<void()> run;
};

template <std::size_t N, typename T = float, typename K, typename... A>
FirstUse first_use(const salvo::Device& device, const K& kernel, const salvo::Dims& dims,
                   A... scalars) {
  Arrays<T, N> start;
  start.fill(std::vector<T>(1024));
  return {kernel.name(), launched(device, kernel, dims, start, scalars...).run};
}

std::vector<FirstUse> first_uses(const salvo::Device& on) {
  constexpr int kCount = 1024;
  constexpr int kSide = 32;
  const salvo::Dims line = salvo::over(kCount);
  const salvo::Dims square = salvo::grid(2, 2).block(16, 16);
  const salvo::Dims blocks = salvo::grid(4).block(256);
  return {first_use<2>(on, gallery::twice(), line, kCount),
          first_use<2>(on, gallery::saxpy(), line, 2.0f, kCount),
          first_use<3>(on, gallery::triad(), line, 2.0f, kCount),
          first_use<2>(on, gallery::stencil(), square, kSide, kSide),
          first_use<4>(on, gallery::nbody(), line, kCount),
          first_use<1, int>(on, gallery::mandelbrot(), square, kSide, kSide, 16),
          first_use<5>(on, gallery::black_scholes(), line, 0.02f, 0.3f, kCount),
          first_use<2>(on, gallery::reduction(), blocks),
          first_use<2>(on, gallery::scan(), blocks),
          first_use<3>(on, gallery::matmul(), square, kSide),
          first_use<4>(on, gallery::adam(), line, 0.01f, kCount),
          first_use<2>(on, gallery::softmax(), blocks, 256),
          first_use<2>(on, gallery::gelu(), line, kCount),
          first_use<2, int>(on, gallery::histogram(), line, kCount),
          first_use<2>(on, gallery::transpose(), square, kSide),
          first_use<2>(on, gallery::waves(), line, 0.5f, kCount),
          first_use<1, std::uint32_t>(on, gallery::mix(), line, kCount)};
}

/// Of the calling thread, which compiles: on a busy machine the time that a compilation takes by
/// the clock says more about the machine.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void measure_first_uses() {
  const int turns = std::max(3, rounds / 3);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("salvo-native-{}", getpid());
  salvo::RuntimeOptions options;
  options.cache_folder = folder.string();
  salvo::Runtime runtime(std::move(options));
  const salvo::Device device = runtime.by_backend("Native").at(0);
  fmt::print(
      "\nFirst use of a kernel in a running program, ms: median of {} rounds\n\n"
      "| kernel | without a cache | its processor time | with one | its processor time |\n"
      "|---|---|---|---|---|\n",
      turns);
  std::vector<std::vector<double>> of_kernels(4);
  for (const FirstUse& use : first_uses(device)) {
    std::vector<std::vector<double>> times(4);
    const auto measure = [&](std::size_t first) {
      runtime.clear_launch_cache();
      const double before = processor_ms();
      times[first].push_back(seconds_of(use.run) * 1e3);
      times[first + 1].push_back(processor_ms() - before);
    };
    for (int round = 0; round < turns; ++round) {
      runtime.clear_disk_cache();
      measure(0);
      measure(2);
    }
    fmt::print("| {} |", use.name);
    for (std::size_t i = 0; i < times.size(); ++i) {
      of_kernels[i].push_back(median(std::move(times[i])));
      fmt::print(" {:.2f} |", of_kernels[i].back());
    }
    fmt::print("\n");
  }
  fmt::print("| **median** |");
  for (std::vector<double>& all : of_kernels) fmt::print(" {:.2f} |", median(std::move(all)));
  fmt::print("\n");
  std::filesystem::remove_all(folder);
}

salvo::Device only(std::string_view backend, std::string_view what) {
  const auto devices = salvo::Device::by_backend(backend);
  for (const salvo::Device& device : devices) {
    if (backend != "OpenCL" || device.properties().is_cpu) return device;
  }
  throw std::runtime_error(fmt::format("{} is not here, see `salvo info`", what));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "all";
  if (argc > 2) only_kernel = argv[2];
  if (argc > 3) rounds = std::max(1, std::atoi(argv[3]));
  const auto wanted = [&](std::string_view name) { return part == "all" || part == name; };
  try {
    if (!wanted("small") && !wanted("large") && !wanted("barriers") && !wanted("first")) {
      throw std::runtime_error("parts are small, large, barriers and first; or all");
    }
    const Devices on{only("Native", "Native"), only("OpenCL", "PoCL")};
    fmt::print("{}; {}, {}; {}, {}\n", on.native.properties().name,
               on.native.properties().driver_version, on.native.properties().platform,
               on.pocl.properties().platform, on.pocl.properties().driver_version);
    if (wanted("small")) measure_small(on);
    if (wanted("large")) measure_large(on);
    if (wanted("barriers")) measure_barriers(on);
    if (wanted("first")) measure_first_uses();
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "salvo_bench_native: {}\n", failure.what());
    return 1;
  }
}
