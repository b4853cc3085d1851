// R6, R7, R9, R10, W20 and W24 on whatever OpenCL device there is.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

class OnOpencl : public ::testing::Test {
 protected:
  static constexpr int kCount = 1 << 16;

  void SetUp() override {
    const std::vector<Device> found = Device::by_backend("OpenCL");
    if (found.empty()) GTEST_SKIP() << "no OpenCL device";
    device_.emplace(found.front());
  }
  const Device& device() const { return *device_; }

  /// Adds 1 to each element `rounds` times.
  static Kernel<Span<int>, Int, Int> slow_increment() {
    return kernel("slow_increment", [](Span<int> x, Int rounds, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { for_(range(0, rounds), [&](Int) { x[i] += 1; }); });
    });
  }
  static std::vector<int> contents(const Vector<int>& vector) {
    const auto read = vector.read();
    return {read.begin(), read.end()};
  }

 private:
  std::optional<Device> device_;
};

TEST_F(OnOpencl, R7_EventsOrderStreams) {
  const auto slow = slow_increment();
  const auto twice = kernel("twice", [](Span<int> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = x[i] * 2; });
  });
  const Stream first(device()), second(device(), 1);
  Vector<int> x(kCount);
  for (int round = 0; round < 5; ++round) {
    first.launch(slow, over(kCount), x, 100, kCount);
    second.wait(first.record());
    second.launch(twice, over(kCount), x, kCount);
    first.wait(second.record());
  }
  // ((100 * 2 + 100) * 2 + 100) * 2 ...
  EXPECT_THAT(contents(x), testing::Each(6200));
}

TEST_F(OnOpencl, R7_ReadingBackAndReuseWaitForStreams) {
  const auto slow = slow_increment();
  const Stream stream(device());
  for (int round = 0; round < 10; ++round) {
    Vector<int> kept(kCount);
    {
      Vector<int> gone(kCount);
      stream.launch(slow, over(kCount), gone, 200, kCount);
    }
    Vector<int> next(kCount, 7);  // in the block of the one that is gone
    device().launch(slow, over(kCount), next, 1, kCount);
    stream.launch(slow, over(kCount), kept, 200, kCount);
    EXPECT_THAT(contents(kept), testing::Each(200));
    EXPECT_THAT(contents(next), testing::Each(8));
  }
}

TEST_F(OnOpencl, W20_ATimerMeasuresTheDevice) {
  const auto slow = slow_increment();
  Vector<int> x(kCount);
  Timer timer(device());
  timer.start();
  device().launch(slow, over(kCount), x, 100, kCount);
  timer.stop();
  EXPECT_GT(timer.elapsed_ms(), 0.0);
}

TEST_F(OnOpencl, R6_RangesAreStagedCopiedAndRead) {
  Vector<int> x(kCount), y(kCount);
  Pinned<int> pinned = alloc_pinned<int>(device(), 1000);
  std::iota(pinned.begin(), pinned.end(), 0);
  const Stream stream(device());
  const Event staged = stage_to_device(stream, x, 50, pinned, 100, 900);
  copy(stream, x, 50, y, 7, 10);
  staged.wait();
  EXPECT_EQ(y[6], 0);
  EXPECT_EQ(y[7], 100);
  EXPECT_EQ(y[16], 109);
  EXPECT_EQ(y[17], 0);
  fill(device(), x.view(51, 3), -1);
  std::vector<int> part(5);
  copy_to_host(x, 50, part);
  EXPECT_EQ(part, (std::vector<int>{100, -1, -1, -1, 104}));
  copy_to_device(device(), x, 0, std::vector<int>{9, 8});
  stage_to_host(stream, x, 0, pinned, 0, 2).wait();
  EXPECT_EQ(pinned[1], 8);
  free_pinned(pinned);
  EXPECT_EQ(x[949], 999);
}

TEST_F(OnOpencl, W24_TheHandleIsOfTheVectorsMemory) {
  Vector<int> x(kCount, 1);
  const DeviceMemory memory = device_memory(device(), x.view(3, 2));
  EXPECT_NE(memory.handle, 0U);
  EXPECT_EQ(memory.byte_offset, 12U);
  const auto slow = slow_increment();
  device().launch(slow, over(kCount), x, 3, kCount);
  EXPECT_THAT(contents(x), testing::Each(4));
}

constexpr const char* kScale = R"(
__kernel void scale(__global const int* from, __global int* to, int by, int n) {
  int i = get_global_id(0);
  if (i < n) to[i] = from[i] * by;
})";

TEST_F(OnOpencl, R9_SourceRunsAfterWhatWasHeld) {
  const auto slow = slow_increment();
  Vector<int> x(kCount), y(kCount);
  device().launch(slow, over(kCount), x, 3, kCount);
  run_source(device(), Source{.language = "OpenCL C", .code = kScale, .entry = "scale"},
             over(kCount), x, y, 7, kCount);
  EXPECT_THAT(contents(y), testing::Each(21));
}

TEST_F(OnOpencl, R9_AFailedCompilationHoldsTheLog) {
  try {
    run_source(
        device(),
        Source{.language = "OpenCL C", .code = "__kernel void f() { undeclared(); }", .entry = "f"},
        over(1));
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::compile_failed);
    EXPECT_EQ(error.backend(), "OpenCL");
    EXPECT_EQ(error.kernel(), "f");
    EXPECT_THAT(error.log(), testing::HasSubstr("undeclared"));
  }
  try {
    run_source(device(), Source{.language = "PTX", .code = "", .entry = "f"}, over(1));
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
  }
}

TEST_F(OnOpencl, W51_UsersOptionsMayNotRelaxFloatingPoint) {
  Vector<int> x(kCount, 2), y(kCount, 0);
  const auto run = [&](std::vector<std::string> options) {
    run_source(device(),
               Source{.language = "OpenCL C",
                      .code = kScale,
                      .entry = "scale",
                      .options = std::move(options)},
               over(kCount), x, y, 7, kCount);
  };
  for (const std::vector<std::string>& relaxing :
       {std::vector<std::string>{"-cl-fast-relaxed-math"},
        {"-cl-mad-enable"},
        {"-cl-unsafe-math-optimizations"},
        {"-cl-finite-math-only"},
        {"-cl-denorms-are-zero"},
        {"-cl-std=CL1.2 -cl-no-signed-zeros"},
        {"-ffp-contract=fast"},
        {"-Xclang", "-ffp-contract", "fast"}}) {
    try {
      run(relaxing);
      ADD_FAILURE() << relaxing.back() << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      EXPECT_THAT(error.message(), testing::HasSubstr("relaxes floating point"));
    }
  }
  run({"-DN=4"});
  EXPECT_EQ(contents(y)[5], 14);
}

TEST_F(OnOpencl, R10_RawKernelsNameWhatIsMissingOrTooMuch) {
  RawKernel raw(device(), Source{.language = "OpenCL C", .code = kScale, .entry = "scale"});
  Vector<int> x(kCount, 3), y(kCount);
  raw.set(0, x);
  raw.set(1, y);
  raw.set(2, 5);
  EXPECT_THROW(raw.set(4, 1), Error);
  try {
    raw.launch(over(kCount));
    FAIL() << "launched";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "argument 3 is not set");
  }
  raw.set(3, kCount);
  const Stream stream(device());
  raw.launch(stream, over(kCount));
  EXPECT_THAT(contents(y), testing::Each(15));
}

}  // namespace
}  // namespace salvo::tests
