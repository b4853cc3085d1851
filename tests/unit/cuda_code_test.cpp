// Parameter blocks agree with the sources, and NVRTC takes what the dialect prints.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "backends/cuda/nvrtc_api.hpp"
#include "backends/cuda_family/cuda_family_parameters.hpp"
#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "salvo/error.hpp"
#include "unit/cuda_kernels.hpp"

namespace salvo::backends::cuda {
namespace {

using cuda_family::parameter_cost;
using cuda_family::ParameterBlock;
using ir::Op;
using ir::Scalar;
using test::Shapes;
using testing::HasSubstr;

std::string source(const ir::Kernel& kernel, std::uint64_t may_alias = ~std::uint64_t{0}) {
  codegen::c_family::PrintOptions options;
  options.may_alias = may_alias;
  return codegen::c_family::print(kernel, codegen::c_family::cuda_dialect(), options).code;
}

template <typename T>
T at(const std::vector<std::byte>& block, std::size_t offset) {
  T value;
  std::memcpy(&value, block.data() + offset, sizeof(T));
  return value;
}

runtime::Argument span_at(std::uint64_t address, std::uint64_t offset, std::uint64_t length) {
  runtime::Argument argument;
  argument.buffer = {1, 1024, address};
  argument.byte_offset = offset;
  argument.length = length;
  return argument;
}

runtime::Argument scalar(std::uint64_t bits) {
  runtime::Argument argument;
  argument.bits = bits;
  return argument;
}

TEST(CudaParameters, EachIsAlignedToItsSize) {
  Shapes k("mixed");
  k.scalar_parameter("flag", Scalar::Bool);
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
  k.scalar_parameter("half", Scalar::F16);
  k.scalar_parameter("count", Scalar::I32);
  k.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  k.store(x, k.position(Op::ThreadIdx, 0), k.cast(Scalar::F32, k.length(x)));
  const ir::Kernel kernel = k.finish();
  const ParameterBlock parameters(kernel);
  // flag 0, x 8, its length 16, half 24, count 28, y 32; nobody reads the length of y.
  ASSERT_EQ(parameters.bytes(), 40U);
  ASSERT_EQ(parameters.arguments(), 5U);
  std::vector<std::byte> block(40);
  const std::vector<runtime::Argument> arguments{scalar(1), span_at(4096, 8, 77), scalar(0x3c00),
                                                 scalar(0xfffffffe), span_at(8192, 0, 5)};
  EXPECT_EQ(parameters.fill(arguments, block.data()), ParameterBlock::Filled::aligned);
  EXPECT_EQ(at<std::uint8_t>(block, 0), 1);
  EXPECT_EQ(at<std::uint64_t>(block, 8), 4104U);
  EXPECT_EQ(at<std::uint64_t>(block, 16), 77U);
  EXPECT_EQ(at<std::uint16_t>(block, 24), 0x3c00);
  EXPECT_EQ(at<std::int32_t>(block, 28), -2);
  EXPECT_EQ(at<std::uint64_t>(block, 32), 8192U);
  EXPECT_GE(parameter_cost(kernel).bytes, parameters.bytes());
}

TEST(CudaParameters, TablesAreArrays) {
  const ir::Kernel kernel = test::through_a_table(3);
  const ParameterBlock parameters(kernel);
  ASSERT_EQ(parameters.bytes(), 3 * 8U + 3 * 4U);
  std::vector<std::byte> block(parameters.bytes());
  const std::vector<runtime::Argument> arguments{
      span_at(100, 0, 1), span_at(200, 0, 1), span_at(300, 0, 1), scalar(7), scalar(8), scalar(9)};
  EXPECT_EQ(parameters.fill(arguments, block.data()), ParameterBlock::Filled::aligned);
  EXPECT_EQ(at<std::uint64_t>(block, 16), 300U);
  EXPECT_EQ(at<std::uint32_t>(block, 24), 7U);
  EXPECT_EQ(at<std::uint32_t>(block, 32), 9U);
  EXPECT_GE(parameter_cost(kernel).bytes, parameters.bytes());
}

TEST(CudaSource, TablesAreReadWhereTheyLie) {
  const std::string code = source(test::through_a_table(64));
  EXPECT_THAT(code, HasSubstr("const __grid_constant__ salvo_table<float*, 64> x"));
  EXPECT_THAT(code, HasSubstr("const __grid_constant__ salvo_table<float, 64> scale"));
}

TEST(CudaSource, RestrictNeedsProof) {
  const ir::Kernel kernel = test::all_float_operations(Scalar::F32);
  EXPECT_THAT(source(kernel), testing::Not(HasSubstr("__restrict__")));
  EXPECT_THAT(source(kernel, 0), HasSubstr("const float* __restrict__ x"));
}

TEST(CudaSource, LoopsWhoseCounterMayWrapComputeTheirTripCountBeforehand) {
  const auto source_of = [](std::int32_t step, bool leaves, bool down = false) {
    Shapes k("strided");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), false);
    const auto n = k.scalar_parameter("n", Scalar::I32);
    const ir::ValueId loop =
        k.for_up(k.constant_i32(0), k.param(n), k.constant_i32(step), [&](ir::ValueId i) {
          k.store(x, i, i);
          if (leaves) k.statement(Op::Break);
        });
    if (down) k.kernel().nodes[loop].literal = 1;
    return source(k.finish());
  };
  EXPECT_THAT(source_of(256, false), HasSubstr("/ 256u + 1u;"));
  EXPECT_THAT(source_of(1, false), HasSubstr("++i)"));
  EXPECT_THAT(source_of(256, false, true),
              HasSubstr("(int)((unsigned int)first - round_ * 256u);"));
  EXPECT_THAT(source_of(1, false, true), HasSubstr("--i)"));
  // A Break leaves the loop around too.
  EXPECT_THAT(source_of(256, true), HasSubstr("for (int first = 0; !left && first < n;)"));
  EXPECT_THAT(source_of(256, true), HasSubstr("left = true;\n      break;"));
  EXPECT_THAT(source_of(1, true), testing::Not(HasSubstr("left")));
  // A step away from the limit: one round, then the counter wraps or stays short of it.
  EXPECT_THAT(source_of(-3, false), HasSubstr("const unsigned int rounds = 1u;"));
}

class NvrtcCompiler : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = nvrtc_.load(); !reason.empty()) GTEST_SKIP() << reason;
  }
  std::string compile(const std::string& code) {
    return nvrtc_.compile(
        code, "test.cu",
        {"--std=c++17", "--generate-line-info", "--gpu-architecture=sm_90", "--fmad=false"});
  }
  Nvrtc nvrtc_;
};

TEST_F(NvrtcCompiler, TakesAllOfTheIr) {
  if (nvrtc_.arch_for(90) != 90)
    GTEST_SKIP() << nvrtc_.shared_object_name() << " does not know sm_90";
  for (const ir::Kernel& kernel :
       {test::all_float_operations(Scalar::F32), test::all_float_operations(Scalar::F64),
        test::everything_else(), test::through_a_table(1), test::through_a_table(64)}) {
    try {
      EXPECT_TRUE(compile(source(kernel))
                      .starts_with("\x7f"
                                   "ELF"))
          << kernel.name;
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << error.log() << "\n" << source(kernel);
    }
  }
}

TEST_F(NvrtcCompiler, RefusalsCarryItsWords) {
  try {
    compile("this_is_no_program in_any_language;");
    FAIL() << "nonsense was compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::compile_failed);
    EXPECT_THAT(error.log(), HasSubstr("this_is_no_program"));
  }
}

TEST_F(NvrtcCompiler, ChoosesTheNewestArchitectureUpToTheDevices) {
  EXPECT_LE(nvrtc_.arch_for(90), 90);
  EXPECT_EQ(nvrtc_.arch_for(1), 0);
  EXPECT_GE(nvrtc_.arch_for(10'000), nvrtc_.arch_for(90));
}

}  // namespace
}  // namespace salvo::backends::cuda
