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
#include "ir/builder.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::codegen::ptx {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;
using test::Shapes;
using testing::HasSubstr;
using testing::Not;

/// Every float operation there is, on one type.
ir::Kernel all_float_operations(Scalar type) {
  Shapes k("floats");
  const auto x = k.span_parameter("x", ir::Element::scalar(type), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(type), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId a = k.load(x, i);
  ValueId sum = a;
  for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Min, Op::Max, Op::Atan2, Op::Pow, Op::Hypot,
                Op::Fmod, Op::Copysign}) {
    sum = k.op(Op::Add, {sum, k.op(op, {a, sum})});
  }
  sum = k.op(Op::Fma, {sum, a, a});
  for (Op op : {Op::Neg, Op::Abs, Op::Sqrt, Op::Rsqrt, Op::Cbrt, Op::Sin, Op::Cos, Op::Tan, Op::Asin,
                Op::Acos, Op::Atan, Op::Sinh, Op::Cosh, Op::Tanh, Op::Exp, Op::Exp2, Op::Expm1,
                Op::Log, Op::Log2, Op::Log10, Op::Log1p, Op::Floor, Op::Ceil, Op::Round, Op::Trunc}) {
    sum = k.op(Op::Mul, {sum, k.op(op, {a})});
  }
  k.store(y, i, sum);
  return k.finish();
}

/// A kernel with control, shared memory, warp operations, atomics and narrow types.
ir::Kernel everything_else() {
  Shapes k("add");  // an instruction's name
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F16), false);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::BF16), false);
  const auto n = k.span_parameter("n", ir::Element::scalar(Scalar::I64), false);
  const auto shared = k.shared_array("tile", ir::Element::scalar(Scalar::F32), 64);
  const auto local = k.local_array("kept", ir::Element::scalar(Scalar::I8), 4);
  k.at("a.cpp", 12);
  const ValueId t = k.position(Op::ThreadIdx, 0);
  k.store(shared, t, k.load(x, t));
  k.statement(Op::Barrier);
  k.for_up(k.constant_i32(0), k.constant_i32(9), k.constant_i32(2), [&](ValueId i) {
    k.store(local, k.op(Op::And, {i, k.constant_i32(3)}), i);
    k.if_else(k.op(Op::Gt, {i, t}), [&] { k.statement(Op::Break); },
              [&] { k.statement(Op::Continue); });
  });
  k.at("b.cpp", 7);
  k.store(y, t, k.op(Op::WarpAdd, {k.load(shared, t)}));
  const ValueId wide = k.cast(Scalar::I64, k.op(Op::Shuffle, {t, k.constant_i32(1)}));
  k.switch_on(t, {1, 5},
              {[&] { k.atomic(Op::AtomicMax, n, {t, wide}); },
               [&] { k.store(n, t, k.op(Op::Div, {wide, k.cast(Scalar::I64, t)})); },
               [&] { k.statement(Op::Return); }});
  k.store(n, t, k.length(n));
  return k.finish();
}

ir::Kernel through_a_table(std::uint32_t slots) {
  Shapes k("table");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false, slots);
  const auto scale = k.scalar_parameter("scale", Scalar::F32, slots);
  const ValueId slot = k.position(Op::BlockIdx, 0);
  const ValueId i = k.position(Op::ThreadIdx, 0);
  const ValueId old = k.load(x, i, 0, slot);
  k.store(x, i, k.op(Op::Mul, {old, k.param(scale, slot)}), 0, slot);
  return k.finish();
}

/// Instructions of floats that a later compiler could contract.
std::vector<std::string> contractible(const std::string& code) {
  static const std::regex kBare(R"((^|\s)(add|sub|mul|mad|fma)(\.\w+)*\.(f16|f16x2|bf16|f32|f64|f32x2)\b)");
  std::vector<std::string> found;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, kBare) && line.find(".rn") == std::string::npos) found.push_back(line);
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
  const std::string ptxas = std::filesystem::exists("/usr/local/cuda/bin/ptxas")
                                ? "/usr/local/cuda/bin/ptxas" : "ptxas";
  if (std::system((ptxas + " --version > /dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << "ptxas is not installed";
  }
  const auto folder = std::filesystem::path(testing::TempDir()) / "salvo_ptx_test";
  std::filesystem::create_directories(folder);
  for (const ir::Kernel& kernel :
       {all_float_operations(Scalar::F32), all_float_operations(Scalar::F64), everything_else(),
        through_a_table(1), through_a_table(512)}) {
    const auto file = folder / (kernel.name + ".ptx");
    std::ofstream(file) << emit(kernel, {}).code;
    const std::string command = fmt::format("{} -arch=sm_90 -lineinfo -o {}/out.cubin {} > {}/log 2>&1",
                                            ptxas, folder.string(), file.string(), folder.string());
    std::ostringstream log;
    const int status = std::system(command.c_str());
    log << std::ifstream(folder / "log").rdbuf();
    EXPECT_EQ(status, 0) << kernel.name << "\n" << log.str();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace salvo::codegen::ptx
