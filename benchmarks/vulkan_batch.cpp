// Cost of a launch on Vulkan by the number of launches in a submission (W74), and where it goes.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef __linux__
#  include <sched.h>
#endif

#include <fmt/format.h>

#include <salvo/salvo.hpp>

#include "backends/vulkan/vulkan_device.hpp"

namespace {

namespace vulkan = salvo::backends::vulkan;

constexpr int kLaunches = 256;
constexpr int kVisits = 8;
constexpr int kRounds = 5;  // of a visit
constexpr int kPartRounds = 40;
constexpr int kCount = 256;
constexpr std::array kBatches{1, 8, 32, 64, 256};

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count() / kLaunches;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Time of a fixed chain of dependent operations: longer where the processor is slow, as it is
/// after sleeping through waits.
double processor_time() {
  constexpr int kSteps = 20'000;
  const auto before = Clock::now();
  std::uint64_t state = static_cast<std::uint64_t>(before.time_since_epoch().count());
  for (int i = 0; i < kSteps; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
  const auto after = Clock::now();
  // Used, so that the chain is computed.
  return std::chrono::duration<double, std::micro>(after - before).count() +
         (state == 0 ? 1e-9 : 0.0);
}

// Where time goes: a driver's functions, timed.

enum Part : std::size_t { opening, recording, submitting, waiting, parts };
constexpr std::array<const char*, parts> kParts{"opening", "recording", "submitting", "waiting"};

struct Spent {
  std::int64_t time = 0;  // in ticks of the clock
  std::int64_t calls = 0;
};
std::array<Spent, parts> spent;

template <auto member, Part part, class Pointer>
struct Timed;
template <auto member, Part part, class Result, class... In>
struct Timed<member, part, Result (*)(In...)> {
  static inline Result (*real)(In...) = nullptr;

  class Stopwatch {
   public:
    Stopwatch() : begun_(Clock::now()) {}
    ~Stopwatch() {
      spent[part].time += (Clock::now() - begun_).count();
      ++spent[part].calls;
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

   private:
    const Clock::time_point begun_;
  };
  static Result call(In... in) {
    const Stopwatch stopwatch;
    return real(in...);
  }
};

template <auto member, Part part>
void time(vulkan::DeviceApi& api) {
  auto& function = api.*member;
  using Way = Timed<member, part, std::decay_t<decltype(function.get())>>;
  Way::real = function.get();
  function.assign(Way::call);
}

void time_all(vulkan::DeviceApi& api) {
  using Api = vulkan::DeviceApi;
  time<&Api::ResetCommandPool, opening>(api);
  time<&Api::BeginCommandBuffer, opening>(api);
  time<&Api::EndCommandBuffer, opening>(api);
  time<&Api::CmdBindPipeline, recording>(api);
  time<&Api::CmdBindDescriptorSets, recording>(api);
  time<&Api::CmdPushConstants, recording>(api);
  time<&Api::CmdPipelineBarrier, recording>(api);
  time<&Api::CmdDispatch, recording>(api);
  time<&Api::QueueSubmit, submitting>(api);
  time<&Api::GetSemaphoreCounterValue, waiting>(api);
  time<&Api::WaitSemaphores, waiting>(api);
}

/// Vulkan, with such a batch limit.
class BatchBackend final : public salvo::runtime::Backend {
 public:
  BatchBackend(int batch, bool timed)
      : real_(vulkan::make_backend({.batch = static_cast<std::uint32_t>(batch)})), timed_(timed) {}
  std::string_view name() const noexcept override { return real_->name(); }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<salvo::runtime::DeviceDriver>> open() override {
    auto devices = real_->open();
    if (timed_ && !devices.empty()) time_all(vulkan::api_of(*devices.front()));
    return devices;
  }
  const std::optional<salvo::runtime::Unavailable>& unavailable() const noexcept override {
    return real_->unavailable();
  }

 private:
  std::unique_ptr<salvo::runtime::Backend> real_;
  const bool timed_;
};

/// A runtime whose Vulkan devices submit so many launches at a time, and its vectors.
class Subject {
 public:
  explicit Subject(int batch, bool timed = false) {
    salvo::RuntimeOptions options;
    options.built_in_backends = false;
    options.own.list.push_back(std::make_unique<BatchBackend>(batch, timed));
    runtime_ = std::make_unique<salvo::Runtime>(std::move(options));
    runtime_->window().set_enabled(false);
    for (int i = 0; i < kLaunches; ++i) outputs_.emplace_back(std::size_t{kCount});
  }

  std::vector<salvo::Device> devices() const { return runtime_->by_backend("Vulkan"); }

  /// Rounds of both kinds. Those of the warm-up find another subject's device in the GPU and a
  /// processor that has slept, and do not count.
  template <class Kernel>
  void visit(const Kernel& kernel, std::chrono::milliseconds warm_up) {
    for (const bool independent : {false, true}) {
      const auto begun = Clock::now();
      while (Clock::now() - begun < warm_up) round(kernel, independent);
      for (int i = 0; i < kRounds; ++i) {
        const Round took = round(kernel, independent);
        host_[independent].push_back(took.host);
        whole_[independent].push_back(took.whole);
        processor_.push_back(processor_time());
      }
    }
  }

  struct Round {
    double host;
    double whole;
  };
  template <class Kernel>
  Round round(const Kernel& kernel, bool independent) {
    const salvo::Device device = devices().front();
    const auto before = Clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      device.launch(kernel, salvo::over(kCount), input_, outputs_[independent ? i : 0], kCount);
    }
    const auto launched = Clock::now();
    device.synchronize();
    return {microseconds(launched - before), microseconds(Clock::now() - before)};
  }

  double host(bool independent) const { return median(host_[independent]); }
  double whole(bool independent) const { return median(whole_[independent]); }
  double processor() const { return median(processor_); }

 private:
  std::unique_ptr<salvo::Runtime> runtime_;
  salvo::Vector<float> input_ = salvo::Vector<float>(std::size_t{kCount}, 1.0f);
  std::vector<salvo::Vector<float>> outputs_;
  std::array<std::vector<double>, 2> host_;  // dependent, independent
  std::array<std::vector<double>, 2> whole_;
  std::vector<double> processor_;
};

/// Prints the parts of a launch's cost, medians over rounds in which each call of the driver is
/// timed.
template <class Kernel>
void print_parts(const Kernel& kernel, int batch, bool independent) {
  Subject subject(batch, true);
  for (int round = 0; round < kPartRounds; ++round) subject.round(kernel, independent);
  std::array<std::vector<double>, parts> times;
  std::array<std::int64_t, parts> calls{};
  std::vector<double> rests;
  std::vector<double> wholes;
  for (int round = 0; round < kPartRounds; ++round) {
    spent = {};
    const double whole = subject.round(kernel, independent).whole;
    double rest = whole;
    for (std::size_t part = 0; part < parts; ++part) {
      const double time = microseconds(Clock::duration(spent[part].time));
      times[part].push_back(time);
      calls[part] += spent[part].calls;
      rest -= time;
    }
    rests.push_back(rest);
    wholes.push_back(whole);
  }
  std::string line = fmt::format("{:>6} {:>12}", batch, independent ? "independent" : "dependent");
  for (std::size_t part = 0; part < parts; ++part) {
    line += fmt::format(" {:>10.3f} ({:>5.2f})", median(times[part]),
                        static_cast<double>(calls[part]) / (double{kLaunches} * kPartRounds));
  }
  fmt::print("{} {:>10.3f} {:>10.3f}\n", line, median(rests), median(wholes));
}

double clock_costs() {
  constexpr int kReads = 10'000;
  const auto before = Clock::now();
  for (int i = 0; i < kReads; ++i) Clock::now();
  return std::chrono::duration<double, std::micro>(Clock::now() - before).count() / kReads;
}

/// Keeps this thread, and those it makes, on the processor it runs on: one that moves begins with
/// empty caches, which this measures otherwise. False where that is not possible.
bool stay_on_this_processor() {
#ifdef __linux__
  const int processor = sched_getcpu();
  cpu_set_t only;
  CPU_ZERO(&only);
  if (processor >= 0) CPU_SET(static_cast<std::size_t>(processor), &only);
  return processor >= 0 && sched_setaffinity(0, sizeof(only), &only) == 0;
#else
  return false;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  // In milliseconds, before the rounds of a visit count.
  int warm_up = 20;
  if (argc > 2 || (argc == 2 && (warm_up = std::atoi(argv[1])) <= 0)) {
    fmt::print(stderr, "usage: {} [milliseconds of warm-up, 20 unless told]\n", argv[0]);
    return 2;
  }
  const bool stays = stay_on_this_processor();
  const auto kernel =
      salvo::kernel("add", [](salvo::Span<const float> x, salvo::Span<float> y, salvo::Int n) {
        auto i = salvo::global_thread_id();
        salvo::if_(i < n, [&] { y[i] = y[i] + x[i]; });
      });
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const int batch : kBatches) subjects.push_back(std::make_unique<Subject>(batch));
  if (subjects.front()->devices().empty()) {
    fmt::print("no Vulkan device\n");
    return 1;
  }
  // All batch sizes take turns, so that a slow spell of the machine meets each of them.
  for (int visit = 0; visit < kVisits; ++visit) {
    for (const auto& subject : subjects) subject->visit(kernel, std::chrono::milliseconds(warm_up));
  }
  fmt::print(
      "{}: us a launch, medians of {} rounds of {}, each visit warmed up for {} ms, and how many "
      "times less than batch 1; us that the processor took for fixed work meanwhile; {}\n",
      subjects.front()->devices().front().properties().name, kVisits * kRounds, kLaunches, warm_up,
      stays ? "on one processor" : "on whatever processor");
  fmt::print("{:>6} {:>12} {:>18} {:>18} {:>18} {:>18} {:>10}\n", "batch", "", "dependent host",
             "whole", "independent host", "whole", "processor");
  const Subject& single = *subjects.front();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const Subject& subject = *subjects[i];
    std::string line = fmt::format("{:>6} {:>12}", kBatches[i], "");
    for (const bool independent : {false, true}) {
      line += fmt::format(" {:>10.2f} {:>6.1f}x {:>10.2f} {:>6.1f}x", subject.host(independent),
                          single.host(independent) / subject.host(independent),
                          subject.whole(independent),
                          single.whole(independent) / subject.whole(independent));
    }
    fmt::print("{} {:>10.2f}\n", line, subject.processor());
  }

  fmt::print(
      "\nmedians in us a launch (calls); a timed call takes {:.3f} longer, of which half counts\n",
      2 * clock_costs());
  std::string head = fmt::format("{:>6} {:>12}", "batch", "");
  for (const char* part : kParts) head += fmt::format(" {:>18}", part);
  fmt::print("{} {:>10} {:>10}\n", head, "the rest", "whole");
  for (const int batch : kBatches) {
    for (const bool independent : {false, true}) print_parts(kernel, batch, independent);
  }
}
