// Appends nodes to a kernel, keeping the current block and source location.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::ir {

/// Builds a kernel node by node. `open` and `close` bracket nested blocks. Not thread-safe.
class Builder {
 public:
  explicit Builder(std::string name);
  /// Continues a kernel that has a body already, for passes; appends at the end of the body.
  explicit Builder(Kernel kernel);

  Kernel& kernel() noexcept { return kernel_; }
  /// Ends building; the kernel is moved out.
  Kernel finish();

  // Declarations.
  MemoryId span_parameter(std::string name, Element element, bool read_only,
                          std::uint32_t slots = 1);
  /// Position of the new parameter in Kernel::parameters.
  std::uint32_t scalar_parameter(std::string name, Scalar type, std::uint32_t slots = 1);
  MemoryId shared_array(std::string name, Element element, std::uint32_t count);
  MemoryId local_array(std::string name, Element element, std::uint32_t count);
  std::uint32_t variable(std::string name, Scalar type);
  std::uint32_t matrix(std::string name, Scalar type, std::uint32_t rows, std::uint32_t columns,
                       MatrixUse use);

  // Blocks.
  BlockId open();                                                 // a new block becomes current
  void close();                                                   // back to the enclosing one
  std::size_t nesting() const noexcept { return stack_.size(); }  // of the current block
  void reopen(BlockId block) { stack_.push_back(block); }         // continues a closed block
  BlockId current() const noexcept { return stack_.back(); }

  /// Later nodes carry this location.
  void at(std::string_view file, std::uint32_t line, std::string_view superstep = {});
  LocationId location() const noexcept { return location_; }
  void at(LocationId location) noexcept { location_ = location; }

  // Nodes. Each appends to the current block and returns the node's id.
  ValueId append(Node node);
  ValueId constant(Scalar type, std::uint64_t bits);
  ValueId constant_i32(std::int32_t value) {
    return constant(Scalar::I32, std::bit_cast<std::uint32_t>(value));
  }
  ValueId constant_bool(bool value) { return constant(Scalar::Bool, value ? 1 : 0); }
  ValueId param(std::uint32_t parameter, ValueId slot = kNoValue);
  ValueId length(MemoryId memory, ValueId slot = kNoValue);
  ValueId position(Op op, std::uint8_t axis);
  /// Result type: Bool for comparisons and IsNan/IsInf, otherwise that of the first operand
  /// (Select: of the second).
  ValueId op(Op op, std::initializer_list<ValueId> operands);
  ValueId cast(Scalar to, ValueId value);
  ValueId load(MemoryId memory, ValueId index, std::uint32_t field = 0, ValueId slot = kNoValue);
  ValueId store(MemoryId memory, ValueId index, ValueId value, std::uint32_t field = 0,
                ValueId slot = kNoValue);
  ValueId var_get(std::uint32_t variable);
  ValueId var_set(std::uint32_t variable, ValueId value);
  ValueId if_(ValueId condition, BlockId then_block, BlockId else_block);
  ValueId statement(Op op, std::uint8_t axis = 0);  // Break, Continue, Return, Barrier, Fence
  ValueId matrix_fill(std::uint32_t matrix, ValueId value);
  /// MatrixLoad or MatrixStore.
  ValueId matrix_access(Op op, std::uint32_t matrix, MemoryId memory, ValueId offset,
                        ValueId stride, MatrixLayout layout, ValueId slot = kNoValue);
  ValueId matrix_multiply_add(std::uint32_t result, std::uint32_t a, std::uint32_t b,
                              std::uint32_t c);
  ValueId matrix_copy(std::uint32_t to, std::uint32_t from);

 private:
  Kernel kernel_;
  std::vector<BlockId> stack_;
  LocationId location_ = kNone;
};

}  // namespace salvo::ir
