// Cooperative matrices in CUDA code: the instructions, which assembler and compiler take.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/nvrtc_api.hpp"
#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/ptx/emitter.hpp"
#include "salvo/error.hpp"
#include "unit/matrix_kernels.hpp"

namespace salvo::codegen {
namespace {

using ir::MatrixLayout;
using ir::Scalar;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr CooperativeMatrixShape kHalf{16, 16, 16, Scalar::F16, Scalar::F32};
constexpr CooperativeMatrixShape kOnlyHalf{16, 16, 16, Scalar::F16, Scalar::F16};
constexpr CooperativeMatrixShape kBrain{16, 16, 16, Scalar::BF16, Scalar::F32};

std::vector<ir::Kernel> kernels(const CooperativeMatrixShape& shape) {
  std::vector<ir::Kernel> all;
  for (const MatrixLayout a : {MatrixLayout::row_major, MatrixLayout::column_major}) {
    for (const MatrixLayout b : {MatrixLayout::row_major, MatrixLayout::column_major}) {
      const bool shared = a == b;
      all.push_back(test::matrix_product(shape, {a, b, a, shared, shared ? 2U : 100U}));
    }
  }
  all.push_back(test::filled_product(shape));
  return all;
}

std::string cuda(const ir::Kernel& kernel) {
  return c_family::print(kernel, c_family::cuda_dialect(), {}).code;
}

TEST(PtxMatrices, AreWmmaInstructions) {
  const std::string code =
      ptx::emit(test::matrix_product(kHalf, {.b = MatrixLayout::column_major, .rounds = 100}), {})
          .code;
  EXPECT_THAT(code, ContainsRegex("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 "
                                  "\\{%r[0-9]+(, %r[0-9]+){7}\\}, \\[%rd[0-9]+\\], %r[0-9]+;"));
  EXPECT_THAT(code, HasSubstr("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 "));
  EXPECT_THAT(code, ContainsRegex("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 "
                                  "\\{%f[0-9]+(, %f[0-9]+){7}\\}"));
  EXPECT_THAT(code, HasSubstr("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 "));
  EXPECT_THAT(code, HasSubstr("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 "));
  EXPECT_THAT(ptx::emit(test::matrix_product(kBrain), {}).code,
              HasSubstr("wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 "));
}

TEST(PtxMatrices, SharedArraysThatTheyComeFromStartAtWholeLines) {
  const std::string code =
      ptx::emit(test::matrix_product(kHalf, {.through_shared = true}), {}).code;
  EXPECT_THAT(code, HasSubstr(".shared .align 32 .b8 m4[512];"));
  EXPECT_THAT(code, HasSubstr("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "));
  EXPECT_THAT(cuda(test::matrix_product(kHalf, {.through_shared = true})),
              HasSubstr("__align__(32) __shared__ unsigned short tile_a[256];"));
}

TEST(PtxMatrices, TheAssemblerTakesThemForEveryChipThatHasThem) {
  const std::string ptxas =
      std::filesystem::exists("/usr/local/cuda/bin/ptxas") ? "/usr/local/cuda/bin/ptxas" : "ptxas";
  if (std::system((ptxas + " --version > /dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "ptxas is not installed";
  }
  const auto folder = std::filesystem::path(testing::TempDir()) / "salvo_ptx_matrices_test";
  std::filesystem::create_directories(folder);
  const auto assembles = [&](const ir::Kernel& kernel, int language, int chip) {
    ptx::EmitOptions options;
    options.target = {language, chip};
    const auto file = folder / "kernel.ptx";
    std::ofstream(file) << ptx::emit(kernel, options).code;
    // The newest assemblers know no chip before sm_75.
    const std::string command =
        fmt::format("{} -arch=sm_{} -o {}/out.cubin {} > {}/log 2>&1", ptxas, std::max(chip, 75),
                    folder.string(), file.string(), folder.string());
    const int status = std::system(command.c_str());
    std::ostringstream log;
    log << std::ifstream(folder / "log").rdbuf();
    EXPECT_EQ(status, 0) << "sm_" << chip << "\n" << log.str();
  };
  for (const CooperativeMatrixShape& shape : {kHalf, kOnlyHalf, kBrain}) {
    for (const ir::Kernel& kernel : kernels(shape)) {
      if (shape.inputs == Scalar::F16) {
        assembles(kernel, 63, 70);
        assembles(kernel, 63, 75);
      }
      for (const int chip : {80, 86, 90}) assembles(kernel, 81, chip);
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(CudaMatrices, NvrtcTakesThem) {
  backends::cuda::Nvrtc nvrtc;
  if (const std::string reason = nvrtc.load(); !reason.empty()) GTEST_SKIP() << reason;
  if (nvrtc.arch_for(90) != 90)
    GTEST_SKIP() << nvrtc.shared_object_name() << " does not know sm_90";
  for (const CooperativeMatrixShape& shape : {kHalf, kOnlyHalf, kBrain}) {
    for (const ir::Kernel& kernel : kernels(shape)) {
      try {
        const std::string binary = nvrtc.compile(
            cuda(kernel), "test.cu", {"--std=c++17", "--gpu-architecture=sm_90", "--fmad=false"});
        EXPECT_TRUE(
            binary.starts_with("\x7f"
                               "ELF"));
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << "\n" << error.log() << "\n" << cuda(kernel);
      }
    }
  }
}

TEST(CudaMatrices, OtherShapesAreRefusedByName) {
  const ir::Kernel small = test::matrix_product({8, 8, 8, Scalar::F16, Scalar::F32});
  for (const bool assembly : {false, true}) {
    try {
      assembly ? ptx::emit(small, {}).code : cuda(small);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported);
      EXPECT_EQ(error.message(), fmt::format("{} has no cooperative matrix a 8x8 of f16",
                                             assembly ? "CUDA/PTX" : "CUDA/C"));
      EXPECT_EQ(error.kernel_location().line, 2U);
    }
  }
}

}  // namespace
}  // namespace salvo::codegen
