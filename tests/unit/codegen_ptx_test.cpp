// PTX text: rounding on every float operation, tables, read-only loads, lines; ptxas takes it all.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "codegen/ptx/emitter.hpp"
#include "unit/cuda_kernels.hpp"

namespace salvo::codegen::ptx {
namespace {

using ir::Scalar;
using test::all_float_operations;
using test::everything_else;
using test::through_a_table;
using testing::HasSubstr;
using testing::Not;

/// Instructions of floats that a later compiler could contract.
std::vector<std::string> contractible(const std::string& code) {
  static const std::regex kBare(
      R"((^|\s)(add|sub|mul|mad|fma)(\.\w+)*\.(f16|f16x2|bf16|f32|f64|f32x2)\b)");
  std::vector<std::string> found;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, kBare) && line.find(".rn") == std::string::npos)
      found.push_back(line);
  }
  return found;
}

TEST(Ptx, EveryFloatOperationStatesItsRounding) {
  for (Scalar type : {Scalar::F32, Scalar::F64}) {
    const std::string code = emit(all_float_operations(type), {}).code;
    EXPECT_THAT(contractible(code), testing::IsEmpty());
    EXPECT_THAT(code, HasSubstr(fmt::format("mul.rn.{}", ir::name(type))));
    EXPECT_THAT(code, Not(HasSubstr(".approx")));
    EXPECT_THAT(code, Not(HasSubstr(".ftz")));
    EXPECT_THAT(code, Not(HasSubstr("f32x2")));
  }
}

TEST(Ptx, ModeDeviceLeavesTheRoundingOpen) {
  EmitOptions options;
  options.contraction = true;
  const std::string code = emit(all_float_operations(Scalar::F32), options).code;
  EXPECT_THAT(code, HasSubstr("mul.f32"));
  EXPECT_THAT(code, HasSubstr("fma.rn.f32"));
}

TEST(Ptx, TablesStayInTheParameterSpace) {
  const std::string code = emit(through_a_table(64), {}).code;
  EXPECT_THAT(code, HasSubstr(".param .align 8 .b8 p0[512]"));
  EXPECT_THAT(code, HasSubstr(".param .align 4 .b8 p1[256]"));
  EXPECT_THAT(code, testing::ContainsRegex("ld.param.u64 %rd[0-9]+, \\[%rd[0-9]+\\]"));
  EXPECT_THAT(code, Not(HasSubstr(".local")));
}

TEST(Ptx, ReadOnlyLoadsNeedProof) {
  const ir::Kernel kernel = all_float_operations(Scalar::F32);
  EXPECT_THAT(emit(kernel, {}).code, Not(HasSubstr("ld.global.nc")));
  EmitOptions proved;
  proved.may_alias = 0;
  EXPECT_THAT(emit(kernel, proved).code, HasSubstr("ld.global.nc.f32"));
  // A span that is written is never read that way.
  EXPECT_THAT(emit(through_a_table(2), proved).code, Not(HasSubstr(".nc")));
}

/// for (i = first; i < n; i += step) y[base + i] = x[i]
ir::Kernel strided(bool step_is_known) {
  test::Shapes k("strided");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  const auto n = k.scalar_parameter("n", Scalar::I32);
  const auto by = k.scalar_parameter("by", Scalar::I32);
  const ir::ValueId base = k.op(ir::Op::Mul, {k.position(ir::Op::BlockIdx, 0), k.param(n)});
  k.for_up(k.position(ir::Op::ThreadIdx, 0), k.param(n),
           step_is_known ? k.constant_i32(256) : k.param(by), [&](ir::ValueId i) {
             k.store(y, k.op(ir::Op::Add, {base, i}), k.load(x, i));
           });
  return k.finish();
}

/// Of code with two functions, the first or the second.
std::string function(const std::string& code, bool unaligned) {
  const std::size_t second = code.find("_unaligned(");
  return unaligned ? code.substr(second) : code.substr(0, second);
}

TEST(Ptx, NeighboursAreOneAccessWhereSpansLieWell) {
  EmitOptions proved;
  proved.may_alias = 0;
  const Emitted made = emit(test::copied_records(), proved);
  EXPECT_THAT(made.alignments, testing::ElementsAre(16U, 16U));
  EXPECT_EQ(made.unaligned_entry, made.entry + "_unaligned");
  const std::string aligned = function(made.code, false);
  EXPECT_THAT(aligned, testing::ContainsRegex(
                           "ld\\.global\\.nc\\.v4\\.b32 \\{%f0, %f1, %f2, %r[0-9]+\\}, \\[%rd"));
  EXPECT_THAT(aligned, testing::ContainsRegex(
                           "st\\.global\\.v4\\.b32 \\[%rd[0-9]+\\], \\{%f1, %f2, %f0, %r"));
  EXPECT_THAT(aligned, Not(testing::ContainsRegex("(ld|st)\\.global(\\.nc)?\\.[fsu]32")));
  const std::string unaligned = function(made.code, true);
  EXPECT_THAT(unaligned, Not(HasSubstr(".v4")));
  EXPECT_THAT(unaligned, HasSubstr("ld.global.nc.f32"));
}

TEST(Ptx, ALaunchBoundIsOfEveryFunction) {
  EmitOptions proved;
  proved.may_alias = 0;
  const std::string code = emit(test::copied_records(), proved).code;
  EXPECT_THAT(code, Not(HasSubstr(".maxntid")));
  const std::string bounded = with_launch_bound(code, 1024);
  EXPECT_THAT(function(bounded, false), HasSubstr("\n)\n.maxntid 1024\n{"));
  EXPECT_THAT(function(bounded, true), HasSubstr("\n)\n.maxntid 1024\n{"));
  EXPECT_EQ(bounded.size(), code.size() + 2 * std::string(".maxntid 1024\n").size());
}

TEST(Ptx, WithoutProofNeighboursStayApart) {
  // Stores in between may be to what is loaded next.
  const Emitted made = emit(test::copied_records(), {});
  EXPECT_THAT(made.code, Not(HasSubstr(".v4")));
  EXPECT_THAT(made.alignments, testing::IsEmpty());
  EXPECT_EQ(made.unaligned_entry, "");
  EXPECT_THAT(made.code, Not(HasSubstr("_unaligned")));
}

TEST(Ptx, WideAccessesMoveOnWithTheRoundsOfALoop) {
  test::Shapes k("rounds");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
  const auto n = k.scalar_parameter("n", Scalar::I32);
  k.for_up(k.constant_i32(0), k.param(n), k.constant_i32(4), [&](ir::ValueId i) {
    for (std::int32_t e = 0; e < 4; ++e) {
      k.store(x, k.op(ir::Op::Add, {i, k.constant_i32(e)}), k.constant(Scalar::F32, 0));
    }
  });
  const Emitted made = emit(k.finish(), {});
  EXPECT_THAT(made.alignments, testing::ElementsAre(16U, 1U));
  const std::string aligned = function(made.code, false);
  for (const char* offset : {"\\]", "\\+16\\]", "\\+32\\]", "\\+48\\]"}) {
    EXPECT_THAT(aligned, testing::ContainsRegex("st\\.global\\.v4\\.f32 \\[%rd[0-9]+" +
                                                std::string(offset)));
  }
}

TEST(Ptx, IndexesAreCountedIn32Bits) {
  // One multiplication that widens makes an address of an i32 index; nothing else is 64 bits wide.
  const std::string code = emit(strided(true), {}).code;
  EXPECT_THAT(code, testing::ContainsRegex("mad.wide.s32 %rd[0-9]+, %r[0-9]+, 4, %rd"));
  EXPECT_THAT(code, Not(testing::ContainsRegex("(mul|mad)\\.lo\\.[su]64")));
  EXPECT_THAT(code, Not(HasSubstr("cvt.s64")));
}

TEST(Ptx, ShortLoopsOfKnownLengthAreWrittenOut) {
  const auto loop = [](std::int32_t rounds, bool leaves) {
    test::Shapes k("loop");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), false);
    k.for_up(k.constant_i32(0), k.constant_i32(rounds), k.constant_i32(1), [&](ir::ValueId i) {
      k.store(x, i, i);
      if (leaves) k.statement(ir::Op::Break);
    });
    return emit(k.finish(), {}).code;
  };
  EXPECT_THAT(loop(16, false), Not(HasSubstr("bra")));
  EXPECT_THAT(loop(1000, false), HasSubstr("bra"));
  EXPECT_THAT(loop(16, true), HasSubstr("bra"));
}

TEST(Ptx, RoundsOfAStridedLoopShareAnAddress) {
  const std::string code = emit(strided(true), {}).code;
  for (const char* offset : {"+1024]", "+2048]", "+3072]"}) {
    EXPECT_THAT(code, testing::ContainsRegex(std::string("ld.global.f32 %f[0-9]+, .%rd[0-9]+") +
                                             "\\" + offset));
    EXPECT_THAT(code, testing::ContainsRegex(std::string("st.global.f32 .%rd[0-9]+\\") + offset));
  }
  const std::string unknown = emit(strided(false), {}).code;
  EXPECT_THAT(unknown, HasSubstr("div.u32"));
  EXPECT_THAT(unknown, Not(HasSubstr("+1024]")));
}

TEST(Ptx, ALoopWhoseCounterMayWrapIsKeptFromTheAssemblersUnrolling) {
  // In the block that the loop comes back to, where the assembler looks for it.
  EXPECT_THAT(emit(strided(true), {}).code,
              testing::ContainsRegex("\\$L[0-9]+:\n\t.pragma \"nounroll\";"));
}

TEST(Ptx, DivisionsByConstantsNeedNoTest) {
  const auto divided = [](std::uint64_t by) {
    test::Shapes k("divide");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), false);
    const ir::ValueId i = k.position(ir::Op::GlobalIdx, 0);
    k.store(x, i, k.op(ir::Op::Div, {k.load(x, i), k.constant(Scalar::I32, by)}));
    return emit(k.finish(), {}).code;
  };
  EXPECT_THAT(divided(8), Not(HasSubstr("div.")));
  EXPECT_THAT(divided(7), testing::ContainsRegex("div.s32 %r[0-9]+, %r[0-9]+, 7"));
  EXPECT_THAT(divided(0xfffffffd), testing::ContainsRegex("div.s32 %r[0-9]+, %r[0-9]+, -3"));
  EXPECT_THAT(divided(0), HasSubstr("setp.eq.b32"));
  EXPECT_THAT(divided(0xffffffff), HasSubstr("setp.eq.b32"));
}

TEST(Ptx, LinesAreTheAuthors) {
  const std::string code = emit(everything_else(), {}).code;
  EXPECT_THAT(code, HasSubstr(".file 1 \"a.cpp\""));
  EXPECT_THAT(code, HasSubstr(".file 2 \"b.cpp\""));
  EXPECT_THAT(code, HasSubstr(".loc 1 12 0"));
  EXPECT_THAT(code, HasSubstr(".loc 2 7 0"));
}

TEST(Ptx, OldDriversGetAnOlderLanguage) {
  EXPECT_EQ(target_for(13000, 100).language, 81);
  EXPECT_EQ(target_for(13000, 100).chip, 90);
  EXPECT_EQ(target_for(13000, 86).chip, 86);
  EXPECT_EQ(target_for(12000, 90).language, 63);
  EXPECT_EQ(target_for(12000, 90).chip, 75);
}

TEST(Ptx, TheAssemblerTakesIt) {
  const std::string ptxas =
      std::filesystem::exists("/usr/local/cuda/bin/ptxas") ? "/usr/local/cuda/bin/ptxas" : "ptxas";
  if (std::system((ptxas + " --version > /dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "ptxas is not installed";
  }
  const auto folder = std::filesystem::path(testing::TempDir()) / "salvo_ptx_test";
  std::filesystem::create_directories(folder);
  for (const ir::Kernel& kernel :
       {all_float_operations(Scalar::F32), all_float_operations(Scalar::F64), everything_else(),
        through_a_table(1), through_a_table(512), test::copied_records()}) {
    const auto file = folder / (kernel.name + ".ptx");
    EmitOptions proved;
    proved.may_alias = 0;
    std::ofstream(file) << emit(kernel, proved).code;
    const std::string command =
        fmt::format("{} -arch=sm_90 -lineinfo -o {}/out.cubin {} > {}/log 2>&1", ptxas,
                    folder.string(), file.string(), folder.string());
    std::ostringstream log;
    const int status = std::system(command.c_str());
    log << std::ifstream(folder / "log").rdbuf();
    EXPECT_EQ(status, 0) << kernel.name << "\n" << log.str();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace salvo::codegen::ptx
