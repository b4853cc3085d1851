// The OpenCL C that kernels are printed as.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/c_family/opencl_dialect.hpp"
#include "codegen/c_family/opencl_reserved_words.hpp"
#include "codegen/c_family/printer.hpp"
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
using testing::StartsWith;

std::string opencl(const ir::Kernel& kernel) {
  return source(kernel, "OpenCL");
}

std::string with(const ir::Kernel& kernel, const c_family::PrintOptions& options) {
  return c_family::print(kernel, c_family::opencl_dialect(), options).code;
}

ir::Kernel saxpy() {
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
  return k.finish();
}

TEST(OpenclSource, IsReadableAndComplete) {
  EXPECT_EQ(opencl(saxpy()),
            R"(#pragma OPENCL FP_CONTRACT OFF

kernel void saxpy(
    global const float* x_base, const long x_offset,
    global float* y_base, const long y_offset, const long y_length,
    const float a) {
  global const float* x = (global const float*)((global const char*)x_base + x_offset);
  global float* y = (global float*)((global char*)y_base + y_offset);
  const int global_idx_x = (int)get_global_id(0);
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

TEST(OpenclSource, FirstLineForbidsContractionUnlessTheDeviceMayDecide) {
  EXPECT_THAT(with(saxpy(), {}), StartsWith("#pragma OPENCL FP_CONTRACT OFF\n"));
  EXPECT_THAT(with(saxpy(), {.contraction = true}), Not(HasSubstr("FP_CONTRACT")));
}

TEST(OpenclSource, MultiplyAddIsFusedOnlyWhereTheKernelSaysSo) {
  Shapes k("products");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId v = k.load(y, i);
  k.store(y, i, k.op(Op::Fma, {v, v, k.op(Op::Add, {k.op(Op::Mul, {v, v}), v})}));
  const std::string text = opencl(k.finish());
  EXPECT_THAT(text, HasSubstr("const float v2 = v1 * v1;\n"));
  EXPECT_THAT(text, HasSubstr("const float v3 = v2 + v1;\n"));
  EXPECT_THAT(text, HasSubstr("const float v4 = fma(v1, v1, v3);\n"));
  EXPECT_THAT(text, Not(HasSubstr("mad(")));
}

TEST(OpenclSource, RestrictIsWrittenOnlyWhereNothingOverlaps) {
  EXPECT_THAT(with(saxpy(), {}), Not(HasSubstr("restrict")));
  const std::string apart = with(saxpy(), {.may_alias = ~0ull << 1});
  EXPECT_THAT(apart, HasSubstr("global const float* restrict x_base"));
  EXPECT_THAT(apart, HasSubstr("global float* y_base"));
}

TEST(OpenclSource, LengthsThatNobodyReadsAreNotPassed) {
  EXPECT_EQ(c_family::reads_length(saxpy()), (std::vector<bool>{false, true, false}));
}

TEST(OpenclSource, KeywordsAndClashesAreRenamed) {
  Shapes k("half");
  for (const char* name : {"kernel", "float4", "x", "x", "MAX_SIZE", "salvo_div_i32", "9 to 5"}) {
    k.scalar_parameter(name, Scalar::I32);
  }
  const c_family::Printed printed = c_family::print(k.finish(), c_family::opencl_dialect(), {});
  EXPECT_EQ(printed.entry, "half_");
  EXPECT_THAT(printed.code, HasSubstr("kernel void half_(\n"
                                      "    const int kernel_,\n"
                                      "    const int float4_,\n"
                                      "    const int x,\n"
                                      "    const int x_2,\n"
                                      "    const int MAX_SIZE_,\n"
                                      "    const int n_salvo_div_i32,\n"
                                      "    const int n9_to_5) {"));
}

TEST(OpenclSource, EveryKeywordOfTheLanguageIsKnown) {
  for (const char* word :
       {"kernel", "__kernel", "float16", "uchar3", "double2", "as_int4", "convert_int_rte",
        "atomic_add", "get_group_id", "sampler_t", "bool", "vload_half", "barrier", "complex",
        "work_group_reduce_add", "sub_group_all"}) {
    // A leading underscore is never printed, so that those need no entry.
    EXPECT_TRUE(word[0] == '_' || c_family::is_opencl_word(word)) << word;
  }
  for (const char* word : {"x", "floats", "float5", "kernels", "position", "as", "halfway"}) {
    EXPECT_FALSE(c_family::is_opencl_word(word)) << word;
  }
}

TEST(OpenclSource, ConstantsReadBackAsTheSameBits) {
  const c_family::Dialect& dialect = c_family::opencl_dialect();
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x3dcccccd), "0.1f");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x40000000), "2.0f");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x80000000), "(-0.0f)");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x00000001), "as_float(0x00000001u)");
  EXPECT_EQ(dialect.constant(Scalar::F32, 0x7f800000), "as_float(0x7f800000u)");
  EXPECT_EQ(dialect.constant(Scalar::F64, 0x3fb999999999999a), "0.1");
  EXPECT_EQ(dialect.constant(Scalar::I32, 0x80000000), "(-2147483647 - 1)");
  EXPECT_EQ(dialect.constant(Scalar::I32, 0xffffffff), "(-1)");
  EXPECT_EQ(dialect.constant(Scalar::I64, 1ull << 63), "(-9223372036854775807l - 1)");
  EXPECT_EQ(dialect.constant(Scalar::U64, ~0ull), "18446744073709551615ul");
  EXPECT_EQ(dialect.constant(Scalar::Bool, 1), "true");
}

TEST(OpenclSource, DivisionIsGuardedUnlessTheDivisorIsASafeConstant) {
  const auto text = [](std::uint32_t divisor) {
    Shapes k("divide");
    const auto y = k.span_parameter("y", Element::scalar(Scalar::I32), false);
    const ValueId zero = k.constant_i32(0);
    k.store(y, zero, k.op(Op::Div, {k.load(y, zero), k.constant(Scalar::I32, divisor)}));
    return opencl(k.finish());
  };
  EXPECT_THAT(text(7), HasSubstr("const int v2 = v1 / 7;\n"));
  EXPECT_THAT(text(0), HasSubstr("const int v2 = salvo_div_i32(v1, 0);\n"));
  EXPECT_THAT(text(0xffffffff), HasSubstr("const int v2 = salvo_div_i32(v1, (-1));\n"));
}

TEST(OpenclSource, HelpersAreDefinedOnce) {
  Shapes k("twice");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::I32), false);
  const ValueId v = k.load(y, k.constant_i32(0));
  k.store(y, v, k.op(Op::Div, {v, k.op(Op::Div, {v, v})}));
  const std::string text = opencl(k.finish());
  const std::string head = "static inline int salvo_div_i32(";
  EXPECT_NE(text.find(head), std::string::npos);
  EXPECT_EQ(text.find(head), text.rfind(head));
}

TEST(OpenclSource, VariablesAreDeclaredWhereTheyLive) {
  Shapes k("scopes");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::I32), false);
  const auto inner = k.variable("inner", Scalar::I32);
  const auto carried = k.variable("carried", Scalar::I32);
  k.for_up(k.constant_i32(0), k.constant_i32(4), k.constant_i32(1), [&](ValueId i) {
    k.var_set(inner, i);
    k.store(y, i, k.op(Op::Add, {k.var_get(inner), k.var_get(carried)}));
    k.var_set(carried, i);
  });
  EXPECT_THAT(opencl(k.finish()), HasSubstr("  int carried;\n"
                                            "  for (int i = 0; i < 4; ++i) {\n"
                                            "    int inner;\n"
                                            "    inner = i;\n"));
}

TEST(OpenclSource, SwitchIsAChainSoThatBreakLeavesTheLoop) {
  Shapes k("chain");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::I32), false);
  k.for_up(k.constant_i32(0), k.constant_i32(4), k.constant_i32(1), [&](ValueId i) {
    k.switch_on(i, {1, 3},
                {[&] { k.statement(Op::Break); }, [&] { k.store(y, i, i); },
                 [&] { k.statement(Op::Continue); }});
  });
  EXPECT_THAT(opencl(k.finish()), HasSubstr("    if (i == 1) {\n"
                                            "      break;\n"
                                            "    } else if (i == 3) {\n"
                                            "      y[i] = i;\n"
                                            "    } else {\n"
                                            "      continue;\n"
                                            "    }\n"));
}

TEST(OpenclSource, TablesAreSelectedOncePerSlot) {
  Shapes k("table");
  const auto y = k.span_parameter("y", Element::scalar(Scalar::F32), false, 3);
  const ValueId slot = k.op(Op::And, {k.position(Op::BlockIdx, 0), k.constant_i32(1)});
  const ValueId i = k.position(Op::ThreadIdx, 0);
  k.store(y, i, k.load(y, i, 0, slot), 0, slot);
  k.store(y, i, k.constant(Scalar::F32, 0), 0, k.constant_i32(2));
  const std::string text = opencl(k.finish());
  EXPECT_THAT(text, HasSubstr("  global float* y_at = v1 == 0 ? y_0 : v1 == 1 ? y_1 : y_2;\n"
                              "  const float v2 = y_at[thread_idx_x];\n"
                              "  y_at[thread_idx_x] = v2;\n"
                              "  y_2[thread_idx_x] = 0.0f;\n"));
}

TEST(OpenclSource, RecordsSpellOutTheirPadding) {
  Element element{"Particle", 24, 8, {}};
  element.fields = {{"mass", Scalar::F64, 8}, {"kind", Scalar::U8, 0}, {"pos.x", Scalar::F32, 16}};
  Shapes k("particles");
  const auto p = k.span_parameter("p", element, false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(p, i, k.load(p, i, 2), 2);
  const std::string text = opencl(k.finish());
  EXPECT_THAT(text, HasSubstr("typedef struct {\n"
                              "  uchar kind;\n"
                              "  uchar padding[7];\n"
                              "  double mass;\n"
                              "  float pos_x;\n"
                              "  uchar padding_2[4];\n"
                              "} Particle;\n"));
  EXPECT_THAT(text, HasSubstr("p[global_idx_x].pos_x = v1;\n"));
}

TEST(Targets, UnknownOnesAreRefusedWithTheList) {
  EXPECT_THAT(targets(), testing::Contains("OpenCL"));
  try {
    source(saxpy(), "Fortran");
    FAIL() << "Fortran was printed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("Fortran"));
    EXPECT_THAT(error.what(), HasSubstr("OpenCL"));
  }
}

}  // namespace
}  // namespace salvo::codegen
