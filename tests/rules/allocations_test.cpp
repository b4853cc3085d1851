// P3: once a window that repeats is warm, recording and issuing it allocates nothing.
// SPDX-License-Identifier: MIT
//
// The whole program's operator new counts while it is asked to, and notes who called first: the
// addresses in a failure are for `addr2line -Cfpe allocations_test`.
#include <execinfo.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "fake/silent_backend.hpp"
#include "runtime/device_state.hpp"
#include "salvo/salvo.hpp"

namespace {

// Of this thread: others may allocate as they like.
thread_local bool counting = false;
thread_local int allocations = 0;
thread_local std::array<void*, 16> first_caller{};
thread_local int first_depth = 0;

void* allocate(std::size_t bytes, std::size_t align) {
  if (counting) {
    counting = false;  // looking at the stack may allocate itself
    if (allocations++ == 0) first_depth = backtrace(first_caller.data(), first_caller.size());
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

void* operator new(std::size_t bytes) {
  return allocate(bytes, 0);
}
void* operator new(std::size_t bytes, std::align_val_t align) {
  return allocate(bytes, static_cast<std::size_t>(align));
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
          options.backends.push_back(std::make_unique<SilentBackend>());
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
    for (const Vector<float>& out : outputs) device.launch(twice, over(kCount), x, out, kCount);
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

}  // namespace
}  // namespace salvo::tests
