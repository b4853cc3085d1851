// Facts about types, operations and kernels that every layer shares.
// SPDX-License-Identifier: MIT
#include "ir/kernel.hpp"

#include <algorithm>
#include <array>

namespace salvo::ir {
namespace {

struct ScalarFacts {
  std::string_view name;
  std::uint8_t bytes;
  Scalar compute;
};

constexpr std::array<ScalarFacts, kScalarCount> kScalars{{
    {"bool", 1, Scalar::Bool},
    {"i8", 1, Scalar::I32},
    {"u8", 1, Scalar::U32},
    {"i16", 2, Scalar::I32},
    {"u16", 2, Scalar::U32},
    {"i32", 4, Scalar::I32},
    {"u32", 4, Scalar::U32},
    {"i64", 8, Scalar::I64},
    {"u64", 8, Scalar::U64},
    {"f16", 2, Scalar::F32},
    {"bf16", 2, Scalar::F32},
    {"f32", 4, Scalar::F32},
    {"f64", 8, Scalar::F64},
}};

constexpr std::string_view kOps[] = {
    "constant",
    "param",
    "length",
    "thread_idx",
    "block_idx",
    "block_dim",
    "grid_dim",
    "global_idx",
    "lane_id",
    "warp_size",
    "add",
    "sub",
    "mul",
    "div",
    "rem",
    "neg",
    "abs",
    "min",
    "max",
    "fma",
    "and",
    "or",
    "xor",
    "not",
    "shl",
    "shr",
    "shr_logical",
    "clz",
    "popcount",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "select",
    "cast",
    "bitcast",
    "sqrt",
    "rsqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "pow",
    "hypot",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fmod",
    "copysign",
    "isnan",
    "isinf",
    "load",
    "store",
    "atomic_add",
    "atomic_sub",
    "atomic_exchange",
    "atomic_min",
    "atomic_max",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "atomic_compare_exchange",
    "var_get",
    "var_set",
    "if",
    "for",
    "for_index",
    "while",
    "switch",
    "break",
    "continue",
    "return",
    "barrier",
    "fence",
    "shuffle",
    "shuffle_up",
    "shuffle_down",
    "shuffle_xor",
    "any",
    "all",
    "ballot",
    "warp_add",
    "warp_min",
    "warp_max",
    "intrinsic",
    "native",
    "matrix_fill",
    "matrix_load",
    "matrix_store",
    "matrix_multiply_add",
    "matrix_copy",
};
static_assert(std::size(kOps) == static_cast<std::size_t>(Op::MatrixCopy) + 1);

bool between(Op op, Op first, Op last) noexcept {
  return op >= first && op <= last;
}

}  // namespace

std::size_t size_of(Scalar type) noexcept {
  return kScalars[static_cast<std::size_t>(type)].bytes;
}
Scalar compute_type(Scalar type) noexcept {
  return kScalars[static_cast<std::size_t>(type)].compute;
}
std::string_view name(Scalar type) noexcept {
  return kScalars[static_cast<std::size_t>(type)].name;
}
std::string_view name(Op op) noexcept {
  return kOps[static_cast<std::size_t>(op)];
}

std::string_view name(MatrixUse use) noexcept {
  return use == MatrixUse::a ? "a" : use == MatrixUse::b ? "b" : "accumulator";
}

bool is_float(Scalar type) noexcept {
  return type >= Scalar::F16;
}
bool is_integer(Scalar type) noexcept {
  return type >= Scalar::I8 && type <= Scalar::U64;
}
bool is_signed(Scalar type) noexcept {
  return type == Scalar::I8 || type == Scalar::I16 || type == Scalar::I32 || type == Scalar::I64;
}

Element Element::scalar(Scalar type) {
  const auto bytes = static_cast<std::uint32_t>(size_of(type));
  return {std::string(ir::name(type)), bytes, bytes, {Field{"", type, 0}}};
}

bool is_leaf(Op op) noexcept {
  return op <= Op::WarpSize || op == Op::ForIndex;
}
bool is_pure(Op op) noexcept {
  return op <= Op::IsInf || op == Op::ForIndex;
}
bool is_position(Op op) noexcept {
  return between(op, Op::ThreadIdx, Op::LaneId);
}
bool is_comparison(Op op) noexcept {
  return between(op, Op::Eq, Op::Ge);
}
bool is_math(Op op) noexcept {
  return between(op, Op::Sqrt, Op::IsInf);
}
bool is_atomic(Op op) noexcept {
  return between(op, Op::AtomicAdd, Op::AtomicCompareExchange);
}
bool is_warp(Op op) noexcept {
  return between(op, Op::Shuffle, Op::WarpMax);
}
bool is_control(Op op) noexcept {
  return between(op, Op::If, Op::Return) && op != Op::ForIndex;
}
bool is_statement(Op op) noexcept {
  return op == Op::Store || op == Op::VarSet || is_control(op) || op == Op::Barrier ||
         op == Op::Fence || op == Op::Native || is_matrix(op);
}
bool is_user_code(Op op) noexcept {
  return op == Op::Intrinsic || op == Op::Native;
}

bool is_matrix(Op op) noexcept {
  return between(op, Op::MatrixFill, Op::MatrixCopy);
}
bool reads_memory(Op op) noexcept {
  return op == Op::Load || op == Op::MatrixLoad || is_atomic(op);
}
bool writes_memory(Op op) noexcept {
  return op == Op::Store || op == Op::MatrixStore || is_atomic(op);
}

std::uint32_t line_alignment(const Matrix& matrix, MatrixLayout layout) noexcept {
  const std::uint32_t line = layout == MatrixLayout::row_major ? matrix.columns : matrix.rows;
  return std::min(32U, line * static_cast<std::uint32_t>(size_of(matrix.type)));
}

int operands_without_slot(Op op) noexcept {
  if (op == Op::Param || op == Op::Length) return 0;
  if (op == Op::Load) return 1;
  if (op == Op::AtomicCompareExchange) return 3;
  if (op == Op::Store || op == Op::MatrixLoad || op == Op::MatrixStore || is_atomic(op)) return 2;
  return -1;
}

std::string in_superstep(const Kernel& kernel, const Node& node) {
  if (node.location >= kernel.locations.size()) return {};
  const std::string& name = kernel.locations[node.location].superstep;
  return name.empty() ? std::string() : " in superstep '" + name + "'";
}

ValueId Kernel::slot_of(const Node& node) const noexcept {
  const int plain = operands_without_slot(node.op);
  return plain >= 0 && node.operand_count > plain ? node.operands[static_cast<std::size_t>(plain)]
                                                  : kNoValue;
}

std::uint64_t Kernel::shared_bytes() const noexcept {
  std::uint64_t total = 0;
  for (const Memory& memory : memories) {
    if (memory.space != Space::Shared) continue;
    total = (total + 15) / 16 * 16 + std::uint64_t{memory.count} * memory.element.size;
  }
  return total;
}

bool Kernel::has_dynamic_shared() const noexcept {
  return std::any_of(memories.begin(), memories.end(), [](const Memory& memory) {
    return memory.space == Space::Shared && memory.count == 0;
  });
}

}  // namespace salvo::ir
