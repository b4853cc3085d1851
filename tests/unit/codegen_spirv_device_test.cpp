// Shaders use what a device has and nothing else: capabilities, memory models, float controls.
// SPDX-License-Identifier: MIT
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <spirv-tools/libspirv.hpp>

#include "codegen/spirv/emitter.hpp"
#include "salvo/error.hpp"
#include "unit/spirv_gallery.hpp"

namespace salvo::codegen::spirv {
namespace {

using test::control;
using test::dynamic_shared;
using test::Element;
using test::elementwise;
using test::float_arithmetic;
using test::nine_members;
using test::Op;
using test::Scalar;
using test::Shapes;
using test::ValueId;
using test::warps;

Options device(bool buffer_addresses, bool vulkan_memory_model) {
  Options options;
  options.buffer_addresses = buffer_addresses;
  options.vulkan_memory_model = vulkan_memory_model;
  return options;
}

/// Every combination of what a device may lack.
std::vector<Options> devices() {
  std::vector<Options> all;
  for (const bool addresses : {true, false}) {
    for (const bool model : {true, false}) all.push_back(device(addresses, model));
  }
  return all;
}

class Text {
 public:
  Text(const ir::Kernel& kernel, const Options& options) {
    const std::vector<std::uint32_t> words = emit(kernel, options).words;
    text_ = disassemble(words);
    spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_2);
    std::string said;
    tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                                 const char* message) { said += message; });
    spvtools::ValidatorOptions rules;
    rules.SetUniformBufferStandardLayout(true);
    EXPECT_TRUE(tools.Validate(words.data(), words.size(), rules)) << said << '\n' << text_;
  }
  bool has(const std::string& what) const { return text_.find(what) != std::string::npos; }
  bool can(const std::string& capability) const { return has("Capability " + capability + "\n"); }
  const std::string& all() const { return text_; }

 private:
  std::string text_;
};

TEST(SpirvDevice, TablesSharedMemoryAndWarpsAreValidOnEveryDevice) {
  for (const Options& options : devices()) {
    for (const Scalar type : {Scalar::F32, Scalar::F64}) {
      Text table(nine_members(type), options);
      Text shared(dynamic_shared(type), options);
      Text statements(control(), options);
    }
    Text lanes(warps(), options);
  }
}

TEST(SpirvDevice, WithoutAddressesSpansAreStorageBuffersThatMayAlias) {
  const Text with(float_arithmetic(Scalar::F32), device(true, true));
  EXPECT_TRUE(with.can("PhysicalStorageBufferAddressesEXT"));
  EXPECT_FALSE(with.has("DescriptorSet"));
  const Text without(float_arithmetic(Scalar::F32), device(false, true));
  EXPECT_FALSE(without.can("PhysicalStorageBufferAddressesEXT"));
  EXPECT_FALSE(without.has("ConvertUToPtr"));
  EXPECT_TRUE(without.has("MemoryModel Logical"));
  EXPECT_TRUE(without.has("DescriptorSet 1"));
  EXPECT_TRUE(without.has("Binding 1"));
  EXPECT_TRUE(without.has("Aliased"));
  EXPECT_TRUE(Text(nine_members(Scalar::F32), device(false, true))
                  .can("StorageBufferArrayDynamicIndexing"));
}

TEST(SpirvDevice, SharedAccessesFollowTheMemoryModelThatTheDeviceHas) {
  const Text with(control(), device(true, true));
  EXPECT_TRUE(with.can("VulkanMemoryModelKHR"));
  EXPECT_TRUE(with.has("NonPrivatePointer"));
  EXPECT_FALSE(with.has("Volatile"));
  const Text without(control(), device(true, false));
  EXPECT_TRUE(without.has("GLSL450"));
  EXPECT_FALSE(without.has("VulkanMemoryModel"));
  EXPECT_FALSE(without.has("NonPrivatePointer"));
  EXPECT_TRUE(without.has("Volatile"));
  // A kernel whose threads share nothing pays for neither.
  const Text apart(float_arithmetic(Scalar::F32), device(true, false));
  EXPECT_FALSE(apart.has("Volatile"));
}

TEST(SpirvDevice, NarrowTypesAskForTheirStorageAndNoMore) {
  const auto copy = [](Scalar type) {
    return Text(elementwise(type, [](Shapes&, ValueId x) { return x; }), {});
  };
  const Text bytes = copy(Scalar::I8);
  EXPECT_TRUE(bytes.can("StorageBuffer8BitAccess")) << bytes.all();
  EXPECT_FALSE(bytes.can("Int8"));
  const Text halves = copy(Scalar::F16);
  EXPECT_TRUE(halves.can("StorageUniformBufferBlock16")) << halves.all();
  EXPECT_FALSE(halves.can("Int16"));
  EXPECT_FALSE(halves.can("Float16")) << "arithmetic is in 32 bits";
  const Text words = copy(Scalar::F32);
  EXPECT_FALSE(words.has("8BitAccess"));
  EXPECT_FALSE(words.can("Float64"));
  EXPECT_TRUE(copy(Scalar::F64).can("Float64"));
}

TEST(SpirvDevice, NarrowSharedMemoryAsksForNarrowIntegers) {
  Shapes k("narrow");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::I32), false);
  const auto bytes = k.shared_array("bytes", Element::scalar(Scalar::I8), 64);
  const auto halves = k.shared_array("halves", Element::scalar(Scalar::U16), 64);
  const ValueId i = k.position(Op::ThreadIdx, 0);
  k.store(bytes, i, k.load(x, i));
  k.store(halves, i, k.load(x, i));
  k.statement(Op::Barrier);
  k.store(x, i, k.op(Op::Add, {k.load(bytes, i), k.cast(Scalar::I32, k.load(halves, i))}));
  const ir::Kernel kernel = k.finish();
  const Text text(kernel, {});
  EXPECT_TRUE(text.can("Int8"));
  EXPECT_TRUE(text.can("Int16"));
  Options without;
  without.small_shared = false;
  EXPECT_THROW(emit(kernel, without), Error);
}

ir::Kernel adding(Scalar type) {
  Shapes k("adding");
  const auto x = k.span_parameter("x", Element::scalar(type), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.atomic(Op::AtomicAdd, x, {i, k.load(x, i)});
  return k.finish();
}

TEST(SpirvDevice, AtomicsAskForTheirWidth) {
  const Text words(adding(Scalar::I32), {});
  EXPECT_TRUE(words.has("AtomicIAdd"));
  EXPECT_FALSE(words.can("Int64Atomics"));
  EXPECT_TRUE(Text(adding(Scalar::U64), {}).can("Int64Atomics"));
  const Text loop(adding(Scalar::F32), {});
  EXPECT_TRUE(loop.has("AtomicCompareExchange"));
  Options native;
  native.float_atomics = true;
  const Text instruction(adding(Scalar::F32), native);
  EXPECT_TRUE(instruction.has("SPV_EXT_shader_atomic_float_add"));
  EXPECT_FALSE(instruction.has("AtomicCompareExchange"));
}

TEST(SpirvDevice, WarpOperationsAskForTheirKindOfSubgroup) {
  const Text text(warps(), {});
  for (const char* kind : {"GroupNonUniform", "GroupNonUniformBallot", "GroupNonUniformShuffle"}) {
    EXPECT_TRUE(text.can(kind)) << kind;
  }
  EXPECT_FALSE(Text(float_arithmetic(Scalar::F32), {}).has("GroupNonUniform"));
}

TEST(SpirvDevice, FloatControlsAreAskedForWhereTheDeviceHasThem) {
  const std::array modes{"DenormPreserve", "SignedZeroInfNanPreserve", "RoundingModeRTE"};
  const Text without(float_arithmetic(Scalar::F64), {});
  for (const char* mode : modes) EXPECT_FALSE(without.has(mode)) << mode;
  Options narrow;
  narrow.f32 = {true, true, true};
  const Text some(float_arithmetic(Scalar::F64), narrow);
  for (const std::string mode : modes) {
    EXPECT_TRUE(some.can(mode)) << mode;
    EXPECT_TRUE(some.has(mode + " 32")) << mode;
    EXPECT_FALSE(some.has(mode + " 64")) << mode;
  }
}

}  // namespace
}  // namespace salvo::codegen::spirv
