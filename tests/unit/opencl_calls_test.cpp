// What the OpenCL backend asks of its driver, and what it does not ask twice.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "backends/opencl/opencl_error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::backends::opencl {
namespace {

using ir::Op;
using ir::Scalar;

class OpenclCalls : public testing::Test {
 protected:
  void SetUp() override {
    devices_ = backend_->open();
    if (devices_.empty()) GTEST_SKIP() << backend_->unavailable()->reason;
  }

  std::unique_ptr<runtime::Backend> backend_ = make_backend();
  std::vector<std::unique_ptr<runtime::DeviceDriver>> devices_;
};

TEST_F(OpenclCalls, ASecondBackendAsksNothingOfTheDrivers) {
  const Api& api = shared_api();
  const auto platforms = api.GetPlatformIDs.calls();
  const auto devices = api.GetDeviceIDs.calls();
  const auto facts = api.GetDeviceInfo.calls();
  EXPECT_EQ(make_backend()->open().size(), devices_.size());
  EXPECT_EQ(api.GetPlatformIDs.calls(), platforms);
  EXPECT_EQ(api.GetDeviceIDs.calls(), devices);
  EXPECT_EQ(api.GetDeviceInfo.calls(), facts);
}

TEST_F(OpenclCalls, ARepeatLaunchSetsArgumentsAndEnqueues) {
  test::Shapes k("repeat");
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
  const auto v = k.scalar_parameter("v", Scalar::I32);
  k.store(y, k.position(Op::GlobalIdx, 0), k.param(v));
  const ir::Kernel kernel = k.finish();
  runtime::DeviceDriver& device = *devices_[0];
  const auto executable = device.build(kernel, device.translate(kernel, {}), {});
  const runtime::Buffer buffer = device.allocate(64 * 4);
  const runtime::Argument arguments[] = {{.buffer = buffer, .length = 64}, {.bits = 7}};
  const runtime::LaunchShape shape{{2, 1, 1}, {32, 1, 1}, 0};
  device.launch(device.queue(), *executable, shape, arguments);
  device.preferred_block(executable.get());

  const Api& api = shared_api();
  const auto total = [&] {
    std::uint64_t calls = 0;
#define SALVO_OPENCL_COUNT(name) calls += api.name.calls();
    SALVO_OPENCL_FUNCTIONS(SALVO_OPENCL_COUNT)
#undef SALVO_OPENCL_COUNT
    return calls;
  };
  const auto all = total();
  const auto set = api.SetKernelArg.calls();
  const auto enqueued = api.EnqueueNDRangeKernel.calls();
  for (int i = 0; i < 10; ++i) {
    device.preferred_block(executable.get());
    device.launch(device.queue(), *executable, shape, arguments);
  }
  EXPECT_EQ(api.EnqueueNDRangeKernel.calls() - enqueued, 10u);
  EXPECT_EQ(total() - all, api.SetKernelArg.calls() - set + 10);
  device.finish(device.queue());
  device.release(buffer);
}

TEST(OpenclError, CodesOfTheDriverAreNamed) {
  EXPECT_EQ(status_name(CL_INVALID_KERNEL_ARGS), "CL_INVALID_KERNEL_ARGS");
  EXPECT_EQ(status_name(CL_BUILD_PROGRAM_FAILURE), "CL_BUILD_PROGRAM_FAILURE");
  EXPECT_EQ(status_name(-9999), "OpenCL error -9999");
  try {
    fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clEnqueueNDRangeKernel", Errc::launch_failed);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory);
    EXPECT_EQ(error.operation(), "clEnqueueNDRangeKernel");
    EXPECT_FALSE(error.details().may_have_started);
  }
  try {
    fail_late(CL_OUT_OF_RESOURCES, "clFinish", Errc::launch_failed);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::launch_failed);
    EXPECT_TRUE(error.details().may_have_started);
  }
}

}  // namespace
}  // namespace salvo::backends::opencl
