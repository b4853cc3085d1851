// What a backend is known not to do, with the reason.
// SPDX-License-Identifier: MIT
#include "conformance/exceptions.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "codegen/llvm/emitter.hpp"
#include "codegen/spirv/emitter.hpp"
#include "passes/expand_math.hpp"
#include "passes/expand_math_single.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::conformance {
namespace {

using ir::Op;

struct Exception {
  std::string_view backend;
  std::string_view device;  // part of its name or its platform's; empty: any
  std::string_view test;
  std::string_view reason;
};

constexpr std::string_view kFlushes =
    "adding to an f32 in global memory takes denormals for zero, as the PTX specification says";

constexpr Exception kExceptions[] = {
    {"CUDA/PTX", "", "Atomics.EachReturnsTheOldValueAndLeavesTheNew_f32", kFlushes},
    {"CUDA/C", "", "Atomics.EachReturnsTheOldValueAndLeavesTheNew_f32", kFlushes},
    {"HIP", "NVIDIA", "Atomics.EachReturnsTheOldValueAndLeavesTheNew_f32", kFlushes},
    {"OpenCL", "", "Streams.RegisteredMemoryIsCopiedAsynchronously",
     "OpenCL reaches host memory it did not allocate only as a buffer that aliases it"},
    {"Vulkan", "", "Streams.RegisteredMemoryIsCopiedAsynchronously",
     "Vulkan reaches host memory it did not allocate only by an extension few drivers have"},
    {"Metal", "Metal 2", "Grids.FencesOrderNothingElse", "a fence is a word of Metal 3.2"},
    {"Metal", "", "Streams.RegisteredMemoryIsCopiedAsynchronously",
     "Metal takes memory it did not allocate by whole pages alone"},
    {"Native", "", "Streams.UserSourceRunsWithItsOwnArguments",
     "Native compiles traced kernels; what a user writes for the host needs no device"},
    {"Vulkan", "", "Streams.UserSourceRunsWithItsOwnArguments",
     "a SPIR-V module of the user's states no layout that raw arguments could follow"},
};

/// The OpenCL 3.0 specification, section 7.4, full profile; single and double precision alike.
const std::map<Op, double> kOpenclUlps{
    {Op::Rsqrt, 2}, {Op::Cbrt, 2}, {Op::Sin, 4},   {Op::Cos, 4},  {Op::Tan, 5},  {Op::Asin, 4},
    {Op::Acos, 4},  {Op::Atan, 5}, {Op::Atan2, 6}, {Op::Sinh, 4}, {Op::Cosh, 4}, {Op::Tanh, 5},
    {Op::Exp, 3},   {Op::Exp2, 3}, {Op::Expm1, 3}, {Op::Log, 3},  {Op::Log2, 3}, {Op::Log10, 3},
    {Op::Log1p, 2}, {Op::Pow, 16}, {Op::Hypot, 4},
};

/// The CUDA C++ programming guide's table of maximum errors, without fast math. Its functions are
/// compiled with contraction there and without here, which costs some of them up to a unit.
const std::map<Op, double> kCudaSingleUlps{
    {Op::Rsqrt, 2}, {Op::Cbrt, 2}, {Op::Sin, 2},   {Op::Cos, 2},  {Op::Tan, 4},  {Op::Asin, 2},
    {Op::Acos, 2},  {Op::Atan, 2}, {Op::Atan2, 3}, {Op::Sinh, 3}, {Op::Cosh, 2}, {Op::Tanh, 2},
    {Op::Exp, 2},   {Op::Exp2, 2}, {Op::Expm1, 2}, {Op::Log, 1},  {Op::Log2, 1}, {Op::Log10, 2},
    {Op::Log1p, 1}, {Op::Pow, 4},  {Op::Hypot, 3},
};
const std::map<Op, double> kCudaDoubleUlps{
    {Op::Rsqrt, 1}, {Op::Cbrt, 1}, {Op::Sin, 2},   {Op::Cos, 2},  {Op::Tan, 2},  {Op::Asin, 2},
    {Op::Acos, 2},  {Op::Atan, 2}, {Op::Atan2, 2}, {Op::Sinh, 2}, {Op::Cosh, 2}, {Op::Tanh, 2},
    {Op::Exp, 1},   {Op::Exp2, 1}, {Op::Expm1, 1}, {Op::Log, 1},  {Op::Log2, 2}, {Op::Log10, 2},
    {Op::Log1p, 2}, {Op::Pow, 2},  {Op::Hypot, 2},
};

/// On F64 the interpreter calls the host's libm; glibc states these for x86-64, the rest is 1.
const std::map<Op, double> kHostUlps{
    {Op::Cbrt, 4}, {Op::Cosh, 2}, {Op::Log10, 2}, {Op::Sinh, 2}, {Op::Tanh, 2},
};

/// x[i] = (int)(scale * i) + offset, as somebody else's compiler might make it.
std::string scaled_module() {
  test::Shapes k("scaled");
  const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::I32), false);
  const auto scale = k.scalar_parameter("scale", ir::Scalar::F32);
  const auto offset = k.scalar_parameter("offset", ir::Scalar::I32);
  const ir::ValueId i = k.position(Op::GlobalIdx, 0);
  const ir::ValueId scaled = k.op(Op::Mul, {k.param(scale), k.cast(ir::Scalar::F32, i)});
  k.store(x, i, k.op(Op::Add, {k.cast(ir::Scalar::I32, scaled), k.param(offset)}));
  codegen::spirv::Options options;
  options.flavour = codegen::spirv::Flavour::kernel;
  const auto words = codegen::spirv::emit(k.finish(), options).words;
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0])};
}

}  // namespace

std::string_view expected_failure(const Subject& subject, std::string_view test) {
  for (const Exception& exception : kExceptions) {
    const DeviceProperties& device = subject.driver->properties();
    if (exception.backend == subject.backend && exception.test == test &&
        (device.platform.find(exception.device) != std::string::npos ||
         device.name.find(exception.device) != std::string::npos)) {
      return exception.reason;
    }
  }
  return {};
}

runtime::UserSource user_source(const Subject& subject) {
  if (subject.backend == "OpenCL") {
    return {"OpenCL C",
            "kernel void scaled(global int* x, float scale, int offset) {\n"
            "  const int i = get_global_id(0);\n"
            "  x[i] = (int)(scale * i) + offset;\n"
            "}\n",
            "scaled",
            {}};
  }
  if (subject.backend == "CUDA/C" || subject.backend == "HIP") {
    return {subject.backend == "HIP" ? "HIP" : "CUDA C",
            "extern \"C\" __global__ void scaled(int* x, float scale, int offset) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  x[i] = (int)(scale * i) + offset;\n"
            "}\n",
            "scaled",
            {}};
  }
  if (subject.backend == "Metal") {
    return {"MSL",
            "#include <metal_stdlib>\n"
            "using namespace metal;\n"
            "kernel void scaled(device int* x [[buffer(0)]], constant float& scale [[buffer(1)]],\n"
            "                   constant int& offset [[buffer(2)]],\n"
            "                   uint i [[thread_position_in_grid]]) {\n"
            "  x[i] = (int)(scale * i) + offset;\n"
            "}\n",
            "scaled",
            {}};
  }
  if (subject.backend == "CUDA/PTX") {
    return {"PTX",
            ".version 6.3\n.target sm_70\n.address_size 64\n"
            ".visible .entry scaled(.param .u64 x, .param .f32 scale, .param .u32 offset)\n{\n"
            "  .reg .b32 %r<8>;\n  .reg .f32 %f<4>;\n  .reg .b64 %rd<4>;\n"
            "  ld.param.u64 %rd0, [x];\n  ld.param.f32 %f0, [scale];\n"
            "  ld.param.u32 %r0, [offset];\n  cvta.to.global.u64 %rd1, %rd0;\n"
            "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
            "  mad.lo.s32 %r4, %r1, %r2, %r3;\n  cvt.rn.f32.s32 %f1, %r4;\n"
            "  mul.rn.f32 %f2, %f0, %f1;\n  cvt.rzi.s32.f32 %r5, %f2;\n"
            "  add.s32 %r6, %r5, %r0;\n  mad.wide.s32 %rd2, %r4, 4, %rd1;\n"
            "  st.global.u32 [%rd2], %r6;\n  ret;\n}\n",
            "scaled",
            {}};
  }
  if (subject.backend == "Native") return {"C", "", "scaled", {}};
  if (subject.backend == "Vulkan") return {"SPIR-V", "", "scaled", {}};
  if (subject.backend == "LevelZero")
    return {"SPIR-V", scaled_module(), codegen::spirv::kKernelEntry, {}};
  throw std::logic_error("no source is given for " + subject.backend);
}

double stated_ulps(const Subject& subject, Op function, ir::Scalar type) {
  // On F32 computed in F64 and rounded once (passes/expand_math_plain.hpp).
  if (subject.backend == "Vulkan") {
    return type == ir::Scalar::F32 ? 1 : passes::math_ulps(function, type);
  }
  const bool wide = type == ir::Scalar::F64;
  double bound = 0;
  if (subject.backend == "OpenCL" || subject.backend == "LevelZero" || subject.backend == "HIP") {
    // HIP's functions are those of AMD's OpenCL library.
    bound = kOpenclUlps.at(function);
    // Oclgrind calls the host's functions, some of which keep less than OpenCL asks for.
    const auto host = kHostUlps.find(function);
    if (wide && host != kHostUlps.end() &&
        subject.driver->properties().name.find("Oclgrind") != std::string::npos) {
      bound = std::max(bound, host->second);
    }
  } else if (subject.backend == "Metal") {
    // Those that MSL lacks are written out (passes/expand_math_single.hpp).
    const double log = kOpenclUlps.at(Op::Log);
    const bool written = function == Op::Cbrt || function == Op::Expm1 || function == Op::Log1p ||
                         function == Op::Hypot;
    bound = written ? passes::single_math_ulps(function, log) : kOpenclUlps.at(function);
  } else if (subject.backend == "CUDA/C") {
    bound = (wide ? kCudaDoubleUlps : kCudaSingleUlps).at(function);
  } else if (subject.backend == "CUDA/PTX") {
    bound = passes::math_ulps(function, type);
  } else if (subject.backend == "Native") {
    bound = codegen::llvm::function_ulps(function, type);
  } else {
    throw std::logic_error("no bounds are stated for " + subject.backend);
  }
  return bound;
}

double ulp_bound(const Subject& subject, Op function, ir::Scalar type) {
  const double bound = stated_ulps(subject, function, type);
  if (type != ir::Scalar::F64) return bound;
  const auto host = kHostUlps.find(function);
  return bound + (host == kHostUlps.end() ? 1 : host->second);
}

}  // namespace salvo::conformance
