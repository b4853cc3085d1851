// The tracer as the value types see it: each call appends a node to the kernel being traced.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/ir.hpp"
#include "salvo/types.hpp"

namespace salvo::detail {

using ir::ValueId;

/// Each function below throws Errc::invalid_kernel when no kernel is being traced on this thread.
ValueId emit_constant(ir::Scalar type, std::uint64_t bits);
ValueId emit(ir::Op op, std::initializer_list<ValueId> operands);
ValueId emit_cast(ir::Op op, ir::Scalar to, ValueId value);  // Cast or Bitcast
ValueId emit_position(ir::Op op, std::uint8_t axis);
ValueId emit_length(std::uint32_t memory);
void emit_statement(ir::Op op, std::uint8_t axis, const std::source_location& where);
/// A warp or barrier operation with a result, at a source line.
ValueId emit_at(ir::Op op, std::initializer_list<ValueId> operands,
                const std::source_location& where);

std::uint32_t make_variable(ir::Scalar type);
ValueId emit_var_get(std::uint32_t variable);
void emit_var_set(std::uint32_t variable, ValueId value);

/// Where an element reference points. Copyable; reads and stores go through it.
struct Place {
  std::uint32_t memory = 0;
  ValueId index = ir::kNoValue;
  std::uint32_t location = 0;
  std::vector<ValueId> loads;  // a reserved load per leaf of the referenced part
  std::uint32_t first_field = 0;
};
/// Reserves one load per leaf; a load that is never read leaves no trace in the kernel.
Place reserve(std::uint32_t memory, ValueId index, std::uint32_t leaves,
              const std::source_location& where);
ValueId read_place(const Place& place, std::size_t leaf);  // the reserved load becomes real
void store_place(const Place& place, std::size_t leaf, ValueId value);
ValueId emit_atomic(ir::Op op, const Place& place, std::initializer_list<ValueId> operands);

std::uint32_t make_array(bool shared, const ElementInfo& element, std::uint32_t count,
                         const std::source_location& where);
ValueId emit_live(ir::Scalar type, const void* host);

using Body = std::function<void()>;
/// Traces an If; `else_block` reopens its second block.
ValueId emit_if(ValueId condition, const Body& then, const std::source_location& where);
void trace_else(ValueId if_node, const Body& otherwise);
struct Loop {
  ValueId first, limit, step;
  bool down;
  std::uint32_t unroll;
};
void emit_for(const Loop& loop, const std::function<void(ValueId)>& body,
              const std::source_location& where);
void emit_while(const std::function<ValueId()>& condition, const Body& body, std::uint32_t unroll,
                const std::source_location& where);
void emit_switch(ValueId value, const std::vector<std::int64_t>& cases,
                 const std::vector<Body>& bodies, const std::source_location& where);
/// Traces `body` and a barrier; the locations of both carry the name.
void emit_superstep(std::string_view name, const Body& body, const std::source_location& where);
void mark_no_fuse();

/// An argument of user code: a span's memory, or a value.
struct UserArgument {
  std::uint32_t memory = ~std::uint32_t{0};
  ValueId value = ir::kNoValue;
};
ValueId emit_intrinsic(const std::shared_ptr<ir::UserCode>& code, ir::Scalar result,
                       std::initializer_list<ValueId> operands, const std::source_location& where);
void emit_native(const std::shared_ptr<ir::UserCode>& code,
                 const std::vector<UserArgument>& arguments, const std::source_location& where);

/// Cooperative matrices, by their numbers.
inline constexpr std::uint32_t kNoMatrix = ~std::uint32_t{0};
std::uint32_t make_matrix(ir::Scalar type, std::uint32_t rows, std::uint32_t columns,
                          ir::MatrixUse use);
void emit_matrix_fill(std::uint32_t matrix, ValueId value, const std::source_location& where);
void emit_matrix_access(ir::Op op, std::uint32_t matrix, std::uint32_t memory, ValueId offset,
                        ValueId stride, ir::MatrixLayout layout, const std::source_location& where);
void emit_matrix_multiply_add(std::uint32_t result, std::uint32_t a, std::uint32_t b,
                              std::uint32_t c, const std::source_location& where);
void emit_matrix_copy(std::uint32_t to, std::uint32_t from);
/// Copies `from`, which nothing names afterwards; what was just computed goes to `to` at once.
void move_matrix(std::uint32_t to, std::uint32_t from);

/// Parameters, declared in order before the body is traced.
std::uint32_t declare_span(const ElementInfo& element, bool read_only);  // memory id
std::vector<ValueId> declare_value(const ElementInfo& element);          // one per leaf

struct KernelRecord;  // a traced kernel with what the runtime knows of it
/// Runs `body` with a fresh tracer and finishes the kernel: verified, checked for convergence.
std::shared_ptr<KernelRecord> trace_kernel(std::string name, const Body& body,
                                           const std::source_location& where);

}  // namespace salvo::detail
