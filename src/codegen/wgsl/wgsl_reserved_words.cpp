// The identifiers that WGSL keeps for itself, and those of its functions that printed kernels call.
// SPDX-License-Identifier: MIT
#include "codegen/wgsl/wgsl_reserved_words.hpp"

#include <algorithm>
#include <iterator>

namespace salvo::codegen::wgsl {
namespace {

// clang-format off
// Sorted, for binary search.
constexpr std::string_view kWords[] = {
    "NULL", "Self", "abs", "abstract", "acos", "acosh", "active", "alias", "alignas", "alignof",
    "all", "any", "array", "as", "asin", "asinh", "asm", "asm_fragment", "async", "atan", "atan2",
    "atanh", "atomic", "attribute", "auto", "await", "become", "bitcast", "bool", "break", "case",
    "cast", "catch", "ceil", "clamp", "class", "co_await", "co_return", "co_yield", "coherent",
    "column_major", "common", "compile", "compile_fragment", "concept", "const", "const_assert",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "continuing", "cos", "cosh",
    "countLeadingZeros", "countOneBits", "crate", "debugger", "decltype", "default", "degrees",
    "delete", "demote", "demote_to_helper", "diagnostic", "discard", "do", "dynamic_cast", "else",
    "enable", "enum", "exp", "exp2", "explicit", "export", "extends", "extern", "external", "f16",
    "f32", "fallthrough", "false", "filter", "final", "finally", "floor", "fma", "fn", "for",
    "fract", "friend", "from", "function", "fxgroup", "get", "goto", "groupshared", "highp", "i32",
    "if", "impl", "implements", "import", "inline", "instanceof", "interface", "inverseSqrt",
    "layout", "let", "log", "log2", "loop", "lowp", "macro", "macro_rules", "main", "mat2x2",
    "match", "max", "mediump", "meta", "min", "mod", "module", "move", "mut", "mutable",
    "namespace", "new", "nil", "noexcept", "noinline", "nointerpolation", "non_coherent",
    "noncoherent", "noperspective", "null", "nullptr", "of", "operator", "override",
    "pack2x16float", "package", "packoffset", "partial", "pass", "patch", "pixelfragment", "pow",
    "precise", "precision", "premerge", "priv", "private", "protected", "ptr", "pub", "public",
    "quantizeToF16", "radians", "read", "read_write", "readonly", "ref", "regardless", "register",
    "reinterpret_cast", "require", "requires", "resource", "restrict", "return", "round", "select",
    "self", "set", "shared", "sign", "sin", "sinh", "sizeof", "smooth", "snorm", "sqrt", "static",
    "static_assert", "static_cast", "std", "step", "storage", "storageBarrier", "struct",
    "subroutine", "super", "switch", "tan", "tanh", "target", "template", "this", "thread_local",
    "throw", "trait", "true", "trunc", "try", "type", "typedef", "typeid", "typename", "typeof",
    "u32", "uniform", "union", "unless", "unorm", "unpack2x16float", "unsafe", "unsized", "use",
    "using", "var", "varying", "vec2", "vec3", "vec4", "virtual", "volatile", "wgsl", "where",
    "while", "with", "workgroup", "workgroupBarrier", "workgroupUniformLoad", "write", "writeonly",
    "yield",
};
// clang-format on
static_assert(std::is_sorted(std::begin(kWords), std::end(kWords)));

}  // namespace

bool is_wgsl_word(std::string_view name) {
  return name.starts_with("atomic") || std::ranges::binary_search(kWords, name);
}

}  // namespace salvo::codegen::wgsl
