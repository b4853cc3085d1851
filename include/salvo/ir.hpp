// The vocabulary of the kernel IR that public headers need: scalar types, operations, ids.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace salvo::ir {

/// Types an element in memory can have. Arithmetic happens in the compute types only
/// (Bool, I32, U32, I64, U64, F32, F64): a narrower element widens when loaded and is rounded or
/// truncated when stored (K1).
enum class Scalar : std::uint8_t {
  Bool,  // one byte in memory, 0 or 1
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,   // IEEE binary16, storage only
  BF16,  // upper half of binary32, storage only
  F32,
  F64,
};
inline constexpr int kScalarCount = 13;

/// What a node does. Operands are named in the comments, in order; `type` is the node's result
/// type.
enum class Op : std::uint8_t {
  // Leaves: no operands, no effect; may be repeated or moved freely.
  Constant,   // `literal` holds the bits of a `type`
  Param,      // scalar parameter `index`; operand 0, if any: slot of the argument table
  Length,     // elements of span `memory`, as I64; operand 0, if any: slot
  ThreadIdx,  // position in the block along `axis`, I32
  BlockIdx,   // position of the block in the grid, I32
  BlockDim,   // threads of a block, I32
  GridDim,    // blocks of the grid, I32
  GlobalIdx,  // block_idx * block_dim + thread_idx along `axis`, I32
  LaneId,     // position in the warp, I32
  WarpSize,   // threads of a warp, I32

  // Arithmetic on equal types. Integers wrap; Div and Rem truncate toward zero (K3); division of an
  // integer by zero gives 0 and the remainder the dividend, on every target.
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  Neg,
  Abs,
  Min,  // floats: the other operand if one is NaN (IEEE minNum); min(-0, +0) is -0
  Max,
  Fma,  // a * b + c rounded once, floats only

  // Bits. Shift counts are taken modulo the width.
  And,
  Or,
  Xor,
  Not,
  Shl,
  Shr,         // arithmetic on signed, logical on unsigned types
  ShrLogical,  // logical on every type
  Clz,
  Popcount,

  // Comparisons: operands of one type, result Bool. Floats compare as IEEE (Ne is true for NaN).
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,

  Select,   // condition, value if true, value if false; both are evaluated
  Cast,     // C++ conversion; float to integer saturates and NaN gives 0, on every target
  Bitcast,  // same width

  // Math on floats.
  Sqrt,
  Rsqrt,
  Cbrt,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Atan2,
  Sinh,
  Cosh,
  Tanh,
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Pow,
  Hypot,
  Floor,
  Ceil,
  Round,  // half away from zero
  Trunc,
  Fmod,
  Copysign,
  IsNan,  // Bool
  IsInf,  // Bool

  // Memory. `memory` names a span, shared or local array; `field` the leaf of a record element.
  // Operand 0 is the element index (any integer type); with an argument table the slot comes last.
  Load,   // index [, slot]
  Store,  // index, value [, slot]

  // Atomics on global and shared memory: relaxed order, device scope, the old value as result.
  AtomicAdd,  // index, value [, slot]
  AtomicSub,
  AtomicExchange,
  AtomicMin,
  AtomicMax,
  AtomicAnd,
  AtomicOr,
  AtomicXor,
  AtomicCompareExchange,  // index, expected, desired [, slot]

  // Mutable variables; `index` names one.
  VarGet,
  VarSet,  // value

  // Control. Blocks are lists of nodes, executed in order.
  If,        // condition; blocks: then, else
  For,       // first, limit, step; block: body. `ForIndex` in the body is the counter. Counts up
             // while counter < limit if `literal` is 0, down while counter > limit if it is 1
             // (step is then subtracted). Limit and step are read once, before the loop.
  ForIndex,  // operand 0: the For node
  While,     // blocks: condition, body; operand 0 is computed by the condition block
  Switch,    // value; block k is taken for `cases[k]`, the last block otherwise; no fall-through
  Break,     // leaves the innermost For or While (never a Switch)
  Continue,
  Return,

  // Convergent operations: reached by all threads of the block (warp operations: of the warp).
  Barrier,  // also orders shared and global memory within the block
  Fence,    // `axis` 0: block scope, 1: device scope; not convergent

  Shuffle,  // value, lane
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  Any,
  All,
  Ballot,  // U64, bit per lane
  WarpAdd,
  WarpMin,
  WarpMax,

  // Code that the program brings (K11); `index` names one of the kernel's user calls.
  Intrinsic,  // up to four values; a value
  Native,     // up to four values, and spans; a statement that may read and write any vector

  // Cooperative matrices (K12): statements that all threads of a warp run together, with operands
  // that are the same in all of them. `index` names the matrix, which Store reads and the others
  // set. Element (r, c) lies at offset + r * stride + c where `axis`, a MatrixLayout, is row_major,
  // and at offset + c * stride + r where it is column_major.
  MatrixFill,         // value of the compute type; rounded to the matrix's type
  MatrixLoad,         // offset, stride [, slot]
  MatrixStore,        // offset, stride [, slot]
  MatrixMultiplyAdd,  // no operands; `matrices` names a, b and c: a * b + c
  MatrixCopy,         // no operands; `matrices` names the source
};

/// Which operand of a multiply-add a cooperative matrix is: a (m x k), b (k x n), or the sum and
/// the result (m x n).
enum class MatrixUse : std::uint8_t { a, b, accumulator };

/// What lies contiguously in memory: a matrix's rows, or its columns.
enum class MatrixLayout : std::uint8_t { row_major, column_major };

/// Which threads must reach an operation together.
enum class Convergence : std::uint8_t {
  thread,  // none: each on its own
  warp,
  block,
};

/// An argument of user code as its host body gets it: a value's bits, or a vector's memory.
struct HostArgument {
  std::uint64_t bits = 0;  // zero-extended
  std::byte* data = nullptr;
  std::uint64_t length = 0;  // elements
};
/// What the interpreter runs instead of a device's code: arguments in, bits of the result out.
using HostBody = std::function<std::uint64_t(std::span<const HostArgument> arguments)>;
class UserCode;

/// Index of a node, which is also the value it computes.
using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = ~ValueId{0};

/// Bytes an element of `type` occupies in memory.
std::size_t size_of(Scalar type) noexcept;
/// The type a value has once loaded: I8, I16 -> I32; U8, U16 -> U32; F16, BF16 -> F32; else itself.
Scalar compute_type(Scalar type) noexcept;
bool is_float(Scalar type) noexcept;
bool is_integer(Scalar type) noexcept;  // Bool is not an integer
bool is_signed(Scalar type) noexcept;   // signed integers only
/// "f32", "i64", "bool" ...
std::string_view name(Scalar type) noexcept;
/// "add", "load", "atomic_add" ...
std::string_view name(Op op) noexcept;
/// "a", "b", "accumulator"
std::string_view name(MatrixUse use) noexcept;

}  // namespace salvo::ir
