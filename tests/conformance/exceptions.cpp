// What a backend is known not to do, with the reason.
// SPDX-License-Identifier: MIT
#include "conformance/exceptions.hpp"

#include <map>
#include <stdexcept>
#include <string>

namespace salvo::conformance {
namespace {

using ir::Op;

struct Exception {
  std::string_view backend;
  std::string_view platform;  // part of its name; empty: any
  std::string_view test;
  std::string_view reason;
};

constexpr Exception kExceptions[] = {
    {"OpenCL", "", "Streams.RegisteredMemoryIsCopiedAsynchronously",
     "OpenCL reaches host memory it did not allocate only as a buffer that aliases it"},
    {"Vulkan", "", "Streams.RegisteredMemoryIsCopiedAsynchronously",
     "Vulkan reaches host memory it did not allocate only by an extension few drivers have"},
    {"Vulkan", "", "Streams.UserSourceRunsWithItsOwnArguments",
     "a SPIR-V module of the user's states no layout that raw arguments could follow"},
};

/// The OpenCL 3.0 specification, section 7.4, full profile; single and double precision alike.
const std::map<Op, double> kOpenclUlps{
    {Op::Rsqrt, 2}, {Op::Cbrt, 2},  {Op::Sin, 4},   {Op::Cos, 4},   {Op::Tan, 5},   {Op::Asin, 4},
    {Op::Acos, 4},  {Op::Atan, 5},  {Op::Atan2, 6}, {Op::Sinh, 4},  {Op::Cosh, 4},  {Op::Tanh, 5},
    {Op::Exp, 3},   {Op::Exp2, 3},  {Op::Expm1, 3}, {Op::Log, 3},   {Op::Log2, 3},  {Op::Log10, 3},
    {Op::Log1p, 2}, {Op::Pow, 16},  {Op::Hypot, 4},
};

/// On F64 the interpreter calls the host's libm; glibc states these for x86-64, the rest is 1.
const std::map<Op, double> kHostUlps{
    {Op::Cbrt, 4}, {Op::Cosh, 2}, {Op::Log10, 2}, {Op::Sinh, 2}, {Op::Tanh, 2},
};

}  // namespace

std::string_view expected_failure(const Subject& subject, std::string_view test) {
  for (const Exception& exception : kExceptions) {
    if (exception.backend == subject.backend && exception.test == test &&
        subject.driver->properties().platform.find(exception.platform) != std::string::npos) {
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
  if (subject.backend == "Vulkan") return {"SPIR-V", "", "scaled", {}};
  throw std::logic_error("no source is given for " + subject.backend);
}

double ulp_bound(const Subject& subject, Op function, ir::Scalar type) {
  // Computed in F64 and rounded once (passes/expand_math.hpp).
  if (subject.backend == "Vulkan" && type == ir::Scalar::F32) return 1;
  if (subject.backend != "OpenCL") {
    throw std::logic_error("no bounds are stated for " + subject.backend);
  }
  double bound = kOpenclUlps.at(function);
  if (type == ir::Scalar::F64) {
    const auto host = kHostUlps.find(function);
    bound += host == kHostUlps.end() ? 1 : host->second;
  }
  return bound;
}

bool refuses(const Subject& subject, Op, ir::Scalar type) {
  // GLSL.std.450 has these functions for F32 only, and nothing wider to compute them in.
  return subject.backend == "Vulkan" && type == ir::Scalar::F64;
}

}  // namespace salvo::conformance
