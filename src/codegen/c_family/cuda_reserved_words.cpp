// The identifiers that CUDA C++ keeps for itself.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/cuda_reserved_words.hpp"

#include <algorithm>
#include <iterator>

namespace salvo::codegen::c_family {
namespace {

// clang-format off
// Sorted, for binary search.
constexpr std::string_view kWords[] = {
    "abs", "acos", "acosh", "alignas", "alignof", "all", "and", "and_eq", "any", "asin", "asinh",
    "asm", "assert", "atan", "atan2", "atanh", "auto", "ballot", "bitand", "bitor", "blockDim",
    "blockIdx", "bool", "break", "brev", "case", "catch", "cbrt", "ceil", "char", "char16_t",
    "char32_t", "char8_t", "class", "clock", "clock64", "clz", "co_await", "co_return", "co_yield",
    "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue",
    "copysign", "cos", "cosh", "cospi", "decltype", "default", "delete", "dim3", "do", "double",
    "dynamic_cast", "else", "enum", "erf", "erfc", "exp", "exp10", "exp2", "explicit", "expm1",
    "export", "extern", "fabs", "false", "fdim", "float", "floor", "fma", "fmax", "fmin", "fmod",
    "for", "free", "frexp", "friend", "goto", "gridDim", "hypot", "if", "ilogb", "inline", "int",
    "isfinite", "isinf", "isnan", "j0", "j1", "jn", "labs", "ldexp", "lgamma", "llabs", "llrint",
    "llround", "log", "log10", "log1p", "log2", "logb", "long", "lrint", "lround", "main",
    "malloc", "max", "memcpy", "memset", "min", "modf", "mutable", "namespace", "nan", "nearbyint",
    "new", "nextafter", "noexcept", "norm", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "pow", "printf", "private", "protected", "ptrdiff_t", "public", "rcbrt", "register",
    "reinterpret_cast", "remainder", "remquo", "requires", "return", "rhypot", "rint", "round",
    "rsqrt", "saturate", "scalbn", "short", "signbit", "signed", "sin", "sincos", "sinh", "sinpi",
    "size_t", "sizeof", "sqrt", "static", "static_assert", "static_cast", "std", "struct",
    "switch", "tan", "tanh", "template", "tgamma", "this", "threadIdx", "throw", "true", "trunc",
    "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void",
    "volatile", "warpSize", "wchar_t", "while", "xor", "xor_eq", "y0", "y1", "yn",
};
// clang-format on
static_assert(std::is_sorted(std::begin(kWords), std::end(kWords)));

// Families of functions and types whose members are many.
constexpr std::string_view kPrefixes[] = {"atomic", "cuda", "make_",      "nv_",
                                          "surf",   "tex",  "threadfence"};

constexpr std::string_view kVectorBases[] = {"char",     "uchar",     "short", "ushort",
                                             "int",      "uint",      "long",  "ulong",
                                             "longlong", "ulonglong", "float", "double"};

bool is_vector_type(std::string_view name) {
  return name.size() > 1 && name.back() >= '1' && name.back() <= '4' &&
         std::find(std::begin(kVectorBases), std::end(kVectorBases),
                   name.substr(0, name.size() - 1)) != std::end(kVectorBases);
}

bool is_word(std::string_view name) {
  return std::binary_search(std::begin(kWords), std::end(kWords), name);
}

}  // namespace

bool is_cuda_word(std::string_view name) {
  // Of most math functions there is one more for floats: sinf.
  return is_word(name) || (name.ends_with('f') && is_word(name.substr(0, name.size() - 1))) ||
         is_vector_type(name) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace salvo::codegen::c_family
