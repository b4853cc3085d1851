// P3: once a window that repeats is warm, recording and issuing it allocates nothing.
// SPDX-License-Identifier: MIT
//
// The whole program's operator new counts while it is asked to, and notes who called first: the
// addresses in a failure are for `addr2line -Cfpe allocations_test`. What a driver's library
// allocates for itself is the driver's.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "fake/silent_backend.hpp"
#include "runtime/device_state.hpp"
#include "salvo/salvo.hpp"

namespace {

// Of this thread: others may allocate as they like.
thread_local bool counting = false;
thread_local int allocations = 0;
thread_local std::array<void*, 16> first_caller{};
thread_local int first_depth = 0;

/// Where the shared object or program that holds the address is loaded.
const void* home_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Whether Salvo or this test asked for memory, not a driver's library. Both are in the program;
/// between them and operator new there may be functions of the C++ library.
bool is_ours(const void* caller, const std::array<void*, 16>& stack, int depth) {
  static const void* const program = home_of(reinterpret_cast<const void*>(&home_of));
  static const void* const standard = home_of(dlsym(RTLD_DEFAULT, "_ZSt20__throw_length_errorPKc"));
  const void* home = home_of(caller);
  int at = 0;
  while (at < depth && stack[static_cast<std::size_t>(at)] != caller) ++at;
  while (home == standard && ++at < depth) home = home_of(stack[static_cast<std::size_t>(at)]);
  return home == program;
}

void* allocate(std::size_t bytes, std::size_t align, const void* caller) {
  if (counting) {
    counting = false;  // looking at the stack may allocate itself
    std::array<void*, 16> stack{};
    const int depth = backtrace(stack.data(), static_cast<int>(stack.size()));
    if (is_ours(caller, stack, depth) && allocations++ == 0) {
      first_caller = stack;
      first_depth = depth;
    }
    counting = true;
  }
  // A multiple of the alignment, as aligned_alloc asks.
  void* memory = align > alignof(std::max_align_t)
                     ? std::aligned_alloc(align, (bytes + align - 1) / align * align)
                     : std::malloc(bytes ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return allocate(bytes, 0, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate(bytes, static_cast<std::size_t>(align), __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace salvo::tests {
namespace {

constexpr int kCount = 1000;

/// Allocations of `work`, and in words where the first came from.
::testing::AssertionResult allocates_nothing(const std::function<void()>& work) {
  allocations = 0;
  counting = true;
  work();
  counting = false;
  if (allocations == 0) return ::testing::AssertionSuccess();
  std::string words = std::to_string(allocations) + " allocations, the first from\n";
  char** names = backtrace_symbols(first_caller.data(), first_depth);
  for (int i = 0; names && i < first_depth; ++i) words += std::string(names[i]) + "\n";
  std::free(names);
  return ::testing::AssertionFailure() << words;
}

Kernel<Span<float>, Span<float>, Int> scaled(const std::string& name, float factor) {
  return kernel(name, [factor](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * factor; });
  });
}

class P3Allocations : public ::testing::Test {
 protected:
  P3Allocations()
      : runtime([] {
          RuntimeOptions options;
          options.built_in_backends = false;
          options.environment = [](const char*) { return nullptr; };
          options.own.list.push_back(std::make_unique<SilentBackend>());
          return options;
        }()) {
    runtime.window().set_planner(Planner::always);
    backtrace(first_caller.data(), 1);  // its library is loaded now
  }

  /// Records and issues the same window until it is warm, then once more, counted apart.
  void expect_none(const std::function<void()>& record) {
    for (int round = 0; round < 8; ++round) {
      record();
      runtime.window().flush();
    }
    for (int round = 0; round < 4; ++round) {
      EXPECT_TRUE(allocates_nothing(record)) << "while recording, round " << round;
      EXPECT_TRUE(allocates_nothing([&] { runtime.window().flush(); }))
          << "while issuing, round " << round;
    }
  }
  std::uint64_t issued() { return runtime.window().stats().issued; }

  Runtime runtime;
  Device device = runtime.devices().at(0);
  Kernel<Span<float>, Span<float>, Int> twice = scaled("twice", 2.0f),
                                        negate = scaled("negate", -1.0f),
                                        halve = scaled("halve", 0.5f);
  Vector<float> x = Vector<float>(kCount), y = Vector<float>(kCount), z = Vector<float>(kCount);
};

TEST_F(P3Allocations, P3_TheCountSeesAnAllocation) {
  EXPECT_FALSE(allocates_nothing([] { ::operator delete(::operator new(7)); }));
  EXPECT_TRUE(allocates_nothing([] {}));
}

TEST_F(P3Allocations, P3_ASingleLaunch) {
  expect_none([&] { device.launch(twice, over(kCount), x, y, kCount); });
}

TEST_F(P3Allocations, P3_AFusedGroup) {
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
  });
  EXPECT_EQ(runtime.window().stats().fused_groups, 12U);
}

TEST_F(P3Allocations, P3_AGroupOfOneKernelWithManyMembers) {
  constexpr int kMembers = 64;
  runtime.window().set_limits(8, kMembers);
  std::vector<Vector<float>> outputs;
  for (int i = 0; i < kMembers; ++i) outputs.emplace_back(std::size_t{kCount});
  expect_none([&] {
    for (Vector<float>& out : outputs) device.launch(twice, over(kCount), x, out, kCount);
  });
  EXPECT_EQ(issued(), 12U);
}

TEST_F(P3Allocations, P3_DependentLaunchesThatAreNotMerged) {
  runtime.window().set_epilogue_enabled(false);
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), y, z, kCount);
    device.launch(halve, over(kCount), z, x, kCount);
  });
  EXPECT_EQ(issued(), 36U);
}

TEST_F(P3Allocations, P3_AMergedPair) {
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), y, z, kCount);
  });
  EXPECT_EQ(runtime.window().stats().epilogue_merges, 12U);
}

TEST_F(P3Allocations, P3_AWindowThatOverflows) {
  runtime.window().set_epilogue_enabled(false);
  runtime.window().set_limits(2, 8);
  expect_none([&] {
    for (int i = 0; i < 4; ++i) {
      device.launch(twice, over(kCount), x, y, kCount);
      device.launch(negate, over(kCount), y, x, kCount);
    }
  });
}

TEST_F(P3Allocations, P3_LaunchesAtOnce) {
  runtime.window().set_enabled(false);
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), y, z, kCount);
  });
}

/// The same on each device that is there, whose backend's code then takes part.
class P3AllocationsOnDevices : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    window::current().set_enabled(true);
    window::current().set_cpu_devices(true);
    window::current().set_planner(Planner::always);
    window::current().set_limits(8, 8);
    backtrace(first_caller.data(), 1);
  }
  void TearDown() override { device.synchronize(); }

  void expect_none(const std::function<void()>& record) {
    const auto issue = [&] { device.state()->held_work()->issue(*device.state()); };
    // Vulkan submits after 32 launches; each of its command buffers is filled and comes back.
    for (int filled = 0; filled < 4; ++filled) {
      for (int round = 0; round < 32; ++round) {
        record();
        issue();
      }
      device.synchronize();
    }
    record();
    issue();
    for (int round = 0; round < 4; ++round) {
      EXPECT_TRUE(allocates_nothing(record)) << "while recording, round " << round;
      EXPECT_TRUE(allocates_nothing(issue)) << "while issuing, round " << round;
    }
  }

  Device device = Device::get(GetParam());
  Kernel<Span<float>, Span<float>, Int> twice = scaled("twice", 2.0f),
                                        negate = scaled("negate", -1.0f);
  Vector<float> x = Vector<float>(kCount), y = Vector<float>(kCount), z = Vector<float>(kCount);
};

TEST_P(P3AllocationsOnDevices, P3_ASingleLaunch) {
  expect_none([&] { device.launch(twice, over(kCount), x, y, kCount); });
}

TEST_P(P3AllocationsOnDevices, P3_AFusedGroup) {
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
  });
}

TEST_P(P3AllocationsOnDevices, P3_AMergedPair) {
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), y, z, kCount);
  });
}

TEST_P(P3AllocationsOnDevices, P3_LaunchesAtOnce) {
  window::current().set_enabled(false);
  expect_none([&] {
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), y, z, kCount);
  });
}

std::vector<std::string> compiling_devices() {
  std::vector<std::string> ids;
  for (const Device& one : Device::all()) {
    if (one.backend() != "Interpreter") ids.push_back(one.id());
  }
  return ids;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(P3AllocationsOnDevices);
INSTANTIATE_TEST_SUITE_P(On, P3AllocationsOnDevices, ::testing::ValuesIn(compiling_devices()),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase_if(name, [](char c) { return c == ':' || c == '/'; });
                           return name;
                         });

}  // namespace
}  // namespace salvo::tests
