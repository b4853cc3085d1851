// Random programs of launches, host accesses, views, fills, copies and frees, on one or two
// threads.
// SPDX-License-Identifier: MIT
#include "random/window_programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <thread>
#include <type_traits>
#include <utility>

#include "random/random_support.hpp"

namespace salvo::tests {
namespace {

constexpr int kVectors = 4;  // a thread has of each type
constexpr int kKernels = 8;  // for each type

/// x to y, and w beside it.
template <class T>
using Body = Kernel<Span<const T>, Span<const T>, Span<T>, Int>;

/// A body and how it may be bound.
template <class T>
struct Shape {
  Body<T> kernel;
  bool at_own_element = true;  // x and y may be one; otherwise they are apart
  int shrinks = 1;             // elements of x for one of y
};

template <class T, class F>
Body<T> guarded(const char* name, F body) {
  return kernel(name, [body](Span<const T> x, Span<const T> w, Span<T> y, Int n) {
    for_each_thread(n, [&](Int i) { body(x, w, y, i, n); });
  });
}

/// Values stay small: floats within -1 and 1, where nothing becomes a NaN; integers wrap.
template <class T>
std::vector<Shape<T>> make_shapes() {
  using C = detail::computed_t<T>;
  constexpr bool kFloat = std::is_floating_point_v<T>;
  const C half = kFloat ? C(0.5) : C(3), quarter = kFloat ? C(0.25) : C(7);
  std::vector<Shape<T>> all;
  all.push_back({guarded<T>(
      "scale", [=](auto x, auto, auto y, Int i, Int) { y[i] = x[i] * half + quarter; })});
  all.push_back({guarded<T>(
      "mix", [=](auto x, auto, auto y, Int i, Int) { y[i] = y[i] * half - x[i] * quarter; })});
  all.push_back(
      {guarded<T>("multiply", [](auto x, auto w, auto y, Int i, Int) { y[i] = x[i] * w[i]; })});
  all.push_back({guarded<T>("positive", [=](auto x, auto w, auto y, Int i, Int) {
    if_(x[i] < C(0), [&] { return_(); });
    y[i] = (x[i] + w[i]) * half;
  })});
  all.push_back({guarded<T>("reverse",
                            [=](auto x, auto, auto y, Int i, Int n) {
                              y[i] = x[n - 1 - i] * half + x[max(i - 1, 0)] * quarter;
                            }),
                 false});
  all.push_back({kernel("strided",
                        [=](Span<const T> x, Span<const T> w, Span<T> y, Int n) {
                          for_(range(global_thread_id(), n, grid_dim_x() * block_dim_x()),
                               [&](Int i) { y[i] = w[i] * quarter - x[i] * half; });
                        }),
                 true});
  all.push_back({kernel("sums",
                        [=](Span<const T> x, Span<const T>, Span<T> y, Int n) {
                          Shared<C> tile(32);
                          auto t = thread_idx_x();
                          auto at = block_idx_x() * 32 + t;
                          if_(t < 32, [&] {
                            tile[t] = C(0);
                            if_(at < n, [&] { tile[t] = x[at]; });
                          });
                          barrier();
                          if_(t == 0 && block_idx_x() * 32 < n, [&] {
                            Var<C> sum = C(0);
                            for_(range(32), [&](Int k) { sum += tile[k]; });
                            y[block_idx_x()] = sum * (kFloat ? C(0.03125) : C(1));
                          });
                        }),
                 false, 32});
  all.push_back({kernel("folded",
                        [=](Span<const T> x, Span<const T> w, Span<T> y, Int n) {
                          Shared<C> weights(32), tile(48);
                          auto t = thread_idx_x();
                          auto at = block_idx_x() * 32 + t;
                          if_(t < 32, [&] {
                            tile[t + 16] = C(0);
                            weights[t] = C(0);
                            if_(at < n, [&] {
                              tile[t + 16] = x[at];
                              weights[t] = w[at];
                            });
                          });
                          barrier();
                          if_(t == 0 && block_idx_x() * 32 < n, [&] {
                            Var<C> sum = C(0);
                            for_(range(32), [&](Int k) { sum += tile[k + 16] * weights[31 - k]; });
                            y[block_idx_x()] = sum * (kFloat ? C(0.03125) : C(1));
                          });
                        }),
                 false, 32});
  return all;
}

template <class T>
const Shape<T>& shape(int number, Contraction mode) {
  static const std::vector<Shape<T>> fixed = make_shapes<T>();
  static const std::vector<Shape<T>> off = [] {
    std::vector<Shape<T>> all = fixed;
    for (Shape<T>& one : all) one.kernel = one.kernel.contraction(Contraction::off);
    return all;
  }();
  return (mode == Contraction::off ? off : fixed)[static_cast<std::size_t>(number % kKernels)];
}

const Kernel<Span<const std::int32_t>, Span<std::int32_t>, Int>& counting() {
  static const auto made =
      kernel("counting", [](Span<const std::int32_t> x, Span<std::int32_t> counts, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] { atomic_add(counts[i & 15], x[i]); });
      });
  return made;
}

template <class T>
T element(int value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value % 2001 - 1000) / T(1000);
  } else {
    return static_cast<T>(value * 7 - 1000);
  }
}

template <class T>
Vector<T> made(int size, int salt) {
  Vector<T> vector(static_cast<std::size_t>(size));
  auto elements = vector.write();
  for (int i = 0; i < size; ++i) elements[static_cast<std::size_t>(i)] = element<T>(salt + i * 37);
  return vector;
}

struct Range {
  int first, count;
  Range part(int most) const { return {first, std::min(count, most)}; }
};

Range range_of(int size, int first, int count) {
  if (first % 3 == 0) return {0, size};
  const int from = first % (size / 2);
  return {from, 1 + count % (size - from)};
}

template <class V>
auto view(V& vector, Range range) {
  return vector.view(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
}

/// Threads enough, or too few, in blocks of several sizes; a strided kernel needs no more.
Dims dims_for(int choice, int count) {
  const int block = 32 << choice % 3;
  if (choice % 5 == 0) return grid(std::max(1, count / block / 2)).block(block);
  if (choice % 2 == 0) return over(count);
  return grid((count + block - 1) / block).block(block);
}

/// What all threads read and count into; written before they start.
struct Common {
  Vector<float> floats;
  Vector<std::int32_t> integers;
  Vector<std::int8_t> bytes;
  Vector<std::int32_t> counts{std::vector<std::int32_t>(16)};

  template <class T>
  const Vector<T>& of() const {
    if constexpr (std::is_same_v<T, float>) return floats;
    if constexpr (std::is_same_v<T, std::int32_t>) return integers;
    if constexpr (std::is_same_v<T, std::int8_t>) return bytes;
  }
};

class ThreadOfProgram {
 public:
  ThreadOfProgram(const std::vector<Device>& devices, const WindowProgram& program, Common& common,
                  int number, Contraction mode)
      : devices_(devices), program_(program), common_(common), number_(number), mode_(mode) {
    for (int v = 0; v < kVectors; ++v) {
      floats_.push_back(made<float>(program.size, number * 100 + v));
      integers_.push_back(made<std::int32_t>(program.size, number * 100 + v));
      bytes_.push_back(made<std::int8_t>(program.size, number * 100 + v));
    }
  }

  void run() {
    for (const Step& step : program_.steps) {
      if (step.thread % program_.threads != number_) continue;
      switch (step.type % 3) {
        case 0:
          perform(step, floats_);
          break;
        case 1:
          perform(step, integers_);
          break;
        default:
          perform(step, bytes_);
          break;
      }
    }
  }

  std::vector<std::byte> finish() {
    for (const auto& vector : floats_) note(vector.read());
    for (const auto& vector : integers_) note(vector.read());
    for (const auto& vector : bytes_) note(vector.read());
    return std::move(noted_);
  }

 private:
  template <class T>
  void note(std::span<const T> elements) {
    const auto raw = std::as_bytes(elements);
    noted_.insert(noted_.end(), raw.begin(), raw.end());
  }

  const Device& device(const Step& step) const {
    const std::size_t choices = program_.threads == 1 ? devices_.size() : 1;
    return devices_[static_cast<std::size_t>(step.dims) % choices];
  }

  /// One of the thread's own, or what all share.
  template <class T>
  const Vector<T>& source(const std::vector<Vector<T>>& own, int choice) const {
    const int among = choice % (kVectors + 1);
    return among == kVectors ? common_.of<T>() : own[static_cast<std::size_t>(among)];
  }

  template <class T>
  void perform(const Step& step, std::vector<Vector<T>>& own) {
    const int size = program_.size;
    Vector<T>& target = own[static_cast<std::size_t>(step.b % kVectors)];
    const Range range = range_of(size, step.first[1], step.count[1]);
    switch (step.act) {
      case Act::launch:
        launch(step, own, target, range);
        break;
      case Act::count: {
        const Vector<std::int32_t>& from = source(integers_, step.a);
        const Range part = range_of(size, step.first[0], step.count[0]);
        device(step).launch(counting(), over(part.count), view(from, part), common_.counts,
                            part.count);
        break;
      }
      case Act::write: {
        auto elements = view(target, range.part(24)).write();
        for (std::size_t i = 0; i < elements.size(); ++i) {
          elements[i] = element<T>(step.value + static_cast<int>(i) * 91);
        }
        break;
      }
      case Act::read:
        note(view(source(own, step.a), range).read());
        break;
      case Act::fill:
        fill(device(step), view(target, range), element<T>(step.value));
        break;
      case Act::replace:
        target = made<T>(size, step.value);
        break;
      case Act::free:
        free_on_device(target);
        break;
      case Act::copy: {
        const Vector<T>& from = source(own, step.a);
        const Range part = range_of(size, step.first[0], step.count[0]).part(range.count);
        copy(from, static_cast<std::size_t>(part.first), target,
             static_cast<std::size_t>(range.first), static_cast<std::size_t>(part.count));
        break;
      }
      case Act::copy_to_device: {
        const Vector<T> values = made<T>(range.count, step.value);
        copy_to_device(device(step), target, static_cast<std::size_t>(range.first), values.read());
        break;
      }
      case Act::copy_to_host: {
        std::vector<T> values(static_cast<std::size_t>(range.count));
        copy_to_host(source(own, step.a), static_cast<std::size_t>(range.first),
                     std::span<T>(values));
        note(std::span<const T>(values));
        break;
      }
      case Act::to_device:
        to_device(device(step), target);
        break;
      case Act::flush:
        flush(device(step));
        break;
      case Act::synchronize:
        device(step).synchronize();
        break;
    }
  }

  template <class T>
  void launch(const Step& step, const std::vector<Vector<T>>& own, Vector<T>& target, Range to) {
    const std::size_t kernels = program_.palette.size();
    const Shape<T>& body =
        shape<T>(program_.palette[static_cast<std::size_t>(step.kernel) % kernels], mode_);
    const Vector<T>& from = source(own, step.a);
    const Vector<T>& beside = source(own, step.c);
    Range read = range_of(program_.size, step.first[0], step.count[0]);
    Range with = range_of(program_.size, step.first[2], step.count[2]);
    const auto is_target = [&](const Vector<T>& one) { return &one == &target; };
    if (is_target(from) || (is_target(beside) && !body.at_own_element)) {
      // One vector: the same elements, or halves that do not meet.
      if (body.at_own_element) {
        read = to;
      } else {
        read = {0, program_.size / 2};
        to = {program_.size / 2, program_.size - program_.size / 2};
      }
    }
    if (is_target(beside)) with = body.at_own_element ? to : read;
    const int count = std::min({read.count, with.count, to.count * body.shrinks});
    const Dims dims = body.shrinks > 1 ? grid((count + 31) / 32).block(32 << step.dims % 2)
                                       : dims_for(step.dims, count);
    device(step).launch(body.kernel, dims, view(from, read), view(beside, with), view(target, to),
                        count);
  }

  const std::vector<Device>& devices_;
  const WindowProgram& program_;
  Common& common_;
  const int number_;
  const Contraction mode_;
  std::vector<Vector<float>> floats_;
  std::vector<Vector<std::int32_t>> integers_;
  std::vector<Vector<std::int8_t>> bytes_;
  std::vector<std::byte> noted_;
};

constexpr const char* kActNames[kActs] = {
    "launch", "count",          "write",        "read",      "fill",  "replace",    "free",
    "copy",   "copy_to_device", "copy_to_host", "to_device", "flush", "synchronize"};

}  // namespace

std::string Step::text() const {
  return fmt::format(
      "{} thread={} type={} kernel={} a={} b={} c={} first={} count={} dims={} value={}",
      kActNames[static_cast<std::size_t>(act)], thread, type % 3, kernel, a, b, c, first, count,
      dims, value);
}

std::string WindowProgram::text() const {
  std::string all =
      fmt::format("seed {}: {} elements, {} threads, kernels {}, limits {} and {}{}\n", seed, size,
                  threads, palette, most_groups, most_members, epilogue ? ", epilogues" : "");
  for (const Step& step : steps) all += "  " + step.text() + "\n";
  return all;
}

namespace {

Step random_step(Random& random, unsigned seed, unsigned palettes) {
  Step step;
  // Launches are the rule.
  step.act = random.below(5) < 3 ? Act::launch : static_cast<Act>(random.below(kActs));
  step.thread = random.below(2);
  step.type = palettes ? static_cast<int>(seed / palettes % 3) : random.below(3);
  step.kernel = random.below(64);
  for (int* one : {&step.a, &step.b, &step.c}) *one = random.below(20);
  for (int v = 0; v < 3; ++v) {
    step.first[v] = random.below(1000);
    step.count[v] = random.below(1000);
  }
  step.dims = random.below(60);
  step.value = random.below(4000);
  return step;
}

/// A program without steps yet.
WindowProgram empty_program(Random& random, unsigned seed, unsigned palettes) {
  WindowProgram program;
  program.seed = seed;
  program.size = 64 + random.below(200);
  program.threads = random.one_in(3) ? 2 : 1;
  Random colours(palettes ? seed % palettes : seed);
  for (int k = 0; k < (palettes ? 2 : 4); ++k) program.palette.push_back(colours.below(kKernels));
  program.most_groups = static_cast<std::uint32_t>(1 + random.below(8));
  program.most_members = palettes ? 4 : static_cast<std::uint32_t>(1 + random.below(8));
  program.epilogue = !random.one_in(4);
  return program;
}

}  // namespace

WindowProgram random_window_program(unsigned seed, unsigned palettes) {
  Random random(seed);
  WindowProgram program = empty_program(random, seed, palettes);
  const int steps = 6 + random.below(26);
  for (int s = 0; s < steps; ++s) program.steps.push_back(random_step(random, seed, palettes));
  return program;
}

WindowProgram repeating_window_program(unsigned seed, unsigned palettes) {
  Random random(seed);
  WindowProgram program = empty_program(random, seed, palettes);
  if (!random.one_in(4)) program.threads = 1;
  std::vector<Step> window;
  const int launches = 1 + random.below(8);
  for (int s = 0; s < launches; ++s) {
    Step step = random_step(random, seed, palettes);
    step.act = random.one_in(8) ? Act::count : random.one_in(8) ? Act::fill : Act::launch;
    window.push_back(step);
  }
  Step last = random_step(random, seed, palettes);
  last.act = random.one_in(2) ? Act::flush : Act::synchronize;
  window.push_back(last);
  ++last.dims;  // of two devices the other one
  window.push_back(last);
  const int rounds = 4 + random.below(8);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Step> steps = window;
    if (random.one_in(3)) {
      const auto at = steps.begin() + random.below(static_cast<int>(steps.size()));
      const Step other = random_step(random, seed, palettes);
      const int how = random.below(3);
      if (how == 0) *at = other;
      if (how == 1) steps.insert(at, other);
      if (how == 2) steps.erase(at);
    }
    program.steps.insert(program.steps.end(), steps.begin(), steps.end());
  }
  return program;
}

std::vector<std::byte> run(const std::vector<Device>& devices, const WindowProgram& program,
                           Contraction mode) {
  Common common;
  common.floats = made<float>(program.size, 11);
  common.integers = made<std::int32_t>(program.size, 12);
  common.bytes = made<std::int8_t>(program.size, 13);
  std::vector<ThreadOfProgram> parts;
  for (int t = 0; t < program.threads; ++t) parts.emplace_back(devices, program, common, t, mode);
  if (parts.size() == 1) {
    parts.front().run();
  } else {
    std::vector<std::exception_ptr> failures(parts.size());
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < parts.size(); ++t) {
      threads.emplace_back([&, t] {
        try {
          parts[t].run();
        } catch (...) {
          failures[t] = std::current_exception();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }
  std::vector<std::byte> all;
  for (ThreadOfProgram& part : parts) {
    const std::vector<std::byte> noted = part.finish();
    all.insert(all.end(), noted.begin(), noted.end());
  }
  const auto counted = std::as_bytes(common.counts.read());
  all.insert(all.end(), counted.begin(), counted.end());
  return all;
}

}  // namespace salvo::tests
