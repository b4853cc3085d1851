// Random programs: the same bytes with the window on, with it off, and interpreted.
// SPDX-License-Identifier: MIT
#include "random/window_programs.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "fake/fake_backend.hpp"
#include "fake/held_native.hpp"
#include "random/random_support.hpp"

namespace salvo::tests {
namespace {

/// Runs programs on one set of devices in each way.
class Comparison {
 public:
  Comparison(Runtime& runtime, std::vector<Device> devices)
      : window_(runtime.window()),
        devices_(std::move(devices)),
        reference_(own_environment()),
        interpreter_({reference_.get("Interpreter:0")}),
        mode_(devices_.front().properties().fast_fma ? Contraction::fixed : Contraction::off) {
    window_.set_cpu_devices(true);
    window_.set_planner(Planner::always);
  }
  ~Comparison() { window_.set_enabled(true); }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  /// What is wrong, or nothing.
  std::string check(const WindowProgram& program) {
    try {
      window_.set_limits(program.most_groups, program.most_members);
      window_.set_epilogue_enabled(program.epilogue);
      window_.set_enabled(true);
      window_.reset_stats();
      const auto held = run(devices_, program, mode_);
      devices_.front().synchronize();
      const WindowStats stats = window_.stats();
      merged_ = stats.issued + stats.failed < stats.submitted;
      repeated_ = stats.repeated > 0;
      if (stats.fallbacks != 0) return "a fused kernel was not launched";
      window_.set_enabled(false);
      if (held != run(devices_, program, mode_)) return "on and off differ";
      if (held != run(interpreter_, program, mode_)) return "the device and the interpreter differ";
      return "";
    } catch (const std::exception& failure) {
      return failure.what();
    }
  }
  bool merged() const { return merged_; }
  bool repeated() const { return repeated_; }

  /// The program without each step that it fails without.
  WindowProgram shrink(WindowProgram program) {
    for (std::size_t s = program.steps.size(); s-- > 0;) {
      WindowProgram smaller = program;
      smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(s));
      if (!check(smaller).empty()) program = std::move(smaller);
    }
    return program;
  }

 private:
  Window& window_;
  const std::vector<Device> devices_;
  Runtime reference_;
  const std::vector<Device> interpreter_;
  /// `off` where the device has no fma to form, because the interpreter has.
  const Contraction mode_;
  bool merged_ = false;
  bool repeated_ = false;  // a window
};

using Generator = WindowProgram (*)(unsigned seed, unsigned palettes);

/// How many of the programs count as what they are meant to be.
using Counted = bool (Comparison::*)() const;

void compare(Runtime& runtime, std::vector<Device> devices, int count, unsigned palettes,
             Generator generate, Counted counted) {
  Tally tally("window_on_" + devices.front().id(),
              counted == &Comparison::repeated ? "repeated" : "merged");
  Comparison comparison(runtime, std::move(devices));
  for (int p = 0; p < count; ++p) {
    const auto program = generate(first_seed() + static_cast<unsigned>(p), palettes);
    const std::string wrong = comparison.check(program);
    ++tally.programs;
    tally.counted += (comparison.*counted)() ? 1 : 0;
    if (!wrong.empty()) {
      const WindowProgram small = comparison.shrink(program);
      FAIL() << wrong << "\n"
             << program.text() << "shrunk: " << comparison.check(small) << "\n"
             << small.text();
    }
  }
  tally.report();
  // A difference in an early round leaves few rounds that could repeat.
  EXPECT_GE(tally.counted * (counted == &Comparison::repeated ? 10 : 3), count);
}

void compare_on_recording_devices(Generator generate, Counted counted) {
  RuntimeOptions options = own_environment();
  options.built_in_backends = false;
  options.own.list.push_back(
      make_fake_backend(std::make_shared<FakeControl>(), FakeOptions{.devices = 2}));
  Runtime runtime(std::move(options));
  compare(runtime, runtime.devices(), programs(300), 0, generate, counted);
}

void compare_on_devices_that_compile(Generator generate, Counted counted) {
  Runtime runtime(environment_of_devices());
  int tried = 0;
  for (const Device& device : runtime.devices()) {
    if (!runtime.window().defers(device.backend())) continue;
    SCOPED_TRACE(device.id());
    compare(runtime, {device}, programs(8), 4, generate, counted);
    ++tried;
  }
  if (tried == 0) GTEST_SKIP() << "no device here compiles kernels";
}

void compare_on_held_native(Generator generate, Counted counted) {
  Runtime runtime(on_held_native(own_environment()));
  if (runtime.devices().empty()) GTEST_SKIP() << "no LLVM here";
  compare(runtime, runtime.devices(), programs(8), 4, generate, counted);
}

TEST(RandomWindows, RecordingDevices) {
  compare_on_recording_devices(random_window_program, &Comparison::merged);
}
TEST(RandomWindows, EveryDeviceThatCompiles) {
  compare_on_devices_that_compile(random_window_program, &Comparison::merged);
}
TEST(RandomWindows, NativeIfItWereHeld) {
  compare_on_held_native(random_window_program, &Comparison::merged);
}
TEST(RandomWindows, RepeatedOnRecordingDevices) {
  compare_on_recording_devices(repeating_window_program, &Comparison::repeated);
}
TEST(RandomWindows, RepeatedOnEveryDeviceThatCompiles) {
  compare_on_devices_that_compile(repeating_window_program, &Comparison::repeated);
}
TEST(RandomWindows, RepeatedOnNativeIfItWereHeld) {
  compare_on_held_native(repeating_window_program, &Comparison::repeated);
}

}  // namespace
}  // namespace salvo::tests
