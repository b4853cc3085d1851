// A kernel that writes where there is no memory loses the context, and not the process.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.hpp"
#include "ir/builder.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

// A program of its own: nothing of CUDA works in it afterwards.
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
  const auto failure = [&](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    return Error(Errc::io, "nothing was thrown");
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Error error = failure([&] { driver.finish(driver.queue()); });
    EXPECT_EQ(error.code(), Errc::device_lost) << error.what();
    EXPECT_TRUE(error.details().may_have_started);
    EXPECT_EQ(error.backend(), "CUDA/PTX");
  }
  EXPECT_EQ(failure([&] { driver.allocate(4096); }).code(), Errc::device_lost);
}

}  // namespace
}  // namespace salvo::tests
