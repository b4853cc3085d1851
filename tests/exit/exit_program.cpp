// Ends in one of several ways while launches are held; ctest checks what is printed (W21, W61).
// SPDX-License-Identifier: MIT
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fake/fake_backend.hpp"
#include "salvo/salvo.hpp"

namespace {

constexpr int kCount = 100;

auto twice_kernel() {
  return salvo::kernel("twice", [](salvo::Span<float> x, salvo::Int n) {
    auto i = salvo::global_thread_id();
    salvo::if_(i < n, [&] { x[i] = x[i] * 2.0f; });
  });
}

const pid_t parent = getpid();

/// Runs after the library's own exit flush, because it is registered before the runtime is made.
void report() {
  if (getpid() != parent) return;
  const auto stats = salvo::window::stats();
  std::printf("submitted=%d issued=%d held=%d failed=%d\n", static_cast<int>(stats.submitted),
              static_cast<int>(stats.issued), static_cast<int>(stats.held),
              static_cast<int>(stats.failed));
}

salvo::Device deferring_device() {
  salvo::window::set_cpu_devices(true);
  for (const auto& device : salvo::Device::all()) {
    if (salvo::window::defers(device.backend())) return device;
  }
  std::puts("SKIPPED: no device that defers");
  std::exit(0);
}

/// Constructed before the runtime, so destroyed after its exit flush.
struct Early {
  salvo::Vector<float> vector{std::vector<float>(kCount, 1.0f)};
} early;

void hold_one(const salvo::Device& device) {
  static const auto twice = twice_kernel();
  static salvo::Vector<float> late(std::size_t{kCount});
  device.launch(twice, salvo::over(kCount), early.vector, kCount);
  device.launch(twice, salvo::over(kCount), late, kCount);
}

int fail_at_exit() {
  salvo::Device::all();  // the default runtime first: it prints what is left at the very end
  static auto control = std::make_shared<salvo::tests::FakeControl>();
  static salvo::Runtime runtime([] {
    salvo::RuntimeOptions options;
    options.built_in_backends = false;
    options.own.list.push_back(salvo::tests::make_fake_backend(control));
    return options;
  }());
  static salvo::Vector<float> vector(std::size_t{kCount});
  runtime.devices().at(0).launch(twice_kernel(), salvo::over(kCount), vector, kCount);
  control->fail(salvo::tests::Driver::launch);
  return 7;
}

void say_what_is_built() {
  salvo::tests::watch_builds([](const salvo::ir::Kernel& kernel) {
    std::printf("built %s\n", kernel.name.c_str());
    std::fflush(stdout);
  });
}

/// A runtime with a recording device alone, never destroyed.
salvo::Runtime& lasting_runtime(salvo::tests::FakeOptions fake = {},
                                const std::string& cache_folder = "") {
  salvo::RuntimeOptions options;
  options.built_in_backends = false;
  options.cache_folder = cache_folder;
  options.own.list.push_back(salvo::tests::make_fake_backend(
      std::make_shared<salvo::tests::FakeControl>(), std::move(fake)));
  return *new salvo::Runtime(std::move(options));
}

/// A compiler that makes, when it is first used, what is destroyed at exit, and needs it when it is
/// used again.
int build_at_exit() {
  say_what_is_built();
  const salvo::Device device = lasting_runtime().devices().at(0);
  static salvo::Vector<float> vector(std::size_t{kCount});
  device.launch(twice_kernel(), salvo::over(kCount), vector, kCount);
  static_cast<void>(vector[0]);
  std::atexit([] { std::puts("the compiler is gone"); });
  device.launch(salvo::kernel("once", [](salvo::Span<float> x) { x[0] = 1.0f; }),
                salvo::grid(1).block(1), vector);
  static_cast<void>(vector[0]);
  device.launch(salvo::kernel("held", [](salvo::Span<float> x) { x[0] = 2.0f; }),
                salvo::grid(1).block(1), vector);
  return 0;
}

/// Ends the program while a kernel is built, because its binary cannot be kept.
int exit_in_a_log_sink() {
  salvo::set_log_sink([](salvo::LogLevel, std::string_view) {
    std::puts("told");
    std::exit(6);
  });
  const salvo::Device device = lasting_runtime({}, "/dev/null/cache").devices().at(0);
  salvo::Vector<float> vector(std::size_t{kCount});
  device.launch(twice_kernel(), salvo::over(kCount), vector, kCount);
  return static_cast<int>(vector[0]);
}

/// Ends the program in the middle of a launch, when it asks for memory.
int exit_in_a_drain() {
  const salvo::Device device =
      lasting_runtime({.spill = [](const salvo::ir::Kernel&) { return 64U; }}).devices().at(0);
  device.on_scratch_drain([] {
    std::puts("drained");
    std::exit(6);
  });
  salvo::Vector<float> vector(std::size_t{kCount});
  device.launch(twice_kernel(), salvo::over(kCount), vector, kCount);
  return static_cast<int>(vector[0]);
}

/// Holds a launch whose kernel, when it is built for the device, says so at once.
int end_by_signal(int signal) {
  say_what_is_built();
  salvo::Runtime& runtime = lasting_runtime();
  static salvo::Vector<float> vector(std::size_t{kCount});
  runtime.devices().at(0).launch(twice_kernel(), salvo::grid(1).block(kCount), vector, kCount);
  std::printf("held=%d\n", static_cast<int>(runtime.window().stats().held));
  std::fflush(stdout);
  if (signal == 0) return 0;
  std::signal(signal, SIG_DFL);  // a sanitizer may have a handler of its own
  std::raise(signal);
  return 1;
}

int launch_while_exiting() {
  static const auto device = deferring_device();
  static std::atomic<bool> started{false};
  std::thread([] {
    const auto twice = twice_kernel();
    salvo::Vector<float> own(std::size_t{kCount});
    try {
      for (;;) {
        device.launch(twice, salvo::over(kCount), own, kCount);
        started = true;
      }
    } catch (const salvo::Error&) {
      // Launching after the exit flush began may be refused.
      for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }).detach();
  while (!started) std::this_thread::yield();
  std::puts("left while a thread launches");
  return 0;
}

/// A thread goes on, refused, for as long as the program takes to end.
int fill_while_exiting() {
  std::atexit([] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
  static const auto device = deferring_device();
  static std::atomic<bool> started{false};
  std::thread([] {
    for (;;) {
      try {
        salvo::Vector<float> filled(std::size_t{kCount});
        salvo::Vector<salvo::half> halves(std::size_t{kCount});
        salvo::fill(device, filled, 2.0f);
        salvo::fill(device, halves, salvo::half{});
        started = started || filled[0] == 2.0f;
      } catch (const salvo::Error&) {
        std::this_thread::yield();
      }
    }
  }).detach();
  while (!started) std::this_thread::yield();
  std::puts("left while a thread fills");
  return 0;
}

/// What the parent holds is the parent's: the child has no window, uses no device it inherited, and
/// ends without waiting for any (W61).
int fork_while_holding(const salvo::Device& device) {
  hold_one(device);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    try {
      device.launch(twice_kernel(), salvo::over(kCount), early.vector, kCount);
      std::printf("child: launched");
    } catch (const salvo::Error& error) {
      std::printf("child: %s", error.code() == salvo::Errc::no_device ? "refused" : error.what());
    }
    salvo::RuntimeOptions options;
    options.built_in_backends = false;
    const auto control = std::make_shared<salvo::tests::FakeControl>();
    options.own.list.push_back(salvo::tests::make_fake_backend(control));
    salvo::Runtime own(std::move(options));
    std::printf(" held=%d", static_cast<int>(own.window().stats().held));
    salvo::Vector<float> vector(std::vector<float>(kCount, 2.0f));
    own.devices().at(0).launch(twice_kernel(), salvo::over(kCount), vector, kCount);
    if (vector[0] == 4.0f) std::printf(" child: has a runtime of its own\n");
    std::fflush(stdout);
    std::exit(3);  // static vectors, the inherited runtime and its exit flush end here
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child left with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "failing") return fail_at_exit();
  if (how == "launching") return launch_while_exiting();
  if (how == "filling") return fill_while_exiting();
  if (how == "late") return build_at_exit();
  if (how == "sink") return exit_in_a_log_sink();
  if (how == "drain") return exit_in_a_drain();
  if (how == "signal") return end_by_signal(std::atoi(argv[2]));
  std::atexit(report);
  const auto device = deferring_device();
  if (how == "forking") return fork_while_holding(device);
  hold_one(device);
  if (how == "underscore") _exit(5);
  if (how == "exit") std::exit(0);
  if (how == "exception") {
    try {
      salvo::Vector<float> unwound(std::size_t{kCount});
      device.launch(twice_kernel(), salvo::over(kCount), unwound, kCount);
      throw std::runtime_error("in flight");
    } catch (const std::runtime_error&) {
      std::puts("caught");
    }
  }
  return 0;
}
