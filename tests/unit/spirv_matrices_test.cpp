// Cooperative matrices in SPIR-V. The validator at hand may be older than their extension: what the
// specification asks of the instructions is read from the words.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/spirv/emitter.hpp"
#include "salvo/error.hpp"
#include "unit/matrix_kernels.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::MatrixLayout;
using ir::Scalar;
using testing::ElementsAre;

constexpr CooperativeMatrixShape kUsual{16, 16, 16, Scalar::F16, Scalar::F32};

// Numbers of the specification: core, then SPV_KHR_cooperative_matrix.
enum Opcode : std::uint32_t {
  kExtension = 10,
  kCapability = 17,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypePointer = 32,
  kConstant = 43,
  kAccessChain = 65,
  kTypeMatrix = 4456,
  kLoad = 4457,
  kStore = 4458,
  kMultiplyAdd = 4459,
};
constexpr std::uint32_t kAligned = 2;

struct Instruction {
  std::uint32_t opcode;
  std::vector<std::uint32_t> operands;  // with result type and result
};

class Parsed {
 public:
  Parsed(const ir::Kernel& kernel, const Options& options) {
    const std::vector<std::uint32_t> words = emit(kernel, options).words;
    for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
      instructions.push_back(
          {words[at] & 0xffff,
           {words.begin() + static_cast<std::ptrdiff_t>(at) + 1,
            words.begin() + static_cast<std::ptrdiff_t>(at + (words[at] >> 16))}});
    }
  }

  std::vector<Instruction> all(Opcode opcode) const {
    std::vector<Instruction> found;
    std::ranges::copy_if(instructions, std::back_inserter(found),
                         [&](const Instruction& one) { return one.opcode == opcode; });
    return found;
  }
  /// The instruction whose result, its second operand, is `id`.
  Instruction maker(std::uint32_t id) const {
    for (const Instruction& one : instructions) {
      const std::size_t where = one.opcode == kTypePointer || one.opcode == kTypeInt ? 0 : 1;
      if (one.operands.size() > where && one.operands[where] == id &&
          (one.opcode == kAccessChain || one.opcode == kConstant || where == 0)) {
        return one;
      }
    }
    return {0, {}};
  }
  std::uint32_t constant(std::uint32_t id) const { return maker(id).operands.at(2); }
  /// Bits of the integers that a pointer, which is an access chain, points to.
  std::uint32_t pointee_bits(std::uint32_t pointer) const {
    const Instruction chain = maker(pointer);
    EXPECT_EQ(chain.opcode, kAccessChain);
    return maker(maker(chain.operands.at(0)).operands.at(2)).operands.at(1);
  }

  std::vector<Instruction> instructions;
};

TEST(SpirvMatrices, TypesNameTheSubgroupTheShapeAndTheUse) {
  const Parsed module(test::matrix_product({16, 8, 32, Scalar::F16, Scalar::F32}), {});
  std::vector<std::vector<std::uint32_t>> types;
  for (const Instruction& type : module.all(kTypeMatrix)) {
    std::vector<std::uint32_t> words;
    for (std::size_t i = 2; i < 6; ++i) words.push_back(module.constant(type.operands.at(i)));
    types.push_back(words);
  }
  EXPECT_THAT(types, ElementsAre(ElementsAre(3, 16, 32, 0), ElementsAre(3, 32, 8, 1),
                                 ElementsAre(3, 16, 8, 2)));
  const auto capabilities = module.all(kCapability);
  for (const std::uint32_t needed : {6022U, 9U, 5345U}) {  // matrices, Float16, VulkanMemoryModel
    EXPECT_TRUE(std::ranges::any_of(capabilities, [&](const Instruction& one) {
      return one.operands.at(0) == needed;
    })) << needed;
  }
}

TEST(SpirvMatrices, LoadsAndStoresPointIntoArraysAndStateTheirAlignment) {
  for (const bool addresses : {true, false}) {
    Options options;
    options.buffer_addresses = addresses;
    const Parsed module(test::matrix_product(kUsual, {.b = MatrixLayout::column_major}), options);
    std::vector<std::uint32_t> layouts, bits;
    for (const Instruction& load : module.all(kLoad)) {
      bits.push_back(module.pointee_bits(load.operands.at(2)));
      layouts.push_back(module.constant(load.operands.at(3)));
      EXPECT_EQ(module.constant(load.operands.at(4)), 16U);
      ASSERT_EQ(load.operands.size(), 7U);
      EXPECT_EQ(load.operands[5] & kAligned, kAligned);
      EXPECT_EQ(load.operands[6], 32U);
    }
    EXPECT_THAT(bits, ElementsAre(16, 16, 32));
    EXPECT_THAT(layouts, ElementsAre(0, 1, 0));
    const auto stores = module.all(kStore);
    ASSERT_EQ(stores.size(), 1U);
    EXPECT_EQ(module.pointee_bits(stores[0].operands.at(0)), 32U);
    EXPECT_EQ(module.constant(stores[0].operands.at(3)), 16U);
    EXPECT_EQ(module.all(kMultiplyAdd).size(), 1U);
    EXPECT_EQ(module.all(kMultiplyAdd)[0].operands.size(), 5U);
  }
}

TEST(SpirvMatrices, SharedArraysAndFillsHaveThem) {
  const Parsed shared(test::matrix_product(kUsual, {.through_shared = true}), {});
  EXPECT_EQ(shared.pointee_bits(shared.all(kLoad).at(0).operands.at(2)), 16U);
  const Parsed filled(test::filled_product(kUsual), {});
  EXPECT_EQ(filled.all(kMultiplyAdd).size(), 2U);
  EXPECT_EQ(filled.all(kLoad).size(), 0U);
}

TEST(SpirvMatrices, BrainFloatsAndKernelsAreRefusedByName) {
  const auto message = [](const CooperativeMatrixShape& shape, Flavour flavour) {
    Options options;
    options.flavour = flavour;
    try {
      emit(test::matrix_product(shape), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported);
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message({16, 16, 16, Scalar::BF16, Scalar::F32}, Flavour::shader),
            "cooperative matrices of bf16");
  EXPECT_EQ(message(kUsual, Flavour::kernel), "LevelZero has no cooperative matrices");
}

TEST(SpirvMatrices, TheTextIsPrintedWithoutThem) {
  const std::string text = disassemble(emit(test::matrix_product(kUsual), {}).words);
  EXPECT_NE(text.find("SPV_KHR_cooperative_matrix"), std::string::npos);
}

}  // namespace
}  // namespace salvo::codegen::spirv
