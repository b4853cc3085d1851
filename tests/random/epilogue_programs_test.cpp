// Random producers with their consumers: the same bytes merged, apart and interpreted, on every
// device.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "fake/fake_backend.hpp"
#include "fake/held_native.hpp"
#include "random/random_support.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

/// Where a producer stores, and so how it is launched.
enum class Layout {
  guarded,
  reversed,
  exact,
  strided_loop,
  rows,
  every_second,
  tiles,
  swapped,
  permuted
};

struct Program {
  unsigned seed = 0;
  int type = 0;        // of element
  unsigned shape = 0;  // which expressions the kernels hold
  Layout layout = Layout::guarded;
  int count = 0;     // elements of every vector
  int produced = 0;  // the producer's own bound
  int consumed = 0;
  bool in_place = false;
  bool own_input = false;  // the consumer writes the producer's input
  bool third = false;      // a consumer of the consumer

  std::string text() const {
    return fmt::format(
        "seed {}: type {}, shape {}, layout {}, {} elements, {} produced, {} consumed{}{}{}", seed,
        type, shape, static_cast<int>(layout), count, produced, consumed,
        in_place ? ", in place" : "", own_input ? ", onto the input" : "",
        third ? ", with a third" : "");
  }
};

/// `shapes` different sets of expressions are used by all seeds together; 0 for any number.
Program random_program(unsigned seed, unsigned shapes) {
  Random random(seed);
  Program p;
  p.seed = seed;
  p.type = static_cast<int>(seed % 6);
  p.shape = shapes ? seed / 6 % shapes : seed;
  p.layout = static_cast<Layout>(random.below(9));
  p.count = 64 * (1 + random.below(6));
  p.produced = random.one_in(3) ? p.count - random.below(40) : p.count;
  p.consumed = random.one_in(2) ? p.produced - random.below(20) : p.produced;
  if (random.one_in(8)) p.consumed = p.count;
  p.in_place = random.one_in(4);
  p.own_input = !p.in_place && random.one_in(5);
  p.third = random.one_in(3);
  return p;
}

/// A value of the element's compute type.
template <class T>
using Computed = Value<detail::computed_t<T>>;

/// Arithmetic that every device computes alike.
template <class T>
Computed<T> expression(Random& random, std::vector<Computed<T>> values) {
  const int steps = 1 + random.below(5);
  for (int s = 0; s < steps; ++s) {
    const auto pick = [&] {
      return values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))];
    };
    Computed<T> a = pick(), b = pick();
    switch (random.below(7)) {
      case 0:
      case 1:
        values.push_back(a * b);
        break;
      case 2:
        values.push_back(a + b);
        break;
      case 3:
        values.push_back(a - b);
        break;
      case 4:
        values.push_back(max(a, b));
        break;
      case 5:
        values.push_back(-a);
        break;
      default:
        values.push_back(select(a < b, a, b + a));
        break;
    }
  }
  return values.back();
}

template <class T>
auto make_producer(const Program& p) {
  return kernel("producer", [p](Span<T> x, Span<T> y, Span<std::int32_t> order, Int n, Int width) {
    const auto put = [&](Int index) {
      Random random(p.shape * 3 + 1);
      Computed<T> value = x[index];
      y[index] = expression<T>(random, {value, Computed<T>(value * value)});
    };
    auto i = global_thread_id();
    switch (p.layout) {
      case Layout::guarded:
        if_(i < n, [&] { put(i); });
        break;
      case Layout::reversed:
        if_(i < n, [&] { put(n - 1 - i); });
        break;
      case Layout::exact:
        put(i);
        break;
      case Layout::strided_loop:
        for_(range(i, n, grid_dim_x() * block_dim_x()), [&](Int k) { put(k); });
        break;
      case Layout::rows:
        if_(global_idx_x() < width && global_idx_y() < n / width,
            [&] { put(global_idx_y() * width + global_idx_x()); });
        break;
      case Layout::every_second:
        if_(i * 2 < n, [&] { put(i * 2); });
        break;
      case Layout::tiles:
        put((block_idx_y() * 4 + thread_idx_y()) * width + block_idx_x() * 8 + thread_idx_x());
        break;
      case Layout::swapped:
        if_(i < n, [&] { put(i ^ 3); });
        break;
      case Layout::permuted:
        if_(i < n, [&] { put(order[i]); });
        break;
    }
  });
}

/// The producer of a program; programs of one layout and shape share it.
template <class T>
auto producer(const Program& p, Contraction mode) {
  static std::map<std::tuple<Layout, unsigned, Contraction>, decltype(make_producer<T>(p))> known;
  const std::tuple key{p.layout, p.shape, mode};
  auto found = known.find(key);
  if (found == known.end()) {
    found = known.emplace(key, make_producer<T>(p).contraction(mode)).first;
  }
  return found->second;
}

Dims producer_dims(const Program& p) {
  switch (p.layout) {
    case Layout::exact:
      return grid(p.count / 64).block(64);
    case Layout::strided_loop:
      return grid(1 + p.count / 256).block(32);
    case Layout::rows:
      return grid(3, 1 + p.count / 80).block(8, 5);
    case Layout::tiles:
      return grid(2, p.count / 64).block(8, 4);
    default:
      return over(p.count);
  }
}

template <class T>
auto make_consumer(const std::string& name, unsigned seed) {
  return kernel(name, [seed](Span<T> y, Span<T> w, Span<T> z, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      Random random(seed * 7 + 2);
      Computed<T> value = y[i], other = w[i];
      Computed<T> result = expression<T>(random, {value, other});
      if (random.one_in(3)) {
        if_(value > other, [&] { z[i] = result; });
      } else {
        z[i] = result;
      }
    });
  });
}

template <class T>
auto consumer(const std::string& name, unsigned seed, Contraction mode) {
  static std::map<std::tuple<std::string, unsigned, Contraction>,
                  decltype(make_consumer<T>(name, seed))>
      known;
  const std::tuple key{name, seed, mode};
  auto found = known.find(key);
  if (found == known.end()) {
    found = known.emplace(key, make_consumer<T>(name, seed).contraction(mode)).first;
  }
  return found->second;
}

template <class T>
std::vector<T> inputs(int count, unsigned seed) {
  Random random(seed);
  std::vector<T> values;
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      values.push_back(static_cast<T>(random.below(200) - (std::is_signed_v<T> ? 100 : 0)));
    } else {
      constexpr float kSpecial[] = {0.0f, -0.0f, 1e-40f, -1e-40f};
      const float value = random.one_in(16)
                              ? kSpecial[random.below(4)]
                              : static_cast<float>(random.below(1 << 20)) / (1 << 19) - 1.0f;
      const auto bits = std::bit_cast<std::uint32_t>(value);
      T& made = values.emplace_back();
      if constexpr (std::is_same_v<T, half>) {
        // Sign, an exponent near that of 1, and a fraction.
        made.bits = static_cast<std::uint16_t>((bits >> 31 << 15) | ((10 + bits % 6) << 10) |
                                               (bits >> 13 & 0x3ff));
      } else if constexpr (std::is_same_v<T, bfloat16>) {
        made.bits = static_cast<std::uint16_t>(bits >> 16);
      } else {
        made = value;
      }
    }
  }
  return values;
}

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, const Vector<T>& vector) {
  const auto read = std::as_bytes(vector.read());
  bytes.insert(bytes.end(), read.begin(), read.end());
}

template <class T>
Bytes run_typed(const Device& device, const Program& p, Contraction mode) {
  const auto vector = [&](unsigned salt) {
    return Vector<T>{std::span<const T>(inputs<T>(p.count, p.seed * 5 + salt))};
  };
  Vector<T> x = vector(1), y = vector(2), w = vector(3), z = vector(4), last = vector(5);
  std::vector<std::int32_t> shuffled(static_cast<std::size_t>(p.count));
  for (int i = 0; i < p.count; ++i) shuffled[static_cast<std::size_t>(i)] = i ^ 1;
  Vector<std::int32_t> order{std::span<const std::int32_t>(shuffled)};
  // Rounded to pairs and fours where an index would leave the vector otherwise.
  const int produced =
      p.layout == Layout::swapped || p.layout == Layout::permuted ? p.produced / 4 * 4 : p.produced;
  device.launch(producer<T>(p, mode), producer_dims(p), x, y, order, produced, 16);
  Vector<T>& target = p.in_place ? y : p.own_input ? x : z;
  device.launch(consumer<T>("consumer", p.shape, mode), over(p.consumed), y, w, target, p.consumed);
  if (p.third) {
    device.launch(consumer<T>("third", p.shape + 1, mode), over(p.consumed), target, w, last,
                  p.consumed);
  }
  Bytes bytes;
  for (const auto* one : {&x, &y, &z, &last}) append(bytes, *one);
  return bytes;
}

constexpr int kDouble = 4;
constexpr int kSingle = 5;

Bytes run(const Device& device, const Program& p, Contraction mode) {
  switch (p.type) {
    case 0:
      return run_typed<half>(device, p, mode);
    case 1:
      return run_typed<bfloat16>(device, p, mode);
    case 2:
      return run_typed<std::int8_t>(device, p, mode);
    case 3:
      return run_typed<std::int32_t>(device, p, mode);
    case kDouble:
      return run_typed<double>(device, p, mode);
    default:
      return run_typed<float>(device, p, mode);
  }
}

/// Of Program::type, as run_typed takes it.
constexpr int kBfloat16 = 1, kFloat = 5;

/// Runs programs on one device in each way.
class Comparison {
 public:
  Comparison(Runtime& runtime, const Device& device)
      : window_(runtime.window()),
        device_(device),
        reference_(own_environment()),
        interpreter_(reference_.get("Interpreter:0")),
        mode_(device.properties().fast_fma ? Contraction::fixed : Contraction::off) {
    window_.set_cpu_devices(true);
    window_.set_planner(Planner::always);
  }

  /// What is wrong, or nothing.
  std::string check(Program program) {
    if (program.type == kDouble && !device_.properties().fp64) program.type = kSingle;
    try {
      window_.set_epilogue_enabled(true);
      window_.reset_stats();
      const Bytes together = run(device_, program, mode_);
      const WindowStats stats = window_.stats();
      merged_ = stats.epilogue_merges > 0;
      if (stats.fallbacks != 0) return "a merged kernel was not launched";
      window_.set_epilogue_enabled(false);
      if (together != run(device_, program, mode_)) return "merged and apart differ";
      // A device that takes f32 denormals for zero computes other bits where one comes up.
      const bool flushes = !device_.properties().denormals_f32 &&
                           (program.type == kBfloat16 || program.type == kFloat);
      if (!flushes && together != run(interpreter_, program, mode_)) {
        return "the device and the interpreter differ";
      }
      return "";
    } catch (const std::exception& failure) {
      return failure.what();
    }
  }
  bool merged() const { return merged_; }

  /// The program with each of its peculiarities taken away that it fails without.
  Program shrink(Program program) {
    const std::array<std::function<void(Program&)>, 6> simpler{
        [](Program& p) { p.third = false; },
        [](Program& p) { p.own_input = false; },
        [](Program& p) { p.in_place = false; },
        [](Program& p) { p.layout = Layout::guarded; },
        [](Program& p) { p.produced = p.consumed = p.count; },
        [](Program& p) { p.count = p.produced = p.consumed = 64; }};
    for (const auto& change : simpler) {
      Program smaller = program;
      change(smaller);
      if (!check(smaller).empty()) program = smaller;
    }
    return program;
  }

 private:
  Window& window_;
  const Device device_;
  Runtime reference_;
  const Device interpreter_;
  /// `off` where the device has no fma to form, because the interpreter has.
  const Contraction mode_;
  bool merged_ = false;
};

/// Runs programs on a device merged and apart, and interpreted. At least a third must merge.
void compare(Runtime& runtime, const Device& device, int count, unsigned shapes) {
  Tally tally("epilogues_on_" + device.id());
  Comparison comparison(runtime, device);
  for (int k = 0; k < count; ++k) {
    const Program program = random_program(first_seed() + static_cast<unsigned>(k), shapes);
    const std::string wrong = comparison.check(program);
    ++tally.programs;
    tally.counted += comparison.merged() ? 1 : 0;
    if (!wrong.empty()) {
      const Program small = comparison.shrink(program);
      FAIL() << wrong << "\n"
             << program.text() << "\nshrunk: " << comparison.check(small) << "\n"
             << small.text();
    }
  }
  tally.report();
  EXPECT_GE(tally.counted * 3, count);
}

TEST(RandomEpilogues, RecordingDevice) {
  RuntimeOptions options = own_environment();
  options.built_in_backends = false;
  options.own.list.push_back(make_fake_backend(std::make_shared<FakeControl>()));
  Runtime runtime(std::move(options));
  compare(runtime, runtime.devices().front(), programs(300), 0);
}

TEST(RandomEpilogues, NativeIfItWereHeld) {
  Runtime runtime(on_held_native(own_environment()));
  if (runtime.devices().empty()) GTEST_SKIP() << "no LLVM here";
  compare(runtime, runtime.devices().front(), programs(8), 2);
}

TEST(RandomEpilogues, EveryDeviceThatCompiles) {
  Runtime runtime(environment_of_devices());
  int tried = 0;
  for (const Device& device : runtime.devices()) {
    if (!runtime.window().defers(device.backend())) continue;
    SCOPED_TRACE(device.id());
    compare(runtime, device, programs(8), 2);
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "no device here compiles kernels";
}

}  // namespace
}  // namespace salvo::tests
