// CUDA on stand-ins of its driver and of NVRTC: what is CUDA's own, and the tests of the family.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cuda_api.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/cuda/cuda_facts.hpp"
#include "drivers/driver_fixture.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

using namespace backends::cuda;  // NOLINT(google-build-using-namespace): the subject of the file

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
  ASSERT_TRUE(device_->copy_from(device_->queue(), to, *other[0], other[0]->queue(), from, 16));
  EXPECT_EQ(api.CopyPeer.calls(), peers);
  char got[16] = {};
  device_->read(device_->queue(), got, to, 0, 16);
  EXPECT_STREQ(got, text);
  device_->release(to);
  other[0]->release(from);
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
