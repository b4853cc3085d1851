// The OpenCL kernels that the SPIR-V emitter makes: valid, and with contraction off as a whole.
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spirv-tools/libspirv.hpp>

#include "codegen/spirv/emitter.hpp"
#include "codegen/spirv/flavour.hpp"
#include "codegen/target.hpp"
#include "salvo/error.hpp"
#include "temporary_folder.hpp"
#include "unit/spirv_gallery.hpp"

namespace salvo::codegen::spirv {
namespace {

using test::control;
using test::dynamic_shared;
using test::Element;
using test::elementwise;
using test::float_arithmetic;
using test::gallery;
using test::nine_members;
using test::Op;
using test::Scalar;
using test::Shapes;
using test::ValueId;
using test::warps;

constexpr Options kKernel{.f32 = {},
                          .f64 = {},
                          .fma_rounds_once = true,
                          .exact_divide_sqrt = true,
                          .flavour = Flavour::kernel};

/// What the validator of Khronos objects to in the module; empty if nothing.
std::string invalid(const std::vector<std::uint32_t>& words, spv_target_env environment) {
  std::string said;
  spvtools::SpirvTools tools(environment);
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                               const char* message) { said += std::string(message) + "\n"; });
  return tools.Validate(words.data(), words.size()) ? "" : said + disassemble(words);
}

/// Number of instructions with this opcode, and with this first operand if one is given.
int count(const std::vector<std::uint32_t>& words, std::uint32_t op, int operand = -1,
          std::size_t position = 1) {
  constexpr std::size_t kHead = 5;
  int found = 0;
  for (std::size_t at = kHead; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) != op) continue;
    if (operand < 0 || words[at + position] == static_cast<std::uint32_t>(operand)) ++found;
  }
  return found;
}

constexpr std::uint32_t kCapability = 17, kExecutionMode = 16, kDecorate = 71, kParameter = 55;
constexpr int kContractionOff = 31, kNoContraction = 42, kFuncParamAttr = 38, kSubgroupSize = 35;

TEST(SpirvKernel, EveryModuleOfTheGalleryIsValidFromOpenCl20On) {
  for (const ir::Kernel& kernel : gallery()) {
    for (bool exact : {true, false}) {
      Options options = kKernel;
      options.fma_rounds_once = options.exact_divide_sqrt = exact;
      EXPECT_EQ(invalid(emit(kernel, options).words, SPV_ENV_OPENCL_2_0), "");
    }
  }
}

TEST(SpirvKernel, ContractionIsOffForTheEntryPointAndNowhereElse) {
  const auto words = emit(float_arithmetic(Scalar::F64), kKernel).words;
  EXPECT_EQ(count(words, kExecutionMode, kContractionOff, 2), 1);
  EXPECT_EQ(count(words, kDecorate, kNoContraction, 2), 0);
  Options device = kKernel;
  device.contraction = true;
  EXPECT_EQ(count(emit(float_arithmetic(Scalar::F64), device).words, kExecutionMode), 0);
}

TEST(SpirvKernel, LibraryFunctionsAreThoseOfOpenCl) {
  for (Op op : {Op::Sin, Op::Exp, Op::Fmod, Op::Hypot, Op::Pow, Op::Round}) {
    const ir::Kernel kernel = elementwise(Scalar::F64, [op](Shapes& k, ValueId x) {
      return op == Op::Sin || op == Op::Exp || op == Op::Round ? k.op(op, {x}) : k.op(op, {x, x});
    });
    const auto words = emit(kernel, kKernel).words;
    constexpr std::uint32_t kExtInst = 12;
    EXPECT_EQ(count(words, kExtInst, extended_instruction(Flavour::kernel, op), 4), 1)
        << ir::name(op);
    EXPECT_EQ(invalid(words, SPV_ENV_OPENCL_2_0), "");
  }
}

TEST(SpirvKernel, EachArgumentIsAParameterAndLengthsOnlyWhereTheyAreRead) {
  // elementwise reads the length of y and not of x
  const ir::Kernel kernel = elementwise(Scalar::F32, [](Shapes&, ValueId x) { return x; });
  EXPECT_EQ(count(emit(kernel, kKernel).words, kParameter), 3);
  const EntryLayout entry = lay_out_entry(kernel);
  ASSERT_EQ(entry.arguments.size(), 3u);
  EXPECT_EQ(entry.arguments[0].kind, EntryArgument::Kind::span);
  EXPECT_EQ(entry.arguments[1].kind, EntryArgument::Kind::span);
  EXPECT_EQ(entry.arguments[2].kind, EntryArgument::Kind::length);
  EXPECT_EQ(entry.arguments[2].parameter, 1u);
}

TEST(SpirvKernel, SpansThatNothingOverlapsAreMarkedSo) {
  const ir::Kernel kernel = elementwise(Scalar::F32, [](Shapes&, ValueId x) { return x; });
  EXPECT_EQ(count(emit(kernel, kKernel).words, kDecorate, kFuncParamAttr, 2), 0);
  Options apart = kKernel;
  apart.may_alias = 0b10;
  EXPECT_EQ(count(emit(kernel, apart).words, kDecorate, kFuncParamAttr, 2), 1);
  apart.may_alias = 0;
  EXPECT_EQ(count(emit(kernel, apart).words, kDecorate, kFuncParamAttr, 2), 2);
}

TEST(SpirvKernel, ATableOfArgumentsIsOneStructureByValue) {
  const ir::Kernel fused = nine_members(Scalar::F64);
  const auto words = emit(fused, kKernel).words;
  EXPECT_EQ(invalid(words, SPV_ENV_OPENCL_2_0), "");
  EXPECT_EQ(count(words, kParameter), 1);
  const EntryLayout entry = lay_out_entry(fused);
  ASSERT_EQ(entry.arguments.size(), 1u);
  EXPECT_EQ(entry.arguments[0].kind, EntryArgument::Kind::table);
  EXPECT_EQ(entry.arguments[0].bytes % 8, 0u);
  EXPECT_GE(entry.arguments[0].bytes, 9 * (8u + 8u + 4u));
}

TEST(SpirvKernel, DynamicSharedMemoryIsTheLastParameter) {
  const ir::Kernel kernel = dynamic_shared(Scalar::F64);
  EXPECT_EQ(invalid(emit(kernel, kKernel).words, SPV_ENV_OPENCL_2_0), "");
  EXPECT_EQ(lay_out_entry(kernel).arguments.back().kind, EntryArgument::Kind::dynamic_shared);
}

TEST(SpirvKernel, WarpOperationsFixTheWidthOfWarps) {
  const auto words = emit(warps(), kKernel).words;
  EXPECT_EQ(invalid(words, SPV_ENV_UNIVERSAL_1_3), "");
  EXPECT_EQ(count(words, kExecutionMode, kSubgroupSize, 2), 1);
  EXPECT_GT(count(words, kCapability), 5);
}

/// Intel's offline compiler, in the path or where SALVO_OCLOC says; its words if it refuses.
std::string compile_for_intel(const std::vector<std::uint32_t>& words, const std::string& device) {
  const char* told = std::getenv("SALVO_OCLOC");
  const tests::TemporaryFolder folder;
  const std::filesystem::path module = folder.path() / "module.spv";
  const std::filesystem::path log = folder.path() / "log";
  std::ofstream(module, std::ios::binary)
      .write(reinterpret_cast<const char*>(words.data()),
             static_cast<std::streamsize>(words.size() * sizeof(words[0])));
  const std::string command = fmt::format(
      "{} compile -spirv_input -file {} -device {} -out_dir {} -options "
      "\"-cl-fp32-correctly-rounded-divide-sqrt\" > {} 2>&1",
      told ? told : "ocloc", module.string(), device, folder.path().string(), log.string());
  if (std::system(command.c_str()) == 0) return {};
  std::ifstream words_of(log);
  return "refused: " + std::string(std::istreambuf_iterator<char>(words_of), {});
}

TEST(SpirvKernel, EveryModuleOfTheGalleryCompilesForIntelsDevices) {
  if (std::system("${SALVO_OCLOC:-ocloc} --help > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "ocloc is not installed";
  }
  std::vector<ir::Kernel> kernels = gallery();
  kernels.insert(kernels.end(), {nine_members(Scalar::I64), dynamic_shared(Scalar::F32), warps()});
  for (const ir::Kernel& kernel : kernels) {
    EXPECT_EQ(compile_for_intel(emit(kernel, kKernel).words, "pvc"), "");
    Options single = kKernel;
    single.f64_arithmetic = false;  // dg2 has none
    std::vector<std::uint32_t> words;
    try {
      words = emit(kernel, single).words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported);
      continue;
    }
    EXPECT_EQ(compile_for_intel(words, "dg2"), "");
  }
}

TEST(SpirvKernel, SourceIsTheDisassembly) {
  const std::string text = source(float_arithmetic(Scalar::F32), "LevelZero");
  EXPECT_NE(text.find("ContractionOff"), std::string::npos);
  EXPECT_NE(text.find("Physical64"), std::string::npos);
}

}  // namespace
}  // namespace salvo::codegen::spirv
