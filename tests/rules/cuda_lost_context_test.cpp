// A kernel that goes wrong on a CUDA device loses the context, and not the process.
// SPDX-License-Identifier: MIT
//
// Each test in a process of its own, as ctest runs them: nothing of CUDA works after one.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.hpp"
#include "caught.hpp"
#include "ir/builder.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

TEST(CudaLostContext, IsReportedByEachLaterCall) {
  const auto backend = backends::cuda::make_ptx_backend();
  const auto devices = backend->open();
  if (devices.empty()) GTEST_SKIP() << backend->unavailable()->reason;
  runtime::DeviceDriver& driver = *devices.front();

  ir::Builder b("wild");
  const auto x = b.span_parameter("x", ir::Element::scalar(ir::Scalar::I32), false);
  b.store(x, b.position(ir::Op::GlobalIdx, 0), b.constant_i32(1));
  const ir::Kernel kernel = b.finish();
  const auto executable = driver.build(kernel, driver.translate(kernel, {}), {});
  runtime::Argument nowhere;
  nowhere.buffer = {1, 4096, 0x1000};
  nowhere.length = 1024;
  driver.launch(driver.queue(), *executable, {{4, 1, 1}, {256, 1, 1}, 0}, {&nowhere, 1});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Error error = caught([&] { driver.finish(driver.queue()); });
    EXPECT_EQ(error.code(), Errc::device_lost) << error.what();
    EXPECT_TRUE(error.details().may_have_started);
    EXPECT_EQ(error.backend(), "CUDA/PTX");
  }
  EXPECT_EQ(caught([&] { driver.allocate(4096); }).code(), Errc::device_lost);
}

/// Launches a good and a wild kernel; each later use says so, and other devices work on.
void lose(const std::string& backend) {
  const auto devices = Device::by_backend(backend);
  if (devices.empty()) GTEST_SKIP() << "no device of " << backend;
  const Device& device = devices.front();
  window::set_planner(Planner::always);
  const auto good = kernel("good", [](Span<int> x) { x[global_thread_id()] = 1; });
  const auto wild = kernel("wild", [](Span<int> x) { x[global_thread_id() + 0x3f000000] = 1; });
  Vector<int> a(256);
  Vector<int> b(256);
  device.launch(good, over(256), a);
  device.synchronize();
  device.launch(wild, over(256), b);
  const unsigned line = __LINE__ - 1;
  const Error lost = caught([&] { device.synchronize(); });
  EXPECT_EQ(lost.code(), Errc::device_lost) << lost.what();
  EXPECT_THAT(lost.what(), testing::HasSubstr("wild"));
  EXPECT_EQ(lost.launch_location().line, line);
  EXPECT_THAT(lost.what(), testing::Not(testing::HasSubstr("good")));
  // What the device held is gone, and says so, but the process lives.
  EXPECT_EQ(caught([&] { static_cast<void>(b.read()); }).code(), Errc::device_lost);
  EXPECT_EQ(caught([&] {
              device.launch(good, over(256), b);
              device.synchronize();
            }).code(),
            Errc::device_lost);
  const auto interpreters = Device::by_backend("Interpreter");
  ASSERT_FALSE(interpreters.empty());
  Vector<int> c(256);
  interpreters.front().launch(good, over(256), c);
  EXPECT_EQ(c[255], 1);
}

TEST(CudaLostContext, NamesTheKernelAndLeavesOtherDevicesAlonePtx) {
  lose("CUDA/PTX");
}
TEST(CudaLostContext, NamesTheKernelAndLeavesOtherDevicesAloneC) {
  lose("CUDA/C");
}

TEST(CudaLostContext, AnAssertionInAKernelIsCalledThat) {
  const auto devices = Device::by_backend("CUDA/C");
  if (devices.empty()) GTEST_SKIP() << "no device of CUDA/C";
  const Device& device = devices.front();
  Vector<int> x(64, 7);
  const Source source{
      .language = "CUDA C",
      .code =
          "extern \"C\" __device__ void __assertfail(const char* message, const char* file,\n"
          "    unsigned line, const char* function, size_t size);\n"
          "extern \"C\" __global__ void checked(const int* x) {\n"
          "  if (x[threadIdx.x] != 8) __assertfail(\"x is 8\", \"user.cu\", 4, \"checked\", 1);\n"
          "}\n",
      .entry = "checked"};
  run_source(device, source, grid(1).block(64), x);
  const Error error = caught([&] { device.synchronize(); });
  EXPECT_EQ(error.code(), Errc::device_lost) << error.what();
  EXPECT_THAT(error.what(), testing::HasSubstr("CUDA_ERROR_ASSERT"));
  EXPECT_THAT(error.what(), testing::HasSubstr("checked"));
}

}  // namespace
}  // namespace salvo::tests
