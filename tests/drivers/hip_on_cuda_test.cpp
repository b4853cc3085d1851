// The test driver that runs HIP on CUDA: it compiles what the backend prints, and without a GPU it
// says so.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/hip/hip_backend.hpp"
#include "backends/hip/hiprtc_api.hpp"
#include "codegen/c_family/hip_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "salvo/error.hpp"
#include "unit/cuda_kernels.hpp"

namespace salvo::backends::hip {
namespace {

std::string source(const ir::Kernel& kernel) {
  return codegen::c_family::print(kernel, codegen::c_family::hip_dialect(), {}).code;
}

TEST(HipOnCuda, CompilesAllOfTheIr) {
  if (!dlopen("libnvrtc.so.13", RTLD_NOW) && !dlopen("libnvrtc.so.12", RTLD_NOW) &&
      !dlopen("libnvrtc.so", RTLD_NOW) && !dlopen("/usr/local/cuda/lib64/libnvrtc.so", RTLD_NOW)) {
    GTEST_SKIP() << "NVRTC is not installed";
  }
  Hiprtc hiprtc;
  ASSERT_EQ(hiprtc.load(), "");
  for (const ir::Kernel& kernel :
       {test::all_float_operations(ir::Scalar::F32), test::all_float_operations(ir::Scalar::F64),
        test::everything_else(), test::through_a_table(1), test::through_a_table(64)}) {
    try {
      EXPECT_TRUE(hiprtc.compile(source(kernel), "test.hip", compile_options("gfx90a"))
                      .starts_with("\x7f"
                                   "ELF"))
          << kernel.name;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << error.log() << "\n" << source(kernel);
    }
  }
}

TEST(HipOnCuda, WithoutADriverTheBackendSaysWhy) {
  const auto backend = make_backend();
  if (!backend->open().empty()) GTEST_SKIP() << "there is a GPU";
  ASSERT_TRUE(backend->unavailable());
  EXPECT_THAT(backend->unavailable()->reason,
              testing::HasSubstr("hipInit failed: hipErrorUnknown: there is no CUDA driver"));
  EXPECT_THAT(backend->unavailable()->reason,
              testing::HasSubstr("HIP needs ROCm 5 or later (on Debian: libamdhip64-5) and an AMD "
                                 "GPU from gfx900 on whose /dev/kfd you may open"));
}

}  // namespace
}  // namespace salvo::backends::hip
