// The identifiers that the Metal Shading Language keeps for itself.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/metal_reserved_words.hpp"

#include <algorithm>
#include <iterator>

namespace salvo::codegen::c_family {
namespace {

// clang-format off
// Sorted, for binary search.
constexpr std::string_view kWords[] = {
    "abs", "absdiff", "acos", "acosh", "addsat", "alignas", "alignof", "all", "alloc_command",
    "and", "and_eq", "any", "array", "array_ref", "as_type", "asin", "asinh", "asm", "atan",
    "atan2", "atanh", "auto", "bfloat", "bitand", "bitor", "bool", "break", "case", "catch",
    "ceil", "char", "char16_t", "char32_t", "clamp", "class", "clz", "compl", "const",
    "const_cast", "constant", "constexpr", "continue", "copysign", "cos", "cosh", "cospi",
    "cross", "ctz", "decltype", "default", "delete", "depth", "device", "discard_fragment",
    "distance", "distance_squared", "divide", "do", "dot", "double", "dynamic_cast", "else",
    "enum", "exp", "exp10", "exp2", "explicit", "export", "extern", "extract_bits", "fabs",
    "faceforward", "false", "fast", "fdim", "float", "floor", "fma", "fmax", "fmax3",
    "fmedian3", "fmin", "fmin3", "fmod", "for", "fract", "fragment", "frexp", "friend", "goto",
    "hadd", "half", "if", "ilogb", "imageblock", "infer", "inline", "insert_bits", "int",
    "int16_t", "int32_t", "int64_t", "int8_t", "intersection", "is_null_texture", "isfinite",
    "isinf", "isnan", "isnormal", "isordered", "isunordered", "kernel", "ldexp", "length",
    "length_squared", "level", "log", "log10", "log2", "long", "mad24", "madhi", "madsat",
    "main", "max", "max3", "median3", "mem_flags", "mesh", "metal", "min", "min3", "mix",
    "modf", "mul24", "mulhi", "mutable", "namespace", "new", "nextafter", "noexcept",
    "normalize", "not", "not_eq", "nullptr", "numeric_limits", "object", "object_data",
    "operator", "or", "or_eq", "patch", "payload", "popcount", "pow", "powr", "precise",
    "private", "protected", "ptrdiff_t", "public", "raytracing", "reflect", "refract",
    "register", "reinterpret_cast", "return", "reverse_bits", "rhadd", "rint", "rotate",
    "round", "rsqrt", "sampler", "saturate", "select", "short", "sign", "signbit", "signed",
    "sin", "sincos", "sinh", "sinpi", "size_t", "sizeof", "smoothstep", "sqrt", "static",
    "static_assert", "static_cast", "step", "struct", "subsat", "switch", "tan", "tanh",
    "tanpi", "template", "tensor", "this", "thread", "thread_scope", "threadgroup",
    "threadgroup_barrier", "threadgroup_imageblock", "throw", "true", "trunc", "try", "typedef",
    "typeid", "typename", "uchar", "uint", "uint16_t", "uint32_t", "uint64_t", "uint8_t",
    "ulong", "union", "unsigned", "ushort", "using", "vec", "vector", "vertex", "virtual",
    "visible", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
};

// Types that come with a number of elements, or of rows and columns.
constexpr std::string_view kVectorBases[] = {
    "bfloat", "bool", "char", "float", "half", "int", "long", "short", "uchar", "uint", "ulong",
    "ushort",
};
// clang-format on
static_assert(std::is_sorted(std::begin(kWords), std::end(kWords)));

// Families of functions and types whose members are many.
constexpr std::string_view kPrefixes[] = {
    "access_", "atomic_",       "coherence_", "depth2d",    "depthcube", "make_filter_",
    "memory_", "packed_",       "quad_",      "quadgroup_", "simd_",     "simdgroup_",
    "texture", "thread_scope_", "unpack_",    "pack_",      "is_",       "indirect_",
};

bool is_vector_type(std::string_view name) {
  return std::any_of(std::begin(kVectorBases), std::end(kVectorBases), [&](std::string_view base) {
    if (!name.starts_with(base)) return false;
    const auto is_count = [](char c) { return c >= '2' && c <= '4'; };
    const std::string_view size = name.substr(base.size());
    if (size.size() == 1) return is_count(size[0]);
    return size.size() == 3 && is_count(size[0]) && size[1] == 'x' && is_count(size[2]);
  });
}

}  // namespace

bool is_metal_word(std::string_view name) {
  return std::binary_search(std::begin(kWords), std::end(kWords), name) || is_vector_type(name) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace salvo::codegen::c_family
