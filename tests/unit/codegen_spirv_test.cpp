// The SPIR-V that kernels become: valid, and never to be contracted.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <spirv-tools/libspirv.hpp>

#include "codegen/spirv/emitter.hpp"
#include "codegen/target.hpp"
#include "salvo/error.hpp"
#include "unit/spirv_gallery.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::elementwise;
using test::float_arithmetic;
using test::gallery;
using test::Shapes;

constexpr Options kAll{.f32 = {true, true, true},
                       .f64 = {true, true, true},
                       .fma_rounds_once = true,
                       .float_atomics = true};
constexpr Options kOnlyTables{.push_constant_bytes = 0, .push_constant_room = 0};
constexpr Options kStorageBuffers{.buffer_addresses = false};
constexpr Options kOldMemoryModel{.vulkan_memory_model = false};
constexpr Options kOld{.buffer_addresses = false, .vulkan_memory_model = false};

/// What the validator of Khronos objects to in the module; empty if nothing.
std::string invalid(const std::vector<std::uint32_t>& words) {
  std::string said;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
  tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                               const char* message) { said += std::string(message) + "\n"; });
  spvtools::ValidatorOptions options;
  options.SetUniformBufferStandardLayout(true);
  return tools.Validate(words.data(), words.size(), options) ? "" : said + disassemble(words);
}

TEST(Spirv, EveryModuleOfTheGalleryIsValid) {
  for (const ir::Kernel& kernel : gallery()) {
    for (const Options& options :
         {Options{}, kAll, kOnlyTables, kStorageBuffers, kOldMemoryModel, kOld}) {
      EXPECT_EQ(invalid(emit(kernel, options).words), "");
    }
  }
}

struct Arithmetic {
  std::size_t instructions = 0;
  std::size_t kept_apart = 0;  // marked NoContraction
};

Arithmetic arithmetic_of(const std::vector<std::uint32_t>& words) {
  constexpr std::uint32_t kHead = 5;
  constexpr std::uint32_t kDecorate = 71, kNoContraction = 42, kExtInst = 12, kFma = 50;
  const std::set<std::uint32_t> operations{127, 129, 131, 133, 136};  // FNegate, FAdd .. FDiv
  std::set<std::uint32_t> decorated;
  Arithmetic found;
  for (std::size_t at = kHead; at < words.size(); at += words[at] >> 16) {
    const std::uint32_t op = words[at] & 0xffff;
    if (op == kDecorate && words[at + 2] == kNoContraction) decorated.insert(words[at + 1]);
    if (operations.count(op) == 0 && !(op == kExtInst && words[at + 4] == kFma)) continue;
    ++found.instructions;
    found.kept_apart += decorated.count(words[at + 2]);
  }
  return found;
}

TEST(Spirv, EveryArithmeticResultIsMarkedNoContraction) {
  for (const ir::Kernel& kernel : gallery()) {
    const Arithmetic found = arithmetic_of(emit(kernel, kAll).words);
    EXPECT_EQ(found.kept_apart, found.instructions) << kernel.name;
  }
  EXPECT_EQ(arithmetic_of(emit(float_arithmetic(Scalar::F64), kAll).words).instructions, 6u);
}

TEST(Spirv, ModeDeviceLeavesContractionToTheDriver) {
  Options options = kAll;
  options.contraction = true;
  const Arithmetic found = arithmetic_of(emit(float_arithmetic(Scalar::F64), options).words);
  EXPECT_EQ(found.instructions, 6u);
  EXPECT_EQ(found.kept_apart, 0u);
}

TEST(Spirv, TwiceANumberIsASum) {
  const ir::Kernel kernel = elementwise(Scalar::F32, [](Shapes& k, ValueId x) {
    return k.op(Op::Mul, {x, k.constant(Scalar::F32, std::bit_cast<std::uint32_t>(2.0f))});
  });
  const std::string text = disassemble(emit(kernel, {}).words);
  EXPECT_NE(text.find("FAdd"), std::string::npos);
  EXPECT_EQ(text.find("FMul"), std::string::npos);
}

TEST(Spirv, RoundsAreCountedBeforehandWhereACounterMayWrap) {
  const auto loops = [](std::uint64_t step) {
    const std::string text = disassemble(emit(test::strided(Scalar::I32, step, false), {}).words);
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find("LoopMerge", at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(text.find("UDiv") != std::string::npos, found == 2);
    return found;
  };
  EXPECT_EQ(loops(1), 1u);
  EXPECT_EQ(loops(2), 2u);
  EXPECT_EQ(loops(0), 2u) << "a step that is not known";
}

TEST(Spirv, FunctionsOfF64AreWrittenOut) {
  for (const Op op : {Op::Sin, Op::Exp, Op::Log1p, Op::Cbrt}) {
    const ir::Kernel kernel =
        elementwise(Scalar::F64, [&](Shapes& k, ValueId x) { return k.op(op, {x}); });
    for (const Options& options : {Options{}, kAll}) {
      const std::vector<std::uint32_t> words = emit(kernel, options).words;
      EXPECT_EQ(invalid(words), "") << ir::name(op);
      const Arithmetic found = arithmetic_of(words);
      EXPECT_GT(found.instructions, 10u) << ir::name(op);
      EXPECT_EQ(found.kept_apart, found.instructions) << ir::name(op);
      EXPECT_EQ(disassemble(words).find(ir::name(op)), std::string::npos) << ir::name(op);
    }
  }
}

TEST(Spirv, F64IsRefusedByNameWhereTheDeviceLacksIt) {
  const ir::Kernel kernel =
      elementwise(Scalar::F64, [](Shapes& k, ValueId x) { return k.op(Op::Sin, {x}); });
  try {
    emit(kernel, {.f64_arithmetic = false});
    FAIL() << "f64 was emitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_NE(error.message().find("f64 arithmetic"), std::string::npos) << error.what();
  }
}

TEST(Spirv, SourceIsTheDisassembly) {
  const std::string text = source(float_arithmetic(Scalar::F32), "Vulkan");
  EXPECT_NE(text.find("NoContraction"), std::string::npos);
  EXPECT_NE(text.find("PhysicalStorageBuffer"), std::string::npos);
}

}  // namespace
}  // namespace salvo::codegen::spirv
