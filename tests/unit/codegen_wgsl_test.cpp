// The WGSL that kernels are printed as, what it refuses, and the backend that says why it is
// missing.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/webgpu/webgpu_backend.hpp"
#include "codegen/target.hpp"
#include "codegen/wgsl/layout.hpp"
#include "passes/contract.hpp"
#include "salvo/error.hpp"
#include "salvo/salvo.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::codegen {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;
using testing::HasSubstr;
using testing::Not;

std::string wgsl(const ir::Kernel& kernel) {
  return source(kernel, "WebGPU");
}

/// What the printer says against the kernel.
std::string refusal(const ir::Kernel& kernel) {
  try {
    wgsl(kernel);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.backend(), "WebGPU");
    return error.message();
  }
  ADD_FAILURE() << kernel.name << " was printed";
  return {};
}

/// Stores `make` of x[i] and y[i] to y[i].
template <typename Make>
ir::Kernel binary(Scalar type, Make make) {
  Shapes k("binary");
  const auto x = k.span_parameter("x", Element::scalar(type), true);
  const auto y = k.span_parameter("y", Element::scalar(type), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId a = k.load(x, i);
  const ValueId b = k.load(y, i);
  k.store(y, i, make(k, a, b));
  return k.finish();
}

TEST(Wgsl, IsReadableAndComplete) {
  Shapes k("saxpy");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), true);
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const auto a = k.scalar_parameter("a", Scalar::F32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId inside = k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(y)});
  k.if_else(inside, [&] {
    const ValueId product = k.op(Op::Mul, {k.load(x, i), k.param(a)});
    k.store(y, i, k.op(Op::Add, {product, k.load(y, i)}));
  });
  EXPECT_EQ(wgsl(k.finish()),
            R"(@id(0) override block_dim_x: u32 = 64u;
@id(1) override block_dim_y: u32 = 1u;
@id(2) override block_dim_z: u32 = 1u;

@group(0) @binding(0) var<uniform> arguments: array<vec4<u32>, 2>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(block_dim_x, block_dim_y, block_dim_z)
fn saxpy(
    @builtin(global_invocation_id) global_idx: vec3<u32>) {
  let x_first = arguments[0].x;
  let y_first = arguments[0].z;
  let y_length = i32(arguments[0].w);
  let a = bitcast<f32>(arguments[1].x);
  let global_idx_x = i32(global_idx.x);
  let v1 = i32(global_idx_x);
  let v2 = v1 < y_length;
  if (v2) {
    let v3 = x[x_first + u32(global_idx_x)];
    let v4 = v3 * a;
    let v5 = y[y_first + u32(global_idx_x)];
    let v6 = v4 + v5;
    y[y_first + u32(global_idx_x)] = v6;
  }
}
)");
}

TEST(Wgsl, K1_TypesItLacksAreRefusedByNameWithTheReason) {
  const auto add = [](Shapes& k, ValueId a, ValueId b) { return k.op(Op::Add, {a, b}); };
  EXPECT_EQ(refusal(binary(Scalar::F64, add)),
            "WGSL has no f64: its floats have 32 bits at the most");
  EXPECT_EQ(refusal(binary(Scalar::I64, add)), "WGSL has no i64: its integers have 32 bits");
  EXPECT_EQ(refusal(binary(Scalar::U64, add)), "WGSL has no u64: its integers have 32 bits");
  for (const Scalar narrow :
       {Scalar::Bool, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::BF16}) {
    const auto keep = [](Shapes&, ValueId a, ValueId) { return a; };
    EXPECT_EQ(refusal(binary(narrow, keep)),
              std::string("WGSL has no ") + std::string(ir::name(narrow)) +
                  " in a vector: what threads write side by side must be words of 32 bits, or f16");
  }
}

TEST(Wgsl, K1_HalvesNeedTheExtension) {
  const auto add = [](Shapes& k, ValueId a, ValueId b) { return k.op(Op::Add, {a, b}); };
  const std::string text = wgsl(binary(Scalar::F16, add));
  EXPECT_THAT(text, testing::StartsWith("enable f16;\n"));
  EXPECT_THAT(text, HasSubstr("x: array<f16>;"));
  EXPECT_THAT(text, HasSubstr("= f32(x[x_first + u32(global_idx_x)]);"));
  EXPECT_THAT(text, HasSubstr("y[y_first + u32(global_idx_x)] = f16(v3);"));
}

TEST(Wgsl, K3_DivisionAndShiftsAreDefined) {
  const auto divide = [](Shapes& k, ValueId a, ValueId b) { return k.op(Op::Div, {a, b}); };
  const auto remainder = [](Shapes& k, ValueId a, ValueId b) { return k.op(Op::Rem, {a, b}); };
  const auto shift = [](Shapes& k, ValueId a, ValueId b) { return k.op(Op::Shl, {a, b}); };
  const auto logical = [](Shapes& k, ValueId a, ValueId b) { return k.op(Op::ShrLogical, {a, b}); };
  EXPECT_THAT(wgsl(binary(Scalar::I32, divide)), HasSubstr("salvo_div_i32(v1, v2)"));
  EXPECT_THAT(wgsl(binary(Scalar::U32, remainder)), HasSubstr("salvo_rem_u32(v1, v2)"));
  EXPECT_THAT(wgsl(binary(Scalar::I32, shift)), HasSubstr("v1 << (u32(v2) & 31u)"));
  EXPECT_THAT(wgsl(binary(Scalar::I32, logical)), HasSubstr("i32(u32(v1) >> (u32(v2) & 31u))"));
}

TEST(Wgsl, ConstantsAreNotWorkedOutByTheCompiler) {
  Shapes k("constants");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId zero = k.constant(Scalar::F32, 0);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.op(Op::Div, {k.constant(Scalar::F32, 0x7f7fffff), zero}));
  EXPECT_THAT(wgsl(k.finish()), HasSubstr("salvo_runtime_f32(salvo_float(0x7f7fffffu)) / 0f"));
}

TEST(Wgsl, K8_MemoryOfAtomicsIsAtomicForAllAccesses) {
  Shapes k("count");
  const auto sum = k.span_parameter("sum", Element::scalar(Scalar::F32), false);
  const auto seen = k.span_parameter("seen", Element::scalar(Scalar::U32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId was = k.load(sum, i);
  k.atomic(Op::AtomicAdd, sum, {i, was});
  k.atomic(Op::AtomicCompareExchange, seen,
           {i, k.constant(Scalar::U32, 1), k.constant(Scalar::U32, 2)});
  const std::string text = wgsl(k.finish());
  EXPECT_THAT(text, HasSubstr("sum: array<atomic<u32>>;"));
  EXPECT_THAT(text, HasSubstr("bitcast<f32>(atomicLoad(&sum[sum_first + u32(global_idx_x)]))"));
  EXPECT_THAT(text, HasSubstr("atomicCompareExchangeWeak(&sum[sum_first + u32(global_idx_x)], "
                              "salvo_seen, salvo_made).exchanged"));
  EXPECT_THAT(text, HasSubstr("seen: array<atomic<u32>>;"));
}

TEST(Wgsl, K6_BarriersAreBothKindsAndFencesAreRefused) {
  Shapes k("wait");
  const auto tile = k.shared_array("tile", Element::scalar(Scalar::I32), 32);
  const ValueId i = k.position(Op::ThreadIdx, 0);
  k.store(tile, i, i);
  k.append(test::make_node(Op::Barrier, Scalar::I32, {}));
  const std::string text = wgsl(k.finish());
  EXPECT_THAT(text, HasSubstr("var<workgroup> tile: array<i32, 32>;"));
  EXPECT_THAT(text, HasSubstr("  workgroupBarrier();\n  storageBarrier();\n"));
  Shapes fenced("fenced");
  fenced.append(test::make_node(Op::Fence, Scalar::I32, {}));
  EXPECT_THAT(refusal(fenced.finish()), HasSubstr("WGSL has no memory fence: "));
}

TEST(Wgsl, K10_WarpOperationsAreRefused) {
  Shapes k("lanes");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::I32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.append(test::make_node(Op::WarpAdd, Scalar::I32, {i})));
  EXPECT_THAT(refusal(k.finish()), HasSubstr("WGSL has no warp operations: "));
}

TEST(Wgsl, K1_RecordsHaveTheHostsLayout) {
  Shapes k("records");
  const Element record{"particle", 32, 16, {{"mass", Scalar::F32, 16}, {"id", Scalar::I32, 0}}};
  const auto x = k.span_parameter("x", record, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(x, i, k.load(x, i, 0), 0);
  const std::string text = wgsl(k.finish());
  EXPECT_THAT(text,
              HasSubstr("struct particle {\n  @size(16) id: i32,\n  @size(16) mass: f32,\n}"));
  EXPECT_THAT(text, HasSubstr("x[x_first + u32(global_idx_x)].mass"));
}

TEST(Wgsl, K14_KeywordsOfTheLanguageAreRenamed) {
  Shapes k("loop");
  const auto x = k.span_parameter("fn", Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(x, i, k.load(x, i));
  const std::string text = wgsl(k.finish());
  EXPECT_THAT(text, HasSubstr("fn loop_("));
  EXPECT_THAT(text, HasSubstr("fn_: array<f32>;"));
}

TEST(Wgsl, W51_FusedMultiplyAddsAreThoseOfTheIr) {
  const ir::Kernel kernel = binary(Scalar::F32, [](Shapes& k, ValueId a, ValueId b) {
    return k.op(Op::Add, {k.op(Op::Mul, {a, b}), a});
  });
  EXPECT_THAT(wgsl(kernel), Not(HasSubstr("fma(")));
  EXPECT_THAT(wgsl(passes::contract(kernel)), HasSubstr("= fma(v1, v2, v1);"));
}

TEST(WgslLayout, WordsAndBindingsFollowTheParameters) {
  Shapes k("all");
  k.span_parameter("x", Element::scalar(Scalar::F32), true);
  k.scalar_parameter("a", Scalar::F32);
  k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const wgsl::Layout layout(k.finish());
  EXPECT_EQ(layout.words, 5U);
  EXPECT_EQ(layout.parameters[0].word, 0U);
  EXPECT_EQ(layout.parameters[0].length, 1U);
  EXPECT_EQ(layout.parameters[0].binding, 1U);
  EXPECT_EQ(layout.parameters[1].word, 2U);
  EXPECT_EQ(layout.parameters[2].word, 3U);
  EXPECT_EQ(layout.parameters[2].binding, 2U);
}

TEST(WgslLayout, ScalarsAreWordsOfTheComputeType) {
  EXPECT_EQ(wgsl::word_of(Scalar::I8, 0xff), 0xffffffffU);
  EXPECT_EQ(wgsl::word_of(Scalar::U8, 0xff), 0xffU);
  EXPECT_EQ(wgsl::word_of(Scalar::I16, 0x8000), 0xffff8000U);
  EXPECT_EQ(wgsl::word_of(Scalar::BF16, 0x3f80), 0x3f800000U);
  EXPECT_EQ(wgsl::word_of(Scalar::F16, 0x3c00), 0x3f800000U);
  EXPECT_EQ(wgsl::word_of(Scalar::F16, 0x8001), 0xb3800000U);
  EXPECT_EQ(wgsl::word_of(Scalar::F16, 0xfc00), 0xff800000U);
}

TEST(WebgpuBackend, SaysWhyItIsMissingAndWhatToDo) {
  const auto backend = backends::webgpu::make_backend();
  EXPECT_EQ(backend->name(), "WebGPU");
  EXPECT_TRUE(backend->open().empty());
  ASSERT_TRUE(backend->unavailable());
  const std::string& reason = backend->unavailable()->reason;
  EXPECT_THAT(reason, HasSubstr("it prints kernels in WGSL"));
  EXPECT_THAT(reason, HasSubstr("`salvo source KERNEL --target WebGPU`"));
  EXPECT_THAT(reason, HasSubstr("Vulkan"));
}

TEST(WebgpuBackend, R1_IsRegisteredWithItsReason) {
  const std::vector<BackendInfo> all = Runtime::instance().backends();
  const auto found = std::ranges::find(all, "WebGPU", &BackendInfo::name);
  ASSERT_NE(found, all.end());
  EXPECT_FALSE(found->available);
  EXPECT_THAT(found->reason, HasSubstr("WGSL"));
  EXPECT_TRUE(Device::by_backend("WebGPU").empty());
}

TEST(WebgpuBackend, W5_ItsWindowIsAnOptIn) {
  EXPECT_FALSE(window::defers("WebGPU"));
  window::set_backend_enabled("WebGPU", true);
  EXPECT_TRUE(window::defers("WebGPU"));
  window::set_backend_enabled("WebGPU", false);
  EXPECT_FALSE(window::defers("WebGPU"));
}

}  // namespace
}  // namespace salvo::codegen
