// CUDA on stand-ins of its driver and of NVRTC: what is CUDA's own, and the tests of the family.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_api.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/cuda_properties.hpp"
#include "backends/cuda_family/cuda_family_device.hpp"
#include "drivers/driver_fixture.hpp"
#include "salvo/error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::tests {
namespace {

using namespace backends::cuda;  // NOLINT(google-build-using-namespace): the subject of the file
namespace cuda_family = backends::cuda_family;

Subject ptx() {
  return {.label = "CudaPtx",
          .backend = "CUDA/PTX",
          .language = "PTX",
          .libraries = {"libcuda.so.1"},
          .driver = "fake_cuda",
          .compiler = "fake_cuda",
          .make = make_ptx_backend,
          .prefix = "cu",
          .launch = "cuLaunchKernel",
          .launch_spoken = "cuLaunchKernel",
          .allocate = "cuMemAlloc_v2",
          .synchronize = "cuStreamSynchronize",
          .compile = "cuLinkAddData_v2",
          .words = "line 3: the assembler's words",
          .error = "CUDA_ERROR_STAND_IN",
          .max_threads = 512};
}
Subject c() {
  Subject subject = ptx();
  subject.label = "CudaC";
  subject.backend = "CUDA/C";
  subject.language = "CUDA C";
  subject.libraries = {"libcuda.so.1", "libnvrtc.so.13"};
  subject.compiler = "fake_nvrtc";
  subject.make = make_c_backend;
  subject.compile = "nvrtcCompileProgram";
  subject.words = "line 3: the compiler's words";
  return subject;
}

INSTANTIATE_TEST_SUITE_P(Cuda, FamilyDriver, testing::Values(ptx(), c()),
                         [](const auto& tested) { return tested.param.label; });

class CudaDriver : public DriverFixture {
 protected:
  CudaDriver() : DriverFixture(ptx()) {}
};
class CudaCDriver : public DriverFixture {
 protected:
  CudaCDriver() : DriverFixture(c()) {}
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
  EXPECT_EQ(read_facts(drivers().api(), 0).obstacle,
            "compute capability 7.0 is needed and it has 6.0");
}

TEST_F(CudaDriver, R14_TwoBackendsOnOneDeviceCopyWithinIt) {
  auto other = make_ptx_backend()->open();
  ASSERT_EQ(other.size(), 1U);
  const runtime::Buffer from = other[0]->allocate(16);
  const runtime::Buffer to = device_->allocate(16);
  const char text[16] = "straight across";
  other[0]->write(other[0]->queue(), from, 0, text, 16);
  const auto& api = drivers().api();
  const auto peers = api.CopyPeer.calls();
  ASSERT_TRUE(
      device_->copy_from(device_->queue(), to, 0, *other[0], other[0]->queue(), from, 0, 16));
  EXPECT_EQ(api.CopyPeer.calls(), peers);
  char got[16] = {};
  device_->read(device_->queue(), got, to, 0, 16);
  EXPECT_STREQ(got, text);
  device_->release(to);
  other[0]->release(from);
}

/// A device as the driver describes it, without a code generator.
class Bare final : public cuda_family::FamilyDevice {
 public:
  explicit Bare(const cuda_family::DeviceFacts& facts)
      : FamilyDevice(drivers().api(), facts, kPtxName) {}
  runtime::Program translate(const ir::Kernel&, const runtime::TranslateOptions&) const override {
    return {};
  }

 protected:
  Image compile(const runtime::Program&) const override { return {}; }
  std::string_view language() const noexcept override { return "PTX"; }
};

/// Two devices, with memory pools or without.
class CudaPeers : public CudaDriver, public testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<Bare> opened(int ordinal) {
    fake_->pools = GetParam() ? 1 : 0;
    cuda_family::DeviceFacts facts = read_facts(drivers().api(), 0);
    facts.ordinal = ordinal;
    return std::make_unique<Bare>(facts);
  }
};

TEST_P(CudaPeers, R14_ARangeGoesStraightFromOneDeviceToAnother) {
  const auto first = opened(0);
  const auto second = opened(1);
  const runtime::Buffer from = first->allocate(16);
  const runtime::Buffer to = second->allocate(16);
  first->write(first->queue(), from, 0, "0123456789abcdef", 16);
  second->write(second->queue(), to, 0, "................", 16);
  const auto copy = [&] {
    ASSERT_TRUE(second->copy_from(second->queue(), to, 4, *first, first->queue(), from, 8, 6));
  };
  // Each side is given its way to the other, once.
  const auto& api = drivers().api();
  const auto asked = api.PeerReaches.calls();
  const auto opened = GetParam() ? api.PoolShare.calls() : api.PeerEnable.calls();
  copy();
  EXPECT_EQ(api.PeerReaches.calls(), asked + 2);
  EXPECT_EQ(GetParam() ? api.PoolShare.calls() : api.PeerEnable.calls(), opened + 2);
  EXPECT_THAT(calls_of(copy),
              testing::ElementsAre("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent",
                                   "cuMemcpyPeerAsync", "cuEventCreate", "cuEventRecord",
                                   "cuStreamWaitEvent", "cuEventDestroy_v2", "cuEventDestroy_v2"));
  char got[17] = {};
  second->read(second->queue(), got, to, 0, 16);
  EXPECT_STREQ(got, "....89abcd......");
  second->release(to);
  first->release(from);
}

INSTANTIATE_TEST_SUITE_P(Memory, CudaPeers, testing::Bool(),
                         [](const auto& one) { return one.param ? "Pools" : "NoPools"; });

TEST_F(CudaDriver, MemoryComesFromAPoolInTheOrderOfAStream) {
  fake_->pools = 1;
  Bare device(read_facts(drivers().api(), 0));
  runtime::Buffer buffer;
  EXPECT_THAT(calls_of([&] { buffer = device.allocate(64); }),
              testing::ElementsAre("cuMemAllocFromPoolAsync", "cuStreamSynchronize"));
  EXPECT_THAT(calls_of([&] { device.release(buffer); }), testing::ElementsAre("cuMemFreeAsync"));
  std::vector<std::string> calls;
  const Error error = failure("cuMemAllocFromPoolAsync", 2, [&] {
    fake_->call_count = 0;
    device.allocate(64);
  });
  EXPECT_EQ(error.code(), Errc::out_of_memory);
  for (int i = 0; i < fake_->call_count; ++i) calls.emplace_back(fake_->calls[i]);
  std::erase_if(calls, [](const std::string& call) { return call.starts_with("cuCtx"); });
  // What the pool keeps is given back before that is said.
  EXPECT_THAT(calls, testing::IsSupersetOf({"cuMemAllocFromPoolAsync", "cuStreamSynchronize",
                                            "cuMemPoolTrimTo", "cuMemAllocFromPoolAsync"}));
}

TEST_F(CudaDriver, W31_OldDriversTakeFourKilobytesOfParameters) {
  fake_->version = 12000;
  EXPECT_EQ(read_facts(drivers().api(), 0).properties.parameter_bytes, 4096U);
  fake_->version = 12010;
  EXPECT_EQ(read_facts(drivers().api(), 0).properties.parameter_bytes, 32'764U);
}

TEST_F(CudaDriver, R6_HostMemoryIsPinnedForEveryContextAndRead) {
  const runtime::Buffer buffer = device_->allocate(16);
  int value = 7;
  const auto write = [&] { device_->write(device_->queue(), buffer, 0, &value, sizeof value); };
  EXPECT_THAT(calls_of(write), testing::ElementsAre("cuMemcpyHtoDAsync_v2"));
  runtime::HostBlock block;
  EXPECT_THAT(calls_of([&] { block = device_->allocate_host(64); }),
              testing::ElementsAre("cuMemHostAlloc"));
  // W14: the driver may read pinned memory after the call, and this may be some.
  EXPECT_THAT(calls_of(write), testing::ElementsAre("cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"));
  EXPECT_THAT(calls_of([&] { device_->write_async(device_->queue(), buffer, 0, block, 0, 16); }),
              testing::ElementsAre("cuMemcpyHtoDAsync_v2"));
  EXPECT_THAT(calls_of([&] { device_->read_async(device_->queue(), block, 0, buffer, 0, 16); }),
              testing::ElementsAre("cuMemcpyDtoHAsync_v2"));
  EXPECT_THAT(calls_of([&] { device_->release_host(block); }),
              testing::ElementsAre("cuMemFreeHost"));
  EXPECT_THAT(calls_of([&] { block = device_->register_host(&value, sizeof value); }),
              testing::ElementsAre("cuMemHostRegister_v2"));
  EXPECT_THAT(calls_of([&] { device_->unregister_host(block); }),
              testing::ElementsAre("cuMemHostUnregister"));
  EXPECT_THAT(calls_of(write), testing::ElementsAre("cuMemcpyHtoDAsync_v2"));
  device_->release(buffer);
}

/// y = x of records of four floats: code with a function more for spans that lie badly.
ir::Kernel copied_records() {
  const ir::Element four{"Four",
                         16,
                         4,
                         {{"a", ir::Scalar::F32, 0},
                          {"b", ir::Scalar::F32, 4},
                          {"c", ir::Scalar::F32, 8},
                          {"d", ir::Scalar::F32, 12}}};
  test::Shapes k("copied");
  const auto x = k.span_parameter("x", four, true);
  const auto y = k.span_parameter("y", four, false);
  const auto i = k.position(ir::Op::GlobalIdx, 0);
  for (std::uint32_t leaf = 0; leaf < 4; ++leaf) k.store(y, i, k.load(x, i, leaf), leaf);
  return k.finish();
}

/// On both backends: which function a launch starts.
class CudaEntries : public DriverFixture, public testing::WithParamInterface<Subject> {
 protected:
  CudaEntries() : DriverFixture(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Cuda, CudaEntries, testing::Values(ptx(), c()),
                         [](const auto& tested) { return tested.param.label; });

TEST_P(CudaEntries, SpansThatLieBadlyGetTheFunctionForThem) {
  const ir::Kernel kernel = copied_records();
  const runtime::Program program = device_->translate(kernel, {.may_alias = 0});
  EXPECT_THAT(program.alignments, testing::ElementsAre(16U, 16U));
  const auto executable = device_->build(kernel, program, {});
  const auto started = [&](std::uint64_t x, std::uint64_t y) {
    std::vector<runtime::Argument> arguments(2);
    arguments[0].buffer = {1, 4096, 0x5000};
    arguments[0].byte_offset = x;
    arguments[1].buffer = {2, 4096, 0x7000 + y};  // as another library's memory may begin
    device_->launch(device_->queue(), *executable, {{7, 1, 1}, {128, 1, 1}, 0}, arguments);
    return std::string(fake_->launched);
  };
  EXPECT_EQ(started(0, 0), program.entry);
  EXPECT_EQ(started(32, 16), program.entry);
  EXPECT_EQ(started(4, 0), program.unaligned_entry);
  EXPECT_EQ(started(0, 8), program.unaligned_entry);
  EXPECT_EQ(started(0, 0), program.entry);
}

TEST_P(CudaEntries, ABlockThatNeedsFewerRegistersGetsCodeForIt) {
  const auto executable = built();
  ASSERT_EQ(executable->max_threads_per_block(), 512U);  // of the device's 1024
  const auto launch_of = [&](std::uint32_t threads) {
    return calls_of([&] {
      device_->launch(device_->queue(), *executable, {{1, 1, 1}, {threads, 2, 1}, 0}, arguments());
    });
  };
  EXPECT_THAT(launch_of(256), testing::ElementsAre("cuLaunchKernel"));
  EXPECT_EQ(fake_->modules, 1);
  const auto first = launch_of(257);
  EXPECT_EQ(std::ranges::count(first, "cuModuleLoadDataEx"), 1);
  EXPECT_EQ(fake_->modules, 2);
  EXPECT_THAT(launch_of(512), testing::ElementsAre("cuLaunchKernel"));
  EXPECT_EQ(fake_->threads[0], 512U);
  // Other launches go on as they were, and what is reported stays: fused kernels go by it (W62).
  EXPECT_THAT(launch_of(64), testing::ElementsAre("cuLaunchKernel"));
  EXPECT_EQ(executable->max_threads_per_block(), 512U);
  if (GetParam().label == "CudaC") {
    EXPECT_THAT(compiler_->options, testing::HasSubstr(" --maxrregcount=64 "));
  } else {
    EXPECT_THAT(fake_->source, testing::HasSubstr("\n)\n.maxntid 1024\n{"));
  }
}

TEST_P(CudaEntries, CodeWithoutWideAccessesHasOneFunction) {
  const runtime::Program program = device_->translate(scale(), {.may_alias = 0});
  EXPECT_THAT(program.alignments, testing::IsEmpty());
  EXPECT_EQ(program.unaligned_entry, "");
}

TEST_F(CudaCDriver, W51_ContractionIsForbiddenLastInEveryModeButDevice) {
  for (const bool device_mode : {false, true}) {
    built({.device_contraction = device_mode});
    const std::string options = compiler_->options;
    EXPECT_TRUE(options.ends_with(device_mode ? " --fmad=true " : " --fmad=false ")) << options;
  }
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
}  // namespace salvo::tests
