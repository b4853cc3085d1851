// How generated CUDA code touches memory, read from machine code and from PTX: wide accesses where
// they are proved, marks of spans that nothing writes, indexes of 32 bits, loops that are unrolled.
// SPDX-License-Identifier: MIT
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/nvrtc_api.hpp"
#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/ptx/emitter.hpp"
#include "fusion/horizontal.hpp"
#include "rules/cuda_code.hpp"
#include "salvo/salvo.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

/// Accesses of one kind in machine code: how often each width occurs, in bits.
using Widths = std::map<int, int>;

/// Global loads (0x981) or stores (0x986), which say their width in three bits.
Widths widths_of(const std::vector<Instruction>& code, std::uint64_t opcode) {
  Widths widths;
  for (const Instruction& one : code) {
    if ((one.low & 0xfff) != opcode) continue;
    const std::uint64_t size = one.high >> 9 & 7;
    ++widths[size == 6 ? 128 : size == 5 ? 64 : size == 4 ? 32 : 16];
  }
  return widths;
}
constexpr std::uint64_t kLoad = 0x981;
constexpr std::uint64_t kStore = 0x986;

int count(const std::string& code, const char* pattern) {
  const std::regex one(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(code.begin(), code.end(), one), {}));
}

/// y[4 i + k] = x[4 i + k] * 2
ir::Kernel quads() {
  return kernel("quads",
                [](Span<float> x, Span<float> y) {
                  auto i = global_thread_id();
                  for (int k = 0; k < 4; ++k) y[i * 4 + k] = x[i * 4 + k] * 2.0f;
                })
      .record()
      ->contracted();
}

/// The same with a step that is no multiple of four.
ir::Kernel triples() {
  return kernel("triples",
                [](Span<float> x, Span<float> y) {
                  auto i = global_thread_id();
                  for (int k = 0; k < 3; ++k) y[i * 3 + k] = x[i * 3 + k] * 2.0f;
                })
      .record()
      ->contracted();
}

/// Machine code of both backends, each by its own compiler.
struct Compiled {
  std::string cubin;
  std::string entry;
  std::string unaligned_entry;
};

class EmittedAccess : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      if (!assembler_.is_there()) GTEST_SKIP() << "ptxas is not installed";
      return;
    }
    if (const std::string reason = nvrtc_.load(); !reason.empty()) GTEST_SKIP() << reason;
    if (nvrtc_.arch_for(90) != 90) GTEST_SKIP() << nvrtc_.shared_object_name() << " knows no sm_90";
  }
  Compiled compiled(const ir::Kernel& kernel, std::uint64_t may_alias = 0) {
    if (!GetParam()) {
      codegen::ptx::EmitOptions options;
      options.may_alias = may_alias;
      const auto made = codegen::ptx::emit(kernel, options);
      return {assembler_.assemble(made.code), made.entry, made.unaligned_entry};
    }
    codegen::c_family::PrintOptions options;
    options.may_alias = may_alias;
    const auto made =
        codegen::c_family::print_with_vectors(kernel, codegen::c_family::cuda_dialect(), options);
    return {nvrtc_.compile(made.printed.code, "one.cu",
                           {"--std=c++17", "--gpu-architecture=sm_90", "--fmad=false"}),
            made.printed.entry, made.unaligned_entry};
  }

  /// What either makes of a kernel before registers are given out.
  std::string ptx_of(const ir::Kernel& kernel) {
    if (!GetParam()) return codegen::ptx::emit(kernel, {}).code;
    const auto made = codegen::c_family::print(kernel, codegen::c_family::cuda_dialect(), {});
    return nvrtc_.compile(made.code, "one.cu",
                          {"--std=c++17", "--gpu-architecture=compute_90", "--fmad=false"});
  }

  const Assembler assembler_;
  backends::cuda::Nvrtc nvrtc_;
};
INSTANTIATE_TEST_SUITE_P(Of, EmittedAccess, testing::Bool(),
                         [](const auto& one) { return one.param ? "CudaC" : "CudaPtx"; });

TEST_P(EmittedAccess, NeighboursAreOneInstructionWhereSpansLieWell) {
  const Compiled made = compiled(quads());
  const auto aligned = instructions_of(made.cubin, made.entry);
  EXPECT_THAT(widths_of(aligned, kLoad), ElementsAre(Pair(128, 1)));
  EXPECT_THAT(widths_of(aligned, kStore), ElementsAre(Pair(128, 1)));
  const auto unaligned = instructions_of(made.cubin, made.unaligned_entry);
  EXPECT_THAT(widths_of(unaligned, kLoad), ElementsAre(Pair(32, 4)));
  EXPECT_THAT(widths_of(unaligned, kStore), ElementsAre(Pair(32, 4)));
}

TEST_P(EmittedAccess, NeighboursStayApartWithoutProof) {
  // Stores in between may be to what is loaded next.
  for (const ir::Kernel& kernel : {quads(), triples()}) {
    const Compiled made = compiled(kernel, ~std::uint64_t{0});
    EXPECT_EQ(made.unaligned_entry, "");
    const int each = kernel.name == "quads" ? 4 : 3;
    EXPECT_THAT(widths_of(instructions_of(made.cubin), kLoad), ElementsAre(Pair(32, each)));
    EXPECT_THAT(widths_of(instructions_of(made.cubin), kStore), ElementsAre(Pair(32, each)));
  }
  // No multiple of 16 bytes, nor of 8.
  const Compiled made = compiled(triples());
  EXPECT_EQ(made.unaligned_entry, "");
  EXPECT_THAT(widths_of(instructions_of(made.cubin), kLoad), ElementsAre(Pair(32, 3)));
}

/// Two unlike members side by side: the one writes what it reads nowhere, the other in place.
ir::Kernel side_by_side() {
  const auto scaled = kernel("scaled", [](Span<float> x, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
  const auto in_place = kernel("in_place", [](Span<float> z, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { z[i] = z[i] + 1.0f; });
  });
  const std::array bodies{fusion::Body{&scaled.record()->kernel, 2},
                          fusion::Body{&in_place.record()->kernel, 2}};
  return fusion::fuse_horizontally(bodies);
}

TEST(EmittedMarks, W80_AFusedKernelReadsByTheReadOnlyPathWhatNoMemberWrites) {
  codegen::ptx::EmitOptions apart;
  apart.may_alias = 0;
  const std::string ptx = codegen::ptx::emit(side_by_side(), apart).code;
  EXPECT_EQ(count(ptx, R"(ld\.global\.nc\.f32)"), 1);  // x, by the one body
  EXPECT_EQ(count(ptx, R"(ld\.global\.f32)"), 1);      // z, which its body writes
  const std::string careful = codegen::ptx::emit(side_by_side(), {}).code;
  EXPECT_EQ(count(careful, R"(ld\.global\.nc)"), 0);
  EXPECT_EQ(count(careful, R"(ld\.global\.f32)"), 2);
}

TEST(EmittedMarks, W80_TablesOfAFusedKernelAreReadSoInCToo) {
  codegen::c_family::PrintOptions apart;
  apart.may_alias = 0;
  const auto& dialect = codegen::c_family::cuda_dialect();
  const std::string code = codegen::c_family::print(side_by_side(), dialect, apart).code;
  EXPECT_THAT(code, HasSubstr("salvo_table<const float*, 2> arg0_m0"));  // x
  EXPECT_THAT(code, HasSubstr("salvo_table<float*, 2> arg1_m0"));        // y
  EXPECT_THAT(code, HasSubstr("salvo_table<float*, 2> arg0_m1"));        // z
  EXPECT_EQ(count(code, R"(__ldg\(&arg0_m0_at\[)"), 1);
  EXPECT_EQ(count(code, "__ldg"), 1);
  const std::string careful = codegen::c_family::print(side_by_side(), dialect, {}).code;
  EXPECT_THAT(careful, Not(HasSubstr("__ldg")));
}

TEST_P(EmittedAccess, W80_AFusedKernelHoldsOneReadOnlyLoad) {
  const auto constant_loads = [&](std::uint64_t may_alias) {
    int loads = 0;
    for (const Instruction& one : instructions_of(compiled(side_by_side(), may_alias).cubin)) {
      loads += (one.low & 0xfff) == kLoad && (one.high >> 15 & 1) != 0 ? 1 : 0;
    }
    return loads;
  };
  EXPECT_EQ(constant_loads(0), 1);
  EXPECT_EQ(constant_loads(~std::uint64_t{0}), 0);
}

TEST_P(EmittedAccess, ALoopOfUnknownLengthIsUnrolledWithIndexesOf32Bits) {
  const auto sum = kernel("sum", [](Span<const float> x, Span<float> y, Int n) {
    Int t = thread_idx_x();
    Var<float> total = 0.0f;
    for_(range(t, n, 256), [&](Int i) { total += x[block_idx_x() * n + i]; });
    y[t] = total;
  });
  const ir::Kernel& kernel = sum.record()->contracted();
  EXPECT_GE(widths_of(instructions_of(compiled(kernel).cubin), kLoad)[32], 4);
  const std::string ptx = ptx_of(kernel);
  EXPECT_GE(count(ptx, R"((mul|mad)\.wide\.[su]32)"), 1);
  EXPECT_EQ(count(ptx, R"((mul|mad)\.lo\.[su]64)"), 0);
}

TEST(EmittedMarks, W80_AMergedConsumerInPlaceTakesTheMarkAway) {
  // Alone the first reads x by the read-only path; with a body that writes x after it, not.
  const auto reads = kernel("reads", [](Span<float> x, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
  const auto both = kernel("both", [](Span<float> x, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      y[i] = x[i] * 2.0f;
      x[i] = y[i] + 1.0f;
    });
  });
  codegen::ptx::EmitOptions apart;
  apart.may_alias = 0;
  EXPECT_EQ(count(codegen::ptx::emit(reads.record()->kernel, apart).code, "ld\\.global\\.nc"), 1);
  EXPECT_EQ(count(codegen::ptx::emit(both.record()->kernel, apart).code, "ld\\.global\\.nc"), 0);
}

}  // namespace
}  // namespace salvo::tests
