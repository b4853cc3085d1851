// The kernel IR: a typed, structured program of one compute kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/user_code.hpp"
#include "salvo/ir.hpp"

namespace salvo::ir {

using BlockId = std::uint32_t;
using MemoryId = std::uint32_t;
using LocationId = std::uint32_t;
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// `unroll` of a loop whose iterations may run in any order or at once, as threads of a block may.
inline constexpr std::uint32_t kIndependent = ~std::uint32_t{0};

/// One scalar leaf of an element. Nested records and fixed arrays are flattened into leaves.
struct Field {
  std::string name;  // "pos.x"; empty for a scalar element
  Scalar type = Scalar::F32;
  std::uint32_t offset = 0;  // bytes from the start of the element
  friend bool operator==(const Field&, const Field&) = default;
};

/// What one element of a span or array is: a scalar (one unnamed leaf at 0) or a record with the
/// host's C layout.
struct Element {
  std::string name;  // "f32", or the record's name
  std::uint32_t size = 0;
  std::uint32_t align = 0;
  std::vector<Field> fields;

  bool is_scalar() const noexcept { return fields.size() == 1 && fields[0].name.empty(); }
  static Element scalar(Scalar type);
  friend bool operator==(const Element&, const Element&) = default;
};

enum class Space : std::uint8_t {
  Global,  // a span parameter
  Shared,  // one array per block
  Local,   // one array per thread
};

struct Memory {
  std::string name;
  Space space = Space::Global;
  Element element;
  std::uint32_t count = 0;          // elements of a shared or local array; 0: dynamic shared memory
  bool read_only = false;           // declared Span<const T>
  std::uint32_t parameter = kNone;  // Global: position in Kernel::parameters
};

/// A span or a scalar argument. In a fused kernel a parameter can stand for a table of `slots`
/// arguments, one per member that runs the same body; the launch then passes `slots` consecutive
/// arguments, and each access names its slot (W38).
struct Parameter {
  std::string name;
  bool is_span = false;
  MemoryId memory = kNone;    // span
  Scalar type = Scalar::I32;  // scalar: any Scalar; read as its compute type
  std::uint32_t slots = 1;
};

struct Variable {
  std::string name;
  Scalar type = Scalar::I32;  // a compute type
};

/// A cooperative matrix: a variable that the threads of a warp hold together, in a way that each
/// target chooses (K12).
struct Matrix {
  std::string name;
  Scalar type = Scalar::F32;  // F16, BF16 or F32
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  MatrixUse use = MatrixUse::accumulator;

  std::uint32_t elements() const noexcept { return rows * columns; }
};

/// Bytes that the start of each line of a matrix, a row in row-major order, is aligned to in
/// memory: those of the line, at most 32.
std::uint32_t line_alignment(const Matrix& matrix, MatrixLayout layout) noexcept;

struct Location {
  std::string file;
  std::uint32_t line = 0;
  std::string superstep = {};  // its name, empty outside of one
  friend bool operator==(const Location&, const Location&) = default;
};

/// A use of code that the program brings.
struct UserCall {
  std::shared_ptr<const UserCode> code;
  /// In the order of the call: a span's memory, or kNone for the node's next operand.
  std::vector<MemoryId> arguments;
};

struct Node {
  Op op = Op::Constant;
  Scalar type = Scalar::I32;  // of the result; I32 and unused for statements
  std::uint8_t axis = 0;      // positions: 0 x, 1 y, 2 z; Fence: scope; matrices: MatrixLayout
  std::uint8_t operand_count = 0;
  std::array<ValueId, 4> operands{kNoValue, kNoValue, kNoValue, kNoValue};
  // Param: parameter; VarGet/VarSet: variable; user code: call; matrix statements: matrix
  std::uint32_t index = kNone;
  MemoryId memory = kNone;    // Load, Store, atomics, Length, MatrixLoad, MatrixStore
  std::uint32_t field = 0;    // leaf of the element
  std::uint64_t literal = 0;  // Constant: bits; For: direction; loops: see unroll
  std::uint32_t unroll = 0;   // loops: 0 no wish, 1 do not unroll, n unroll n times; kIndependent
  LocationId location = kNone;
  std::vector<BlockId> blocks;      // control nodes
  std::vector<std::int64_t> cases;  // Switch
  // MatrixMultiplyAdd: a, b and c; MatrixCopy: the source
  std::array<std::uint32_t, 3> matrices{kNone, kNone, kNone};

  std::span<const ValueId> inputs() const noexcept { return {operands.data(), operand_count}; }
  std::span<ValueId> inputs() noexcept { return {operands.data(), operand_count}; }
};

struct Block {
  std::vector<ValueId> nodes;
};

/// Number of operands before the optional slot, for operations that can name one.
int operands_without_slot(Op op) noexcept;

/// A kernel. Plain data: passes read one and build another. Invariants are those of `verify`.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Memory> memories;
  std::vector<Variable> variables;
  std::vector<Node> nodes;
  std::vector<Block> blocks;
  std::vector<Location> locations;
  std::vector<UserCall> user_calls;
  std::vector<Matrix> matrices;
  BlockId body = kNone;
  bool no_fuse = false;  // asked for by the author (W30)

  const Node& node(ValueId id) const { return nodes[id]; }
  const Block& block(BlockId id) const { return blocks[id]; }
  /// The slot operand of a node that has one, kNoValue otherwise.
  ValueId slot_of(const Node& node) const noexcept;
  /// Leaf that a Load, Store or atomic touches.
  const Field& field_of(const Node& node) const {
    return memories[node.memory].element.fields[node.field];
  }
  /// Sum of the constant shared arrays in bytes, each aligned to 16.
  std::uint64_t shared_bytes() const noexcept;
  bool has_dynamic_shared() const noexcept;
};

/// " in superstep 'load'", or nothing where the node is in none.
std::string in_superstep(const Kernel& kernel, const Node& node);

// Classes of operations, so that no pass keeps a list of its own.
bool is_leaf(Op op) noexcept;       // Constant .. WarpSize, ForIndex
bool is_pure(Op op) noexcept;       // leaves, arithmetic, comparisons, casts, math
bool is_statement(Op op) noexcept;  // has no result
bool is_position(Op op) noexcept;   // ThreadIdx, BlockIdx, BlockDim, GridDim, GlobalIdx, LaneId
bool is_atomic(Op op) noexcept;
bool is_warp(Op op) noexcept;     // Shuffle .. WarpMax
bool is_control(Op op) noexcept;  // If, For, While, Switch, Break, Continue, Return
bool is_comparison(Op op) noexcept;
bool is_math(Op op) noexcept;       // Sqrt .. IsInf
bool is_user_code(Op op) noexcept;  // Intrinsic, Native
bool is_matrix(Op op) noexcept;     // MatrixFill .. MatrixCopy
/// Whether it reads elements of `memory`, or writes them: an atomic does both.
bool reads_memory(Op op) noexcept;   // Load, MatrixLoad, atomics
bool writes_memory(Op op) noexcept;  // Store, MatrixStore, atomics

}  // namespace salvo::ir
