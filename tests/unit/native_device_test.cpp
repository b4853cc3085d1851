// The Native device: where launches run, faults, symbols, narrow floats, and what its code depends
// on.
// SPDX-License-Identifier: MIT
#include "backends/native/native_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "backends/interpreter/convert.hpp"
#include "backends/native/native_backend.hpp"
#include "native_gallery.hpp"
#include "salvo/salvo.hpp"
#include "temporary_folder.hpp"
#include "unit/kernel_shapes.hpp"
#include "window/kernel_record.hpp"

namespace salvo::backends::native {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;
using testing::HasSubstr;

#if defined(__x86_64__)
constexpr const char* kBaseline = "+sse2";  // no fma, no f16c
#endif

/// A device, or a skipped test where there is no LLVM.
class NativeTest : public testing::Test {
 protected:
  NativeDevice* open(const Settings& settings) {
    backend_ = make_backend(settings);
    devices_ = backend_->open();
    return devices_.empty() ? nullptr : static_cast<NativeDevice*>(devices_.front().get());
  }
  std::string why() const {
    return backend_->unavailable() ? backend_->unavailable()->reason : "no device";
  }

 private:
  std::unique_ptr<runtime::Backend> backend_;
  std::vector<std::unique_ptr<runtime::DeviceDriver>> devices_;
};

#define SALVO_OPEN(device, ...)                   \
  NativeDevice* const device = open(__VA_ARGS__); \
  if (device == nullptr) GTEST_SKIP() << why()

template <typename T>
runtime::Argument on(std::vector<T>& values) {
  runtime::Argument argument;
  argument.buffer.handle = reinterpret_cast<std::uintptr_t>(values.data());
  argument.buffer.bytes = values.size() * sizeof(T);
  argument.length = values.size();
  return argument;
}

std::unique_ptr<runtime::Executable> build(NativeDevice& device, const ir::Kernel& kernel) {
  return device.build(kernel, device.translate(kernel, {}), {});
}

/// y[i] = x[i], from one element type to another.
ir::Kernel moved(Scalar from, Scalar to) {
  Shapes k("moved");
  k.at("/home/user/moved.cpp", 23);
  const auto x = k.span_parameter("x", Element::scalar(from), true);
  const auto y = k.span_parameter("y", Element::scalar(to), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.load(x, i));
  return k.finish();
}

// Launches.

TEST_F(NativeTest, W4_ALaunchIsDoneOnTheVectorsMemoryWhenTheCallReturns) {
  { SALVO_OPEN(device, {}); }
  RuntimeOptions options;
  options.built_in_backends = false;
  options.environment = [](const char*) { return nullptr; };
  options.own.list.push_back(make_backend({}));
  Runtime runtime(std::move(options));
  const Device device = runtime.best();
  EXPECT_FALSE(runtime.window().defers(device.backend()));
  runtime.window().set_cpu_devices(true);
  runtime.window().set_backend_enabled("Native", true);
  runtime.window().keep_decisions(1);
  const auto twice = kernel("twice", [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = x[i] * 2.0f; });
  });
  Vector<float> x(100, 1.5f);
  const float* const memory = x.read().data();
  for (const float expected : {3.0f, 6.0f}) {
    device.launch(twice, over(100), x, 100);
    EXPECT_EQ(memory[99], expected) << "without an observation";
    EXPECT_EQ(runtime.window().decisions().at(0).reason, Reason::direct_backend);
  }
  EXPECT_EQ(x.read().data(), memory);
}

// Scheduling.

TEST(NativeScheduler, EveryItemIsRunOnceByWorkersThatDiffer) {
  const Scheduler scheduler;
  if (scheduler.threads() < 2) GTEST_SKIP() << "one thread: " << scheduler.reason();
  for (const std::uint64_t count : {1U, 2U, 7U, 1000U}) {
    std::vector<std::atomic<int>> runs(count);
    std::vector<std::atomic<int>> active(scheduler.threads());
    std::atomic<bool> shared_worker = false;
    scheduler.run(count, [&](unsigned worker, std::uint64_t first, std::uint64_t last) {
      if (active.at(worker).fetch_add(1) != 0) shared_worker = true;
      for (std::uint64_t i = first; i < last; ++i) runs[i].fetch_add(1);
      active.at(worker).fetch_sub(1);
    });
    for (const auto& one : runs) EXPECT_EQ(one.load(), 1);
    EXPECT_FALSE(shared_worker);
  }
}

TEST(NativeScheduler, WorkMayAskForWorkItself) {
  const Scheduler scheduler;
  if (scheduler.threads() < 2) GTEST_SKIP() << "one thread: " << scheduler.reason();
  std::atomic<std::uint64_t> items = 0;
  scheduler.run(4, [&](unsigned, std::uint64_t first, std::uint64_t last) {
    scheduler.run(10 * (last - first),
                  [&](unsigned, std::uint64_t from, std::uint64_t to) { items += to - from; });
  });
  EXPECT_EQ(items.load(), 40U);
}

TEST(NativeScheduler, WithoutItsLibraryThereIsOneThreadAndAReason) {
  const Scheduler none("libsalvo-has-no-such-library.so");
  EXPECT_EQ(none.threads(), 1U);
  EXPECT_THAT(none.reason(), HasSubstr("libsalvo-has-no-such-library.so"));
  const Scheduler another("libm.so.6");
  EXPECT_EQ(another.threads(), 1U);
  EXPECT_EQ(another.reason(), "libm.so.6 has no GOMP_parallel");
}

TEST_F(NativeTest, ASmallLaunchStaysOnTheCallingThread) {
  SALVO_OPEN(device, {});
  if (device->scheduler().threads() < 2) GTEST_SKIP() << device->scheduler().reason();
  const auto executable = build(*device, moved(Scalar::F32, Scalar::F32));
  const std::uint64_t before = device->scheduler().calls();
  const auto launch = [&](std::uint32_t blocks) {
    std::vector<float> x(std::size_t{blocks} * 256, 1.0f), y(x.size());
    const runtime::Argument arguments[] = {on(x), on(y)};
    device->launch(device->queue(), *executable, {{blocks, 1, 1}, {256, 1, 1}, 0}, arguments);
    EXPECT_EQ(y, x);
    return device->scheduler().calls() - before;
  };
  EXPECT_EQ(launch(1), 0U);
  EXPECT_EQ(launch(16), 0U);
  EXPECT_EQ(launch(16384), 1U);
}

// Faults.

TEST_F(NativeTest, AnAccessOutOfBoundsNamesKernelLineElementAndThread) {
  Settings settings;
  settings.bounds_checks = true;
  SALVO_OPEN(device, settings);
  const auto executable = build(*device, moved(Scalar::F32, Scalar::F32));
  std::vector<float> x(512, 1.0f), y(512);
  runtime::Argument arguments[] = {on(x), on(y)};
  arguments[1].length = 300;
  try {
    device->launch(device->queue(), *executable, {{2, 1, 1}, {256, 1, 1}, 0}, arguments);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::check_failed);
    EXPECT_EQ(error.backend(), "Native");
    EXPECT_EQ(error.kernel(), "moved");
    EXPECT_EQ(error.kernel_location().file, "/home/user/moved.cpp");
    EXPECT_EQ(error.kernel_location().line, 23U);
    EXPECT_EQ(error.message(),
              "write of y[300] past its 300 elements, by thread (44,0,0) of block (1,0,0)");
  }
  EXPECT_EQ(y[299], 1.0f);
  EXPECT_EQ(y[300], 0.0f) << "the access must not happen";
}

// Symbols.

TEST_F(NativeTest, PerfsMapNamesTheKernelWhereItsCodeIs) {
  Settings settings;
  settings.symbols = true;
  SALVO_OPEN(device, settings);
  const auto executable = build(*device, moved(Scalar::F32, Scalar::F32));
  const auto entry =
      reinterpret_cast<std::uintptr_t>(static_cast<const NativeExecutable&>(*executable).entry());
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ifstream file(path);
  std::uintptr_t address = 0;
  std::size_t size = 0;
  std::string name;
  bool found = false;
  while (file >> std::hex >> address >> size >> name) {
    found = found || (address == entry && size > 0 && name == "salvo_moved");
  }
  EXPECT_TRUE(found) << "not in " << path;
  unlink(path.c_str());
}

// Versions of LLVM.

TEST_F(NativeTest, AVersionThatIsAbsentIsNamedWithDebiansPackage) {
  std::size_t absent = 0;
  for (const unsigned llvm : {14U, 15U, 16U, 17U, 18U, 19U}) {
    Settings settings;
    settings.llvm = llvm;
    if (open(settings) != nullptr) continue;
    ++absent;
    const std::string version = std::to_string(llvm);
    EXPECT_THAT(why(),
                HasSubstr("LLVM " + version + " was not found, which Debian's package libllvm" +
                          version + " has (libLLVM-" + version + ".so.1: "));
  }
  if (absent == 0) GTEST_SKIP() << "all versions are here";
}

TEST_F(NativeTest, EveryLlvmThereIsCompilesTheGallery) {
  namespace gallery = bench::gallery;
  const std::shared_ptr<detail::KernelRecord> kernels[] = {
      gallery::twice().record(),         gallery::stencil().record(),
      gallery::nbody().record(),         gallery::mandelbrot().record(),
      gallery::black_scholes().record(), gallery::reduction().record(),
      gallery::scan().record(),          gallery::matmul().record(),
      gallery::softmax().record(),       gallery::gelu().record(),
      gallery::histogram().record(),     gallery::transpose().record(),
      gallery::waves().record(),         gallery::mix().record()};
  std::size_t opened = 0;
  for (const unsigned llvm : {14U, 15U, 16U, 17U, 18U, 19U}) {
    Settings settings;
    settings.llvm = llvm;
    NativeDevice* const device = open(settings);
    if (device == nullptr) continue;
    ++opened;
    for (const auto& record : kernels) {
      const auto executable = build(*device, record->contracted());
      EXPECT_NE(static_cast<const NativeExecutable&>(*executable).entry(), nullptr);
    }
  }
  if (opened == 0) GTEST_SKIP() << why();
}

// What the code depends on.

#if defined(__x86_64__)

TEST_F(NativeTest, CodeIsKeyedByProcessorFeaturesAndLlvm) {
  std::set<std::string> identities;
  std::size_t opened = 0;
  for (const unsigned llvm : {14U, 15U, 16U, 17U, 18U, 19U}) {
    for (const char* features : {"", kBaseline}) {
      Settings settings;
      settings.llvm = llvm;
      settings.features = features;
      const NativeDevice* device = open(settings);
      if (device == nullptr) continue;
      ++opened;
      identities.insert(device->build_identity());
    }
  }
  if (opened == 0) GTEST_SKIP() << why();
  EXPECT_EQ(identities.size(), opened);
}

TEST_F(NativeTest, CodeForOtherFeaturesIsNotTakenFromTheDiskCache) {
  { SALVO_OPEN(device, {}); }
  const tests::TemporaryFolder folder;
  const auto counts_with = [&](const char* features) {
    RuntimeOptions options;
    options.built_in_backends = false;
    options.environment = [](const char*) { return nullptr; };
    options.cache_folder = folder.path().string();
    Settings settings;
    settings.features = features;
    options.own.list.push_back(make_backend(settings));
    Runtime runtime(std::move(options));
    const auto increment = kernel("increment", [](Span<float> x, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { x[i] += 1.0f; });
    });
    Vector<float> x(100);
    runtime.best().launch(increment, over(100), x, 100);
    EXPECT_EQ(x[99], 1.0f);
    const DiskCacheCounts counts = runtime.disk_cache().this_runtime;
    return std::pair(counts.hits, counts.misses);
  };
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(counts_with(""), Counts(0, 1));
  EXPECT_EQ(counts_with(""), Counts(1, 0));
  EXPECT_EQ(counts_with(kBaseline), Counts(0, 1));
  EXPECT_EQ(counts_with(kBaseline), Counts(1, 0));
}

/// y[i] = function(x[i]) for blocks of `threads`, as bits.
template <typename T>
std::vector<T> results(NativeDevice& device, Op function, std::vector<T> x, std::uint32_t threads) {
  constexpr Scalar kType = sizeof(T) == 4 ? Scalar::F32 : Scalar::F64;
  Shapes k("function");
  const auto from = k.span_parameter("x", Element::scalar(kType), true);
  const auto to = k.span_parameter("y", Element::scalar(kType), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId inside = k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(to)});
  k.if_else(inside, [&] {
    const ValueId value = k.load(from, i);
    k.store(to, i, function == Op::Pow ? k.op(Op::Pow, {value, value}) : k.op(function, {value}));
  });
  const auto executable = build(device, k.finish());
  std::vector<T> y(x.size());
  const runtime::Argument arguments[] = {on(x), on(y)};
  const auto blocks = static_cast<std::uint32_t>((x.size() + threads - 1) / threads);
  device.launch(device.queue(), *executable, {{blocks, 1, 1}, {threads, 1, 1}, 0}, arguments);
  return y;
}

template <typename T>
void expect_same_bits(NativeDevice& one, NativeDevice& other) {
  std::vector<T> x(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i) * static_cast<T>(0.0173) + 1;
  for (const Op op :
       {Op::Sin, Op::Cos, Op::Tan, Op::Exp, Op::Log, Op::Tanh, Op::Atan, Op::Cbrt, Op::Pow}) {
    const std::vector<T> expected = results(one, op, x, 256);
    for (const std::uint32_t threads : {256U, 37U, 1U}) {
      const std::vector<T> got = results(other, op, x, threads);
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)), 0)
          << ir::name(op) << " in blocks of " << threads;
    }
  }
}

TEST_F(NativeTest, MathFunctionsGiveTheSameBitsInEveryPlaceOnEveryProcessor) {
  const auto here = make_backend({});
  const auto devices = here->open();
  if (devices.empty()) GTEST_SKIP() << here->unavailable()->reason;
  auto& host = static_cast<NativeDevice&>(*devices.front());
  Settings settings;
  settings.features = kBaseline;
  SALVO_OPEN(baseline, settings);
  expect_same_bits<float>(host, host);
  expect_same_bits<double>(host, host);
  // F64 functions are made of fused operations, whoever carries them out.
  expect_same_bits<double>(host, *baseline);
  if (!host.properties().fast_fma) return;
  settings.features = "+avx2,+fma";
  SALVO_OPEN(avx2, settings);
  expect_same_bits<float>(host, *avx2);
  expect_same_bits<double>(host, *avx2);
}

TEST_F(NativeTest, EveryBinary16IsReadWithoutInstructionsForIt) {
  Settings settings;
  settings.features = kBaseline;
  SALVO_OPEN(device, settings);
  std::vector<std::uint16_t> x(1 << 16);
  std::iota(x.begin(), x.end(), std::uint16_t{0});
  std::vector<float> y(x.size());
  const runtime::Argument arguments[] = {on(x), on(y)};
  const auto executable = build(*device, moved(Scalar::F16, Scalar::F32));
  device->launch(device->queue(), *executable, {{256, 1, 1}, {256, 1, 1}, 0}, arguments);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = interpreter::from_f16(x[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(y[i])) << i;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(expected)) << i;
    }
  }
}

TEST_F(NativeTest, NumbersAreRoundedToBinary16WithoutInstructionsForIt) {
  Settings settings;
  settings.features = kBaseline;
  SALVO_OPEN(device, settings);
  // Each binary16, what lies half way to the next, and that one's neighbours; and any bits at all.
  std::vector<float> x;
  for (std::uint32_t i = 0; i <= 0x7c00; ++i) {
    const float low = interpreter::from_f16(static_cast<std::uint16_t>(i));
    const float high =
        i < 0x7bff ? interpreter::from_f16(static_cast<std::uint16_t>(i + 1)) : 65536;
    const float middle = low + (high - low) / 2;
    for (const float v :
         {low, std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e9f)}) {
      x.push_back(v);
      x.push_back(-v);
    }
  }
  std::mt19937 random(1);
  while (x.size() % 256 != 0 || x.size() < 400'000) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  }
  std::vector<std::uint16_t> y(x.size());
  const runtime::Argument arguments[] = {on(x), on(y)};
  const auto executable = build(*device, moved(Scalar::F32, Scalar::F16));
  device->launch(device->queue(), *executable,
                 {{static_cast<std::uint32_t>(x.size() / 256), 1, 1}, {256, 1, 1}, 0}, arguments);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(interpreter::from_f16(y[i]))) << i;
    } else {
      EXPECT_EQ(y[i], interpreter::to_f16(x[i])) << x[i];
    }
  }
}

#endif

TEST_F(NativeTest, WrappedHostMemoryIsWorkedOnWhereItIs) {
  const auto devices = Device::by_backend("Native");
  if (devices.empty()) GTEST_SKIP() << "no LLVM";
  const auto add_one =
      kernel("add_one", [](Span<float> x) { for_each_thread(x, [&](Int i) { x[i] += 1.0f; }); });
  std::vector<float> own(100, 2.0f);
  const auto address = reinterpret_cast<std::uintptr_t>(own.data() + 1);
  const auto wrapped = wrap_device_memory<float>(devices[0], address, 98);
  EXPECT_EQ(device_memory(devices[0], wrapped).address, address);
  devices[0].launch(add_one, over(98), wrapped);
  devices[0].synchronize();
  std::vector<float> expected(100, 3.0f);
  expected.front() = expected.back() = 2.0f;
  EXPECT_EQ(own, expected);
  EXPECT_EQ(wrapped[97], 3.0f);

  wrapped[0] = 7.0f;  // the host's copy, which the next launch brings back
  devices[0].launch(add_one, over(98), wrapped);
  EXPECT_EQ(own[1], 8.0f);
  EXPECT_EQ(own[98], 4.0f);
  try {
    wrap_device_memory<float>(devices[0], 0, 1);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
  }
}

}  // namespace
}  // namespace salvo::backends::native
