// HIP on a recording stand-in of its runtime and compiler: what is HIP's own, and the tests of the
// family.
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "backends/hip/hip_api.hpp"
#include "backends/hip/hip_backend.hpp"
#include "backends/hip/hip_properties.hpp"
#include "drivers/driver_fixture.hpp"
#include "salvo/error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::tests {
namespace {

using backends::hip::drivers;
using backends::hip::generation;
using backends::hip::read_facts;
using testing::ElementsAre;
using testing::HasSubstr;

Subject hip() {
  return {
      .label = "Hip",
      .backend = "HIP",
      .language = "HIP",
      .libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libhiprtc.so.7"},
      .driver = "fake_hip",
      .compiler = "fake_hiprtc",
      .make = backends::hip::make_backend,
      .prefix = "hip",
      .launch = "hipModuleLaunchKernel",
      .launch_spoken = "hipModuleLaunchKernel",
      .allocate = "hipMalloc",
      .synchronize = "hipStreamSynchronize",
      .compile = "hiprtcCompileProgram",
      .words = "line 3: the compiler's words",
      .error = "hipErrorStandIn",
      .max_threads = 1024};
}

INSTANTIATE_TEST_SUITE_P(Hip, FamilyDriver, testing::Values(hip()),
                         [](const auto& tested) { return tested.param.label; });

class HipDriver : public DriverFixture {
 protected:
  HipDriver() : DriverFixture(hip()) {}
};

TEST_F(HipDriver, PropertiesAreTheRuntimes) {
  const DeviceProperties& is = device_->properties();
  EXPECT_EQ(is.name, "Stand-in");
  EXPECT_EQ(is.platform, "gfx90a:sramecc+:xnack-");
  EXPECT_THAT(is.driver_version, testing::MatchesRegex("HIP [567]\\.2\\.123"));
  EXPECT_EQ(is.warp_size, 64U);
  EXPECT_EQ(is.compute_units, 104U);
  EXPECT_EQ(is.shared_bytes_per_block, 65'536U);
  EXPECT_EQ(is.parameter_bytes, 4096U);
  EXPECT_EQ(is.max_grid[0], 0xffff'ffffu / 1024) << "a dispatch counts threads";
  EXPECT_TRUE(is.fast_fma);
}

TEST_F(HipDriver, ABuildCompilesLoadsAndAsksOnce) {
  EXPECT_THAT(calls_of([&] { built(); }),
              ElementsAre("hipModuleLoadDataEx", "hipModuleGetFunction", "hipFuncGetAttribute",
                          "hipFuncGetAttribute", "hipFuncGetAttribute",
                          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", "hipModuleUnload"));
  EXPECT_THAT(std::vector<std::string>(compiler_->calls, compiler_->calls + compiler_->call_count),
              ElementsAre("hiprtcCreateProgram", "hiprtcCompileProgram", "hiprtcGetCodeSize",
                          "hiprtcGetCode", "hiprtcDestroyProgram"));
}

TEST_F(HipDriver, W51_ContractionIsForbiddenLast) {
  for (const bool device_mode : {false, true}) {
    built({.device_contraction = device_mode});
    const std::string options = compiler_->options;
    EXPECT_TRUE(options.ends_with(" -ffp-contract=off ")) << options;
    EXPECT_THAT(options, HasSubstr("--offload-arch=gfx90a:sramecc+:xnack- "));
  }
}

TEST_F(HipDriver, W51_ContractionIsForbiddenAfterTheUsersOptions) {
  EXPECT_EQ(refusal({"-O2", "-ffp-contract", "off", "-DN=4"}), "");
  EXPECT_THAT(compiler_->options, HasSubstr("-DN=4 "));
  EXPECT_TRUE(std::string(compiler_->options).ends_with(" -ffp-contract=off "));
}

TEST_F(HipDriver, WavesHave32Or64Lanes) {
  EXPECT_EQ(device_->properties().warp_size, 64U);
  fake_->wave_size = 32;
  fake_->architecture = "gfx1030";
  const auto facts = read_facts(drivers().api(), 0);
  EXPECT_EQ(facts.obstacle, "");
  EXPECT_EQ(facts.properties.warp_size, 32U);
  EXPECT_EQ(facts.properties.platform, "gfx1030");
}

TEST_F(HipDriver, AnOldArchitectureIsRefusedInWords) {
  fake_->architecture = "gfx803";
  EXPECT_EQ(read_facts(drivers().api(), 0).obstacle,
            "an architecture from gfx900 on is needed and it is 'gfx803'");
}

TEST_F(HipDriver, ParametersOver4KiBAreCountedAsSuch) {
  test::Shapes k("many");
  for (int i = 0; i < 257; ++i) {
    k.span_parameter(fmt::format("x{}", i), ir::Element::scalar(ir::Scalar::F32), false);
  }
  EXPECT_EQ(device_->parameter_cost(k.finish()).bytes, 257U * 16U);
  EXPECT_EQ(device_->properties().parameter_bytes, 4096U);
}

TEST_F(HipDriver, PinnedMemoryIsTheDrivers) {
  int value = 3;
  EXPECT_THAT(calls_of([&] {
                const runtime::HostBlock block = device_->allocate_host(64);
                EXPECT_NE(block.data, nullptr);
                device_->release_host(block);
                device_->unregister_host(device_->register_host(&value, sizeof(value)));
              }),
              ElementsAre("hipHostMalloc", "hipHostFree", "hipHostRegister", "hipHostUnregister"));
}

TEST_F(HipDriver, W14_EveryWriteIsWaitedFor) {
  const runtime::Buffer buffer = device_->allocate(16);
  const int value = 7;
  EXPECT_THAT(calls_of([&] { device_->write(device_->queue(), buffer, 0, &value, 4); }),
              ElementsAre("hipMemcpyHtoDAsync", "hipStreamSynchronize"));
  device_->release(buffer);
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
}  // namespace salvo::tests
