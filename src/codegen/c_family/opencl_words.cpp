// The identifiers that OpenCL C keeps for itself.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/opencl_words.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace salvo::codegen::c_family {
namespace {

// Sorted, for binary search.
constexpr std::string_view kWords[] = {
    "abs", "abs_diff", "acos", "acosh", "acospi", "add_sat", "aligned", "all", "any", "asin",
    "asinh", "asinpi", "asm", "atan", "atan2", "atan2pi", "atanh", "atanpi", "auto", "barrier",
    "bitselect", "bool", "break", "case", "cbrt", "ceil", "char", "clamp", "clz", "complex",
    "const", "constant", "continue", "copysign", "cos", "cosh", "cospi", "cross", "ctz", "default",
    "degrees", "distance", "do", "dot", "double", "else", "enqueue_kernel", "enum", "erf", "erfc",
    "event_t", "exp", "exp10", "exp2", "expm1", "extern", "fabs", "false", "fast_distance",
    "fast_length", "fast_normalize", "fdim", "float", "floor", "fma", "fmax", "fmin", "fmod", "for",
    "fract", "frexp", "generic", "global", "goto", "hadd", "half", "hypot", "if", "ilogb", "imaginary",
    "inline", "int", "intptr_t", "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf",
    "isless", "islessequal", "islessgreater", "isnan", "isnormal", "isnotequal", "isordered",
    "isunordered", "kernel", "ldexp", "length", "lgamma", "lgamma_r", "linux", "local", "log",
    "log10", "log1p", "log2", "logb", "long", "mad", "mad24", "mad_hi", "mad_sat", "main", "max",
    "maxmag", "mem_fence", "min", "minmag", "mix", "modf", "mul24", "mul_hi", "nan", "nextafter",
    "normalize", "nosvm", "pipe", "popcount", "pow", "pown", "powr", "prefetch", "printf",
    "private", "ptrdiff_t", "quad", "radians", "read_only", "read_write", "register", "remainder",
    "remquo", "reserve_id_t", "restrict", "return", "rhadd", "rint", "rootn", "rotate", "round",
    "rsqrt", "sampler_t", "select", "short", "shuffle", "shuffle2", "sign", "signbit", "signed",
    "sin", "sincos", "sinh", "sinpi", "size_t", "sizeof", "smoothstep", "sqrt", "static", "step",
    "struct", "sub_sat", "switch", "tan", "tanh", "tanpi", "tgamma", "true", "trunc", "typedef",
    "uchar", "uint", "uintptr_t", "ulong", "uniform", "union", "unix", "unsigned", "upsample",
    "ushort", "vec_step", "void", "volatile", "wait_group_events", "while", "work_group_barrier",
    "write_only",
};
static_assert(std::is_sorted(std::begin(kWords), std::end(kWords)));

constexpr std::string_view kVectorBases[] = {"bool", "char",  "double", "float", "half",  "int",  "long",
                                             "quad", "short", "uchar",  "uint",  "ulong", "ushort"};

// Families of functions and types whose members are many.
constexpr std::string_view kPrefixes[] = {
    "as_",      "async_",  "atom_",  "atomic_",    "cl_",    "clk_",       "convert_", "get_",
    "half_",    "image1d", "image2d", "image3d",   "intel_", "memory_",    "native_",  "ndrange_",
    "read_image", "read_mem_", "sub_group_", "vload", "vstore", "work_group_", "write_image", "write_mem_",
};

bool is_vector_type(std::string_view name) {
  return std::any_of(std::begin(kVectorBases), std::end(kVectorBases), [&](std::string_view base) {
    if (!name.starts_with(base)) return false;
    const std::string_view width = name.substr(base.size());
    return width == "2" || width == "3" || width == "4" || width == "8" || width == "16";
  });
}

}  // namespace

bool is_opencl_word(std::string_view name) {
  return std::binary_search(std::begin(kWords), std::end(kWords), name) || is_vector_type(name) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace salvo::codegen::c_family
