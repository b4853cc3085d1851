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
#include "unit/kernel_shapes.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;

constexpr Options kAll{.f32 = {true, true, true},
                       .f64 = {true, true, true},
                       .fma_rounds_once = true,
                       .float_atomics = true};

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

/// y[i] = body(x[i]), in a kernel with a barrier and control around it.
ir::Kernel elementwise(Scalar stored, const std::function<ValueId(Shapes&, ValueId)>& body) {
  Shapes k("elementwise");
  const auto x = k.span_parameter("x", Element::scalar(stored), true);
  const auto y = k.span_parameter("y", Element::scalar(stored), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId inside = k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(y)});
  k.if_else(inside, [&] { k.store(y, i, body(k, k.load(x, i))); });
  return k.finish();
}

ir::Kernel float_arithmetic(Scalar type) {
  return elementwise(type, [](Shapes& k, ValueId x) {
    ValueId value = x;
    for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div}) value = k.op(op, {value, x});
    value = k.op(Op::Neg, {value});
    return k.op(Op::Fma, {value, x, x});
  });
}

ir::Kernel control() {
  Shapes k("control");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::I32), false);
  const auto shared = k.shared_array("tile", Element::scalar(Scalar::I32), 64);
  const auto local = k.local_array("mine", Element::scalar(Scalar::I8), 4);
  const ValueId thread = k.position(Op::ThreadIdx, 0);
  const auto sum = k.variable("sum", Scalar::I32);
  k.var_set(sum, k.constant_i32(0));
  k.store(shared, thread, k.load(x, thread));
  k.statement(Op::Barrier);
  k.for_up(k.constant_i32(0), k.constant_i32(4), k.constant_i32(1), [&](ValueId i) {
    k.store(local, i, i);
    k.if_else(k.op(Op::Eq, {i, k.constant_i32(2)}), [&] { k.statement(Op::Continue); });
    k.switch_on(
        i, {0, 1},
        {[&] { k.var_set(sum, k.load(local, i)); }, [&] { k.statement(Op::Break); }, nullptr});
  });
  k.while_loop(
      [&] {
        return k.op(Op::Lt, {k.var_get(sum), k.constant_i32(9)});
      },
      [&] {
        k.var_set(sum, k.op(Op::Add, {k.var_get(sum), k.constant_i32(2)}));
        k.if_else(
            k.op(Op::Gt, {k.var_get(sum), k.constant_i32(7)}), [&] { k.statement(Op::Return); },
            [&] { k.statement(Op::Break); });
      });
  k.atomic(Op::AtomicAdd, x, {thread, k.var_get(sum)});
  return k.finish();
}

std::vector<ir::Kernel> gallery() {
  std::vector<ir::Kernel> all{control()};
  for (Scalar type :
       {Scalar::Bool, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32, Scalar::U32,
        Scalar::I64, Scalar::U64, Scalar::F16, Scalar::BF16, Scalar::F32, Scalar::F64}) {
    all.push_back(elementwise(type, [](Shapes&, ValueId x) { return x; }));
  }
  for (Scalar type : {Scalar::F32, Scalar::F64}) all.push_back(float_arithmetic(type));
  for (Op op : {Op::Sin, Op::Cos, Op::Tan, Op::Asin, Op::Atan, Op::Sinh, Op::Tanh, Op::Exp,
                Op::Expm1, Op::Log, Op::Log1p, Op::Cbrt, Op::Rsqrt, Op::Sqrt, Op::Round}) {
    all.push_back(elementwise(Scalar::F32, [op](Shapes& k, ValueId x) { return k.op(op, {x}); }));
  }
  for (Op op : {Op::Pow, Op::Atan2, Op::Hypot, Op::Fmod, Op::Copysign, Op::Min, Op::Max}) {
    all.push_back(elementwise(Scalar::F32, [op](Shapes& k, ValueId x) {
      return k.op(op, {x, x});
    }));
  }
  return all;
}

TEST(Spirv, EveryModuleOfTheGalleryIsValid) {
  for (const ir::Kernel& kernel : gallery()) {
    for (const Options& options : {Options{}, kAll}) {
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

TEST(Spirv, MathOnF64IsRefusedByName) {
  const ir::Kernel kernel =
      elementwise(Scalar::F64, [](Shapes& k, ValueId x) { return k.op(Op::Sin, {x}); });
  try {
    emit(kernel, {});
    FAIL() << "sin on f64 was emitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_NE(error.message().find("sin on f64"), std::string::npos) << error.what();
  }
}

TEST(Spirv, SourceIsTheDisassembly) {
  const std::string text = source(float_arithmetic(Scalar::F32), "Vulkan");
  EXPECT_NE(text.find("NoContraction"), std::string::npos);
  EXPECT_NE(text.find("PhysicalStorageBuffer"), std::string::npos);
}

}  // namespace
}  // namespace salvo::codegen::spirv
