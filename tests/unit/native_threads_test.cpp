// Native used from several threads at once: first uses, the disk cache, launches that are spread.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/native/native_backend.hpp"
#include "backends/native/native_compiler.hpp"
#include "backends/native/native_device.hpp"
#include "salvo/salvo.hpp"
#include "temporary_folder.hpp"

namespace salvo::backends::native {
namespace {

constexpr int kThreads = 4;

/// Runs `work` on several threads that begin together.
void at_once(const std::function<void(int thread)>& work) {
  std::barrier start(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      work(t);
    });
  }
}

auto add(const std::string& name, int amount) {
  return kernel(name, [amount](Span<int> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = x[i] + amount; });
  });
}

std::vector<int> numbers_in(Vector<int>& vector) {
  const auto numbers = vector.read();
  return {numbers.begin(), numbers.end()};
}

class NativeThreads : public testing::Test {
 protected:
  void SetUp() override {
    const auto backend = make_backend({});
    if (backend->open().empty()) GTEST_SKIP() << "no LLVM here";
  }

  std::unique_ptr<Runtime> runtime() const {
    RuntimeOptions options;
    options.built_in_backends = false;
    options.environment = [](const char*) { return nullptr; };
    options.cache_folder = folder_.path().string();
    options.own.list.push_back(make_backend({}));
    return std::make_unique<Runtime>(std::move(options));
  }

 private:
  const tests::TemporaryFolder folder_;
};

TEST_F(NativeThreads, OneKernelIsFirstUsedByAllAtOnce) {
  for (const bool cached : {false, true}) {
    const auto own = runtime();
    const auto increment = add("increment", 1);
    std::vector<std::vector<int>> results(kThreads);
    at_once([&](int t) {
      Vector<int> x(1000);
      own->best().launch(increment, over(1000), x, 1000);
      results[static_cast<std::size_t>(t)] = numbers_in(x);
    });
    for (const auto& x : results) EXPECT_EQ(x, std::vector<int>(1000, 1));
    const DiskCacheCounts counts = own->disk_cache().this_runtime;
    EXPECT_EQ(counts.hits, cached ? 1U : 0U);
    EXPECT_EQ(counts.misses, cached ? 0U : 1U);
  }
}

TEST_F(NativeThreads, EachCompilesAndLoadsKernelsOfItsOwn) {
  constexpr int kKernels = 4;
  for (const bool cached : {false, true}) {
    const auto own = runtime();
    std::vector<std::vector<int>> results(kThreads);
    at_once([&](int t) {
      Vector<int> x(1000);
      for (int k = 0; k < kKernels; ++k) {
        const int amount = 1 + t * kKernels + k;
        own->best().launch(add("add_" + std::to_string(amount), amount), over(1000), x, 1000);
      }
      results[static_cast<std::size_t>(t)] = numbers_in(x);
    });
    for (int t = 0; t < kThreads; ++t) {
      const int sum = kKernels + t * kKernels * kKernels + kKernels * (kKernels - 1) / 2;
      EXPECT_EQ(results[static_cast<std::size_t>(t)], std::vector<int>(1000, sum));
    }
    const DiskCacheCounts counts = own->disk_cache().this_runtime;
    EXPECT_EQ(counts.hits, cached ? std::uint64_t{kThreads * kKernels} : 0U);
  }
}

TEST_F(NativeThreads, LaunchesOfAllAreSpreadOverTheCores) {
  constexpr int kCount = 1 << 19;
  constexpr int kLaunches = 8;
  const auto own = runtime();
  const auto increment = add("increment", 1);
  std::vector<std::vector<int>> results(kThreads);
  at_once([&](int t) {
    Vector<int> x(kCount);
    for (int k = 0; k < kLaunches; ++k) {
      own->best().launch(increment, over(kCount), x, kCount);
    }
    results[static_cast<std::size_t>(t)] = numbers_in(x);
  });
  for (const auto& x : results) EXPECT_EQ(x, std::vector<int>(kCount, kLaunches));
}

TEST_F(NativeThreads, TwoDevicesShareOneScheduler) {
  constexpr int kCount = 1 << 19;
  std::vector<std::vector<int>> results(kThreads);
  at_once([&](int t) {
    const auto own = runtime();
    Vector<int> x(kCount);
    for (int k = 0; k < 4; ++k) own->best().launch(add("increment", 1), over(kCount), x, kCount);
    results[static_cast<std::size_t>(t)] = numbers_in(x);
  });
  for (const auto& x : results) EXPECT_EQ(x, std::vector<int>(kCount, 4));
}

TEST_F(NativeThreads, ACompilerGivesEachCompilationAMachineOfItsOwn) {
  const Api& api = llvm_api(0);
  const Compiler compiler(api, host_processor(api, ""));
  const auto first = compiler.machine();
  LlvmMachine* second = nullptr;
  {
    const auto other = compiler.machine();
    second = other.get();
    EXPECT_NE(first.get(), second);
  }
  EXPECT_EQ(compiler.machine().get(), second) << "one that is free is used again";
}

}  // namespace
}  // namespace salvo::backends::native
