// The CUDA driver layer on a stand-in driver: what a launch calls, what it passes, how it fails.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/cuda_drivers.hpp"
#include "drivers/fake_cuda.hpp"
#include "salvo/error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::backends::cuda {
namespace {

using ir::Op;
using ir::Scalar;
using runtime::Argument;

class CudaDriver : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    fake_ = library ? static_cast<FakeCuda*>(dlsym(library, "fake_cuda")) : nullptr;
    if (!fake_) GTEST_SKIP() << "the stand-in driver is not in LD_LIBRARY_PATH";
    *fake_ = {};
    backend_ = make_ptx_backend();
    auto devices = backend_->open();
    ASSERT_EQ(devices.size(), 1U);
    device_ = std::move(devices.front());
  }
  void TearDown() override {
    if (!fake_) return;
    fake_->failing = "";
    device_.reset();
    EXPECT_EQ(fake_->contexts, 0);
    EXPECT_EQ(fake_->modules, 0);
    EXPECT_EQ(fake_->buffers, 0);
    EXPECT_EQ(fake_->depth, 0) << "a context was left behind";
  }

  static ir::Kernel scale() {
    test::Shapes k("scale");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
    const auto by = k.scalar_parameter("by", Scalar::F32);
    const auto i = k.position(Op::GlobalIdx, 0);
    k.store(x, i, k.op(Op::Mul, {k.load(x, i), k.param(by)}));
    return k.finish();
  }
  std::unique_ptr<runtime::Executable> built() {
    const ir::Kernel kernel = scale();
    return device_->build(kernel, device_->translate(kernel, {}), {});
  }
  static std::vector<Argument> arguments() {
    std::vector<Argument> all(2);
    all[0].buffer = {1, 4096, 0x5000};
    all[0].byte_offset = 16;
    all[1].bits = 0x40000000;
    return all;
  }
  void launch(runtime::Executable& executable) {
    device_->launch(device_->queue(), executable, {{7, 1, 1}, {128, 1, 1}, 0}, arguments());
  }
  /// What `call` throws while `function` returns `status`.
  Error failure(const char* function, int status, const std::function<void()>& call) {
    fake_->failing = function;
    fake_->status = status;
    try {
      call();
    } catch (const Error& error) {
      fake_->failing = "";
      return error;
    }
    fake_->failing = "";
    ADD_FAILURE() << function << " failed unnoticed";
    return Error(Errc::io, "nothing was thrown");
  }

  FakeCuda* fake_ = nullptr;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<runtime::DeviceDriver> device_;
};

TEST_F(CudaDriver, PropertiesAreTheDrivers) {
  const DeviceProperties& is = device_->properties();
  EXPECT_EQ(is.name, "Stand-in");
  EXPECT_EQ(is.platform, "sm_90");
  EXPECT_EQ(is.parameter_bytes, 32'764U);
  EXPECT_EQ(is.compute_units, 132U);
  EXPECT_FALSE(is.is_cpu);
}

TEST_F(CudaDriver, AnOldArchitectureIsRefusedInWords) {
  fake_->capability = 6;
  EXPECT_EQ(read_facts(Drivers::instance().api(), 0).obstacle,
            "compute capability 7.0 is needed and it has 6.0");
}

TEST_F(CudaDriver, P3_ARepeatLaunchIsOneDriverCall) {
  const auto executable = built();
  launch(*executable);
  const Api& api = Drivers::instance().api();
  const auto launches = api.Launch.calls();
  const auto asked = [&] {
    return api.KernelValue.calls() + api.DeviceValue.calls() + api.ActiveBlocks.calls() +
           api.MemAlloc.calls() + api.StreamSynchronize.calls() + api.EventCreate.calls() +
           api.ModuleKernel.calls() + api.StreamPriorities.calls();
  };
  const auto before = asked();
  for (int i = 0; i < 10; ++i) launch(*executable);
  EXPECT_EQ(api.Launch.calls(), launches + 10);
  EXPECT_EQ(asked(), before);
}

TEST_F(CudaDriver, ALaunchPassesOneBlock) {
  const auto executable = built();
  launch(*executable);
  ASSERT_EQ(fake_->block_bytes, 12U);
  std::uint64_t address = 0;
  float by = 0;
  std::memcpy(&address, fake_->block, 8);
  std::memcpy(&by, fake_->block + 8, 4);
  EXPECT_EQ(address, 0x5010U);
  EXPECT_EQ(by, 2.0f);
  EXPECT_EQ(fake_->grid[0], 7U);
  EXPECT_EQ(fake_->threads[0], 128U);
}

TEST_F(CudaDriver, P5_TheBlockIsTheOneWithMostThreadsResident) {
  const auto executable = built();
  EXPECT_EQ(executable->max_threads_per_block(), 512U);
  EXPECT_EQ(device_->preferred_block(executable.get()), 128U);
  EXPECT_EQ(device_->preferred_block(nullptr), 0U);
}

TEST_F(CudaDriver, ASynchronousLaunchFailureIsJustThat) {
  const auto executable = built();
  const Error error = failure("cuLaunchKernel", 701, [&] { launch(*executable); });
  EXPECT_EQ(error.code(), Errc::launch_failed);
  EXPECT_FALSE(error.details().may_have_started);
  EXPECT_EQ(error.backend(), "CUDA/PTX");
  EXPECT_EQ(error.operation(), "cuLaunchKernel");
  EXPECT_THAT(error.message(), testing::HasSubstr("CUDA_ERROR_STAND_IN: as the test asked"));
  launch(*executable);
}

TEST_F(CudaDriver, AnIllegalAddressLosesTheDevice) {
  for (int status : {700, 716, 719}) {
    const Error error =
        failure("cuStreamSynchronize", status, [&] { device_->finish(device_->queue()); });
    EXPECT_EQ(error.code(), Errc::device_lost);
    EXPECT_TRUE(error.details().may_have_started);
  }
}

TEST_F(CudaDriver, MemoryThatRunsOutIsCalledThat) {
  EXPECT_EQ(failure("cuMemAlloc_v2", 2, [&] { device_->allocate(4096); }).code(),
            Errc::out_of_memory);
  const Error error = failure("none", 0, [&] { device_->allocate(std::size_t{1} << 40); });
  EXPECT_EQ(error.code(), Errc::out_of_memory);
  EXPECT_THAT(error.message(), testing::HasSubstr("1099511627776 bytes were asked for"));
}

TEST_F(CudaDriver, AssemblerErrorsCarryItsWords) {
  const Error error = failure("cuLinkAddData_v2", 218, [&] { built(); });
  EXPECT_EQ(error.code(), Errc::compile_failed);
  EXPECT_EQ(error.log(), "line 3: the assembler's words");
}

TEST_F(CudaDriver, MemoryOfOtherLibrariesIsCheckedAndTaken) {
  const runtime::Buffer all = device_->adopt(0x7000, 4096);
  EXPECT_EQ(all.address, 0x7000U);
  EXPECT_EQ(all.bytes, 4096U);
  EXPECT_EQ(device_->adopt(0x7010, 16).address, 0x7010U);
  Error error = failure("none", 0, [&] { device_->adopt(0x7010, 4096); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_THAT(error.message(), testing::HasSubstr("4096 bytes from 0x7010 pass the end"));
  error = failure("none", 0, [&] { device_->adopt(0x9000, 16); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_THAT(error.message(), testing::HasSubstr("0x9000 is no memory of this device"));
}

TEST_F(CudaDriver, StreamsOfOtherLibrariesAreUsedAndLeft) {
  const Api& api = Drivers::instance().api();
  const auto made = api.StreamCreate.calls();
  const auto destroyed = api.StreamDestroy.calls();
  {
    const auto queue = device_->adopt_queue(0x1234);
    EXPECT_EQ(queue->native(), 0x1234U);
    const auto executable = built();
    device_->launch(*queue, *executable, {{7, 1, 1}, {128, 1, 1}, 0}, arguments());
    device_->finish(*queue);
  }
  EXPECT_EQ(api.StreamCreate.calls(), made);
  EXPECT_EQ(api.StreamDestroy.calls(), destroyed);
}

TEST_F(CudaDriver, R14_TwoBackendsOnOneDeviceCopyWithinIt) {
  auto other = make_ptx_backend()->open();
  ASSERT_EQ(other.size(), 1U);
  const runtime::Buffer from = other[0]->allocate(16);
  const runtime::Buffer to = device_->allocate(16);
  const char text[16] = "straight across";
  other[0]->write(other[0]->queue(), from, 0, text, 16);
  const Api& api = Drivers::instance().api();
  const auto peers = api.CopyPeer.calls();
  ASSERT_TRUE(device_->copy_from(device_->queue(), to, *other[0], other[0]->queue(), from, 16));
  EXPECT_EQ(api.CopyPeer.calls(), peers);
  char got[16] = {};
  device_->read(device_->queue(), got, to, 0, 16);
  EXPECT_STREQ(got, text);
  device_->release(to);
  other[0]->release(from);
}

TEST_F(CudaDriver, R14_TheProgramsOwnContextComesBack) {
  int other = 0;
  fake_->contexts_of_thread[fake_->depth++] = &other;
  const auto executable = built();
  launch(*executable);
  device_->finish(device_->queue());
  ASSERT_EQ(fake_->depth, 1);
  EXPECT_EQ(fake_->contexts_of_thread[0], &other);
  fake_->depth = 0;
}

}  // namespace
}  // namespace salvo::backends::cuda
