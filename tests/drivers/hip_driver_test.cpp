// The HIP backend on a recording stand-in: what it calls, in which order, and how it fails.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/hip/hip_backend.hpp"
#include "backends/hip/hip_drivers.hpp"
#include "drivers/fake_hip.hpp"
#include "salvo/error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::backends::hip {
namespace {

using ir::Op;
using ir::Scalar;
using runtime::Argument;
using testing::ElementsAre;
using testing::HasSubstr;

class HipDriver : public testing::Test {
 protected:
  void SetUp() override {
    void* library = dlopen("libamdhip64.so.7", RTLD_NOW);
    fake_ = library ? static_cast<FakeHip*>(dlsym(library, "fake_hip")) : nullptr;
    if (!fake_) GTEST_SKIP() << "the stand-in is not in LD_LIBRARY_PATH";
    *fake_ = {};
    backend_ = make_backend();
    auto devices = backend_->open();
    ASSERT_EQ(devices.size(), 1U);
    device_ = std::move(devices.front());
    fake_->call_count = 0;
  }
  void TearDown() override {
    if (!fake_) return;
    fake_->failing = "";
    device_.reset();
    EXPECT_EQ(fake_->modules, 0);
    EXPECT_EQ(fake_->buffers, 0);
    EXPECT_EQ(fake_->streams, 0);
    EXPECT_EQ(fake_->events, 0);
  }

  static ir::Kernel scale() {
    test::Shapes k("scale");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
    const auto by = k.scalar_parameter("by", Scalar::F32);
    const auto i = k.position(Op::GlobalIdx, 0);
    k.store(x, i, k.op(Op::Mul, {k.load(x, i), k.param(by)}));
    return k.finish();
  }
  std::unique_ptr<runtime::Executable> built(const runtime::TranslateOptions& options = {}) {
    const ir::Kernel kernel = scale();
    return device_->build(kernel, device_->translate(kernel, options), {});
  }
  void launch(runtime::Executable& executable) {
    std::vector<Argument> arguments(2);
    arguments[0].buffer = {1, 4096, 0x5000};
    arguments[0].byte_offset = 16;
    arguments[1].bits = 0x40000000;
    device_->launch(device_->queue(), executable, {{7, 2, 1}, {128, 1, 1}, 32}, arguments);
  }
  /// What `work` calls, but for the questions which device is current.
  std::vector<std::string> calls_of(const std::function<void()>& work) {
    fake_->call_count = 0;
    work();
    std::vector<std::string> calls;
    for (int i = 0; i < fake_->call_count; ++i) {
      if (std::strcmp(fake_->calls[i], "hipGetDevice") != 0) calls.push_back(fake_->calls[i]);
    }
    return calls;
  }
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

  FakeHip* fake_ = nullptr;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<runtime::DeviceDriver> device_;
};

TEST_F(HipDriver, PropertiesAreTheRuntimes) {
  const DeviceProperties& is = device_->properties();
  EXPECT_EQ(is.name, "Stand-in");
  EXPECT_EQ(is.platform, "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(is.driver_version, "HIP 6.2.123");
  EXPECT_EQ(is.warp_size, 64U);
  EXPECT_EQ(is.compute_units, 104U);
  EXPECT_EQ(is.shared_bytes_per_block, 65'536U);
  EXPECT_EQ(is.parameter_bytes, 4096U);
  EXPECT_EQ(is.max_grid[0], 0xffff'ffffu / 1024) << "a dispatch counts threads";
  EXPECT_TRUE(is.fast_fma);
}

TEST_F(HipDriver, ABuildCompilesLoadsAndAsksOnce) {
  const auto calls = calls_of([&] { built(); });
  EXPECT_THAT(
      calls,
      ElementsAre("hiprtcCreateProgram", "hiprtcCompileProgram", "hiprtcGetCodeSize",
                  "hiprtcGetCode", "hiprtcDestroyProgram", "hipModuleLoadDataEx",
                  "hipModuleGetFunction", "hipFuncGetAttribute", "hipFuncGetAttribute",
                  "hipFuncGetAttribute", "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                  "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", "hipModuleUnload"));
}

TEST_F(HipDriver, W73_ACodeObjectIsLoadedWithoutACompilation) {
  const std::vector<std::byte> binary = built()->binary();
  const ir::Kernel kernel = scale();
  const runtime::Program program = device_->translate(kernel, {});
  const auto calls = calls_of([&] { device_->build(kernel, program, binary); });
  EXPECT_EQ(calls.front(), "hipModuleLoadDataEx");
  const std::vector<std::byte> foreign(64);
  EXPECT_THROW(device_->build(kernel, program, foreign), Error);
}

TEST_F(HipDriver, W51_ContractionIsForbiddenLast) {
  for (const bool device_mode : {false, true}) {
    built({.device_contraction = device_mode});
    const std::string options = fake_->options;
    EXPECT_TRUE(options.ends_with(" -ffp-contract=off ")) << options;
    EXPECT_THAT(options, HasSubstr("--offload-arch=gfx90a:sramecc+:xnack- "));
  }
}

TEST_F(HipDriver, W51_UsersOptionsMayNotRelaxFloatingPoint) {
  const auto compile = [&](std::vector<std::string> options) {
    device_->build_source({"HIP", "extern \"C\" __global__ void f() {}", "f", std::move(options)});
  };
  for (const std::vector<std::string>& relaxing : {std::vector<std::string>{"-ffast-math"},
                                                   {"-O3 -ffast-math"},
                                                   {"-ffp-contract=fast"},
                                                   {"-ffp-contract", "fast"},
                                                   {"-Xclang", "-ffp-contract=on"},
                                                   {"-mllvm", "-fp-contract=fast"},
                                                   {"-mllvm -enable-unsafe-fp-math"},
                                                   {"-fgpu-flush-denormals-to-zero"},
                                                   {"-Ofast"}}) {
    try {
      compile(relaxing);
      ADD_FAILURE() << relaxing.back() << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::invalid_argument);
      EXPECT_THAT(error.message(), HasSubstr("relaxes floating point"));
    }
  }
  compile({"-O2", "-ffp-contract", "off", "-DN=4"});
  EXPECT_THAT(fake_->options, HasSubstr("-DN=4 "));
  EXPECT_TRUE(std::string(fake_->options).ends_with(" -ffp-contract=off "));
}

TEST_F(HipDriver, P3_ARepeatLaunchIsOneCall) {
  const auto executable = built();
  launch(*executable);
  EXPECT_THAT(calls_of([&] { launch(*executable); }), ElementsAre("hipModuleLaunchKernel"));
}

TEST_F(HipDriver, ALaunchPassesOneBlock) {
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
  EXPECT_EQ(fake_->grid[1], 2U);
  EXPECT_EQ(fake_->threads[0], 128U);
  EXPECT_EQ(fake_->shared_bytes, 32U);
}

TEST_F(HipDriver, P5_TheBlockIsTheOneWithMostThreadsResident) {
  const auto executable = built();
  EXPECT_EQ(executable->max_threads_per_block(), 1024U);
  EXPECT_EQ(executable->spill_bytes_per_thread(), 24U);
  EXPECT_EQ(device_->preferred_block(executable.get()), 128U);
}

TEST_F(HipDriver, W14_AWriteHasReadTheBytesWhenItReturns) {
  const runtime::Buffer buffer = device_->allocate(16);
  const int value = 7;
  EXPECT_THAT(calls_of([&] { device_->write(device_->queue(), buffer, 0, &value, 4); }),
              ElementsAre("hipMemcpyHtoDAsync", "hipStreamSynchronize"));
  int back = 0;
  EXPECT_THAT(calls_of([&] { device_->read(device_->queue(), &back, buffer, 0, 4); }),
              ElementsAre("hipMemcpyDtoHAsync", "hipStreamSynchronize"));
  EXPECT_EQ(back, 7);
  device_->release(buffer);
}

TEST_F(HipDriver, ForeignMemoryIsCheckedAgainstItsAllocation) {
  EXPECT_EQ(device_->adopt(0x7000, 4096).address, 0x7000U);
  EXPECT_THROW(device_->adopt(0x7000, 4097), Error);
}

TEST_F(HipDriver, StreamsWaitForEventsAndTimersReadThem) {
  const auto queue = device_->make_queue(1);
  const auto first = device_->make_event();
  const auto last = device_->make_event();
  EXPECT_THAT(calls_of([&] {
                device_->record(device_->queue(), *first);
                device_->wait(*queue, *first);
                device_->record(*queue, *last);
              }),
              ElementsAre("hipEventRecord", "hipStreamWaitEvent", "hipEventRecord"));
  EXPECT_EQ(device_->elapsed_ms(*first, *last), 1.5);
  fake_->failing = "hipEventQuery";
  fake_->status = 600;
  EXPECT_FALSE(device_->reached(*last));
}

TEST_F(HipDriver, ErrorsSpeakHip) {
  const auto executable = built();
  const Error error = failure("hipModuleLaunchKernel", 701, [&] { launch(*executable); });
  EXPECT_EQ(error.code(), Errc::launch_failed);
  EXPECT_FALSE(error.details().may_have_started);
  EXPECT_EQ(error.backend(), "HIP");
  EXPECT_EQ(error.operation(), "hipModuleLaunchKernel");
  EXPECT_THAT(error.message(), HasSubstr("hipErrorStandIn: as the test asked"));
  EXPECT_EQ(failure("hipMalloc", 2, [&] { device_->allocate(64); }).code(), Errc::out_of_memory);
  const Error lost =
      failure("hipStreamSynchronize", 719, [&] { device_->finish(device_->queue()); });
  EXPECT_EQ(lost.code(), Errc::device_lost);
  EXPECT_TRUE(lost.details().may_have_started);
}

TEST_F(HipDriver, CompilerErrorsCarryItsWords) {
  const Error error = failure("hiprtcCompileProgram", 6, [&] { built(); });
  EXPECT_EQ(error.code(), Errc::compile_failed);
  EXPECT_EQ(error.log(), "line 3: the compiler's words");
}

TEST_F(HipDriver, R14_TheProgramsOwnDeviceComesBack) {
  fake_->device_of_thread = 3;
  const auto executable = built();
  launch(*executable);
  EXPECT_EQ(fake_->device_of_thread, 3);
  EXPECT_THAT(calls_of([&] { launch(*executable); }),
              ElementsAre("hipSetDevice", "hipModuleLaunchKernel", "hipSetDevice"));
  fake_->device_of_thread = 0;
}

TEST(HipFacts, GenerationsAreReadOffTheArchitecture) {
  EXPECT_EQ(generation("gfx900"), 9);
  EXPECT_EQ(generation("gfx90a:sramecc+:xnack-"), 9);
  EXPECT_EQ(generation("gfx1030"), 10);
  EXPECT_EQ(generation("gfx1201"), 12);
  EXPECT_EQ(generation("gfx803"), 8);
  EXPECT_EQ(generation("gfx"), 0);
  EXPECT_EQ(generation("sm_90"), 0);
}

}  // namespace
}  // namespace salvo::backends::hip
