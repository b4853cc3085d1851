// The Metal Shading Language that kernels are printed as.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/c_family/metal_dialect.hpp"
#include "codegen/c_family/metal_reserved_words.hpp"
#include "codegen/target.hpp"
#include "salvo/error.hpp"
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

std::string metal(const ir::Kernel& kernel) {
  return source(kernel, "Metal");
}

TEST(MetalSource, IsReadableAndComplete) {
  Shapes k("saxpy");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::F32), true);
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const auto a = k.scalar_parameter("a", Scalar::F32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.if_else(k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(y)}), [&] {
    const ValueId product = k.op(Op::Mul, {k.load(x, i), k.param(a)});
    k.store(y, i, k.op(Op::Add, {product, k.load(y, i)}));
  });
  EXPECT_EQ(metal(k.finish()),
            R"(#pragma METAL fp contract(off)
#pragma clang fp contract(off)
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(
    device const float* x [[buffer(0)]],
    device float* y [[buffer(1)]],
    constant long& y_length [[buffer(2)]],
    constant float& a [[buffer(3)]],
    uint3 salvo_thread [[thread_position_in_threadgroup]],
    uint3 salvo_block [[threadgroup_position_in_grid]],
    uint3 salvo_threads [[threads_per_threadgroup]],
    uint3 salvo_blocks [[threadgroups_per_grid]],
    uint salvo_index [[thread_index_in_threadgroup]],
    uint salvo_lane [[thread_index_in_simdgroup]],
    uint salvo_lanes [[threads_per_simdgroup]]) {
  const int global_idx_x = (int)(salvo_block.x * salvo_threads.x + salvo_thread.x);
  const long v1 = (long)global_idx_x;
  const bool v2 = v1 < y_length;
  if (v2) {
    const float v3 = x[global_idx_x];
    const float v4 = v3 * a;
    const float v5 = y[global_idx_x];
    const float v6 = v4 + v5;
    y[global_idx_x] = v6;
  }
}
)");
}

TEST(MetalSource, FunctionsAreThePreciseOnes) {
  Shapes k("functions");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId v = k.load(y, i);
  k.store(y, i, k.op(Op::Pow, {k.op(Op::Sin, {v}), k.op(Op::Sqrt, {v})}));
  k.store(y, i, k.op(Op::Expm1, {v}));
  const std::string text = metal(k.finish());
  EXPECT_THAT(text, HasSubstr(" = precise::sin(v1);"));
  EXPECT_THAT(text, HasSubstr(" = precise::sqrt(v1);"));
  EXPECT_THAT(text, HasSubstr(" = precise::pow("));
  EXPECT_THAT(text, Not(HasSubstr("expm1"))) << "MSL has no such function";
  EXPECT_THAT(text, Not(HasSubstr("fast::")));
}

TEST(MetalSource, MemoryIsSharedInTheThreadgroup) {
  Shapes k("tiles");
  const auto x = k.span_parameter("x", Element::scalar(Scalar::F16), false);
  const auto tile = k.shared_array("tile", Element::scalar(Scalar::F32), 64);
  const auto dynamic = k.shared_array("rest", Element::scalar(Scalar::I32), 0);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.store(tile, t, k.load(x, t));
  k.statement(Op::Barrier);
  k.atomic(Op::AtomicAdd, dynamic, {t, t});
  k.store(x, t, k.load(tile, t));
  const std::string text = metal(k.finish());
  EXPECT_THAT(text, HasSubstr("  threadgroup float tile[64];\n"));
  EXPECT_THAT(text, HasSubstr("    threadgroup uint4* dynamic_shared [[threadgroup(0)]],\n"));
  EXPECT_THAT(text, HasSubstr("  threadgroup int* rest = (threadgroup int*)dynamic_shared;\n"));
  EXPECT_THAT(
      text,
      HasSubstr("  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);\n"));
  EXPECT_THAT(text, HasSubstr("atomic_fetch_add_explicit((threadgroup "
                              "atomic_int*)&rest[thread_idx_x], thread_idx_x, "
                              "memory_order_relaxed)"));
  EXPECT_THAT(text, HasSubstr("= (float)as_type<half>(x[thread_idx_x]);"));
  EXPECT_THAT(text, HasSubstr("x[thread_idx_x] = as_type<ushort>((half)"));
}

TEST(MetalSource, WhatMslLacksIsRefusedByName) {
  const auto refusal = [](const ir::Kernel& kernel) -> std::string {
    try {
      metal(kernel);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported);
      EXPECT_EQ(error.kernel(), kernel.name);
      return error.message();
    }
    return "";
  };
  Shapes doubles("doubles");
  const auto y = doubles.span_parameter("y", Element::scalar(Scalar::F64), false);
  doubles.store(y, doubles.position(Op::GlobalIdx, 0), doubles.constant(Scalar::F64, 0));
  EXPECT_EQ(refusal(doubles.finish()), "MSL has no f64");
  Shapes wide("wide");
  const auto n = wide.span_parameter("n", Element::scalar(Scalar::U64), false);
  wide.atomic(Op::AtomicMax, n, {wide.position(Op::GlobalIdx, 0), wide.constant(Scalar::U64, 7)});
  EXPECT_EQ(refusal(wide.finish()), "MSL has no atomics on i64 and u64");
}

TEST(MetalSource, EveryKeywordOfTheLanguageIsKnown) {
  for (const char* word :
       {"kernel",        "device",    "threadgroup",  "constant",   "thread",  "float4", "half3x3",
        "uint2",         "as_type",   "simd_shuffle", "atomic_int", "precise", "fast",   "metal",
        "packed_float3", "texture2d", "mem_flags",    "bfloat",     "sin",     "fma"}) {
    EXPECT_TRUE(c_family::is_metal_word(word)) << word;
  }
  for (const char* word : {"x", "floats", "float5", "kernels", "position", "half_way", "devices"}) {
    EXPECT_FALSE(c_family::is_metal_word(word)) << word;
  }
}

TEST(MetalSource, ConstantsReadBackAsTheSameBits) {
  const c_family::Dialect& dialect = c_family::metal_dialect();
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x3dcccccd), "0.1f");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x80000000), "(-0.0f)");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x00000001), "as_type<float>(0x00000001u)");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x7fc12345), "as_type<float>(0x7fc12345u)");
  EXPECT_EQ(dialect.constant(Scalar::I32, 0x80000000), "(-2147483647 - 1)");
  EXPECT_EQ(dialect.constant(Scalar::I64, 1ull << 63), "(-9223372036854775807l - 1)");
  EXPECT_EQ(dialect.constant(Scalar::U64, ~0ull), "18446744073709551615ul");
}

}  // namespace
}  // namespace salvo::codegen
