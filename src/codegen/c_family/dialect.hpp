// What differs between the C-like languages that kernels are printed in.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen::c_family {

class Helpers;
class MatrixWords;
class Names;

/// What a kernel uses of its target, for the file's prologue.
struct Features {
  bool atomics_i64 = false;
  bool independent_loops = false;  // ir::kIndependent
  bool warp = false;
  bool matrices = false;
  bool contraction = false;  // the device compiler may contract (mode `device` of W50)
};

/// A span or scalar parameter of the kernel being printed.
struct ParameterText {
  const ir::Parameter* parameter = nullptr;
  std::string name;       // as wanted by the author; not yet unique
  std::string element;    // memory type of an element, a record's name, or of the scalar
  bool writes = false;    // span
  bool no_alias = false;  // span: nothing this launch writes overlaps it
  bool length = false;    // span: the body reads its length
};

/// What the body calls a parameter, or one slot of it.
struct Bound {
  std::string data;    // pointer of a span, value of a scalar in its compute type
  std::string length;  // span: elements, as I64
};

/// A parameter as declared: a Bound for each slot, and the table's own name where there is one.
struct Declared {
  std::vector<Bound> slots;
  std::string table;
};

/// The kernel's head while it is put together.
struct Signature {
  std::vector<std::string> arguments;
  std::vector<std::string> prologue;  // statements at the start of the body
};

/// An element leaf in memory.
struct Place {
  ir::Scalar type = ir::Scalar::F32;  // as stored
  ir::Space space = ir::Space::Global;
  std::string lvalue;     // "x[v3].pos_x", of type `memory_type(type)`
  bool constant = false;  // of a table's span that nothing writes while the kernel runs
};

/// One target language. Everything here is pure; operands are names or parenthesised, so that they
/// can stand anywhere in an expression.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// "OpenCL": the name of W2, for `source` and messages.
  virtual std::string_view target() const noexcept = 0;
  /// Keywords, types, functions and macros that an identifier must not hide.
  virtual bool is_reserved(std::string_view name) const = 0;

  // Types and values.
  std::string_view type(ir::Scalar type) const;  // compute types: in a register
  /// Any type in memory. The default has OpenCL C's names and MSL's. A bool is a byte, for it has
  /// no fixed size; halves of both kinds are bits, for their own types need extensions or headers.
  virtual std::string_view memory_type(ir::Scalar type) const;
  /// A type of `count` leaves of `type` in memory, with members x, y, z and w: "float4". Asked for
  /// by print_with_vectors.
  virtual std::string vector_type(ir::Scalar type, std::size_t count) const;
  /// `type` in an address space: "global float".
  std::string in_space(ir::Space space, std::string_view type) const;
  /// A shared or local array of constant size, as a statement.
  virtual std::string declare_array(ir::Space space, std::string_view type, std::string_view name,
                                    std::uint32_t count) const;
  /// How cooperative matrices are written; null for a target without them.
  virtual const MatrixWords* matrices() const { return nullptr; }
  std::string constant(ir::Scalar type, std::uint64_t bits) const;
  virtual std::string bitcast(ir::Scalar to, ir::Scalar from, std::string_view value) const = 0;
  /// Float to integer of a value that is not NaN, saturating.
  virtual std::string saturating_cast(ir::Scalar to, ir::Scalar from, std::string_view value,
                                      Helpers& helpers) const = 0;

  // Operations.
  /// Name of a function on floats of `type`: math, Abs, Fma; or of Clz and Popcount.
  virtual std::string function(ir::Op op, ir::Scalar type) const = 0;
  virtual std::string position(ir::Op op, int axis) const = 0;
  virtual std::string warp(ir::Op op, ir::Scalar type, std::span<const std::string> operands,
                           Helpers& helpers) const = 0;
  std::string load(const Place& place, Helpers& helpers) const;
  /// The memory's own bits, of a vector too.
  virtual std::string read(const Place& place) const { return place.lvalue; }
  /// A whole statement without its semicolon. `value` is of the compute type.
  std::string store(const Place& place, std::string_view value, Helpers& helpers) const;
  /// `operands`: value, or expected and desired. Floats are only added.
  virtual std::string atomic(ir::Op op, const Place& place, std::span<const std::string> operands,
                             Helpers& helpers) const = 0;
  virtual std::string barrier() const = 0;
  virtual std::string fence(bool device_scope) const = 0;
  /// A line before a loop; empty for none.
  virtual std::string loop_hint(std::uint32_t unroll) const = 0;

  // The file.
  virtual std::string_view function_qualifiers() const { return "static inline"; }  // of helpers
  virtual std::string prologue(const Features& features) const = 0;
  virtual std::string kernel_head(std::string_view name, const Signature& signature) const = 0;
  virtual Declared declare_span(const ParameterText& span, Names& names,
                                Signature& signature) const = 0;
  /// The default declares an argument for each slot, converted once if it is not stored as it is
  /// computed with.
  virtual Declared declare_scalar(const ParameterText& scalar, Names& names, Signature& signature,
                                  Helpers& helpers) const;
  /// Declares dynamic shared memory and returns an expression for its first byte.
  virtual std::string declare_dynamic_shared(Names& names, Signature& signature) const = 0;
  /// The parameter at a slot known at run time only. The default compares the slot with each
  /// number in turn, for targets whose pointers cannot be kept in an array.
  virtual Bound pick(const Declared& declared, std::string_view slot) const;

 protected:
  /// What stands before a type in a space: "global ".
  virtual std::string_view address_space(ir::Space) const { return ""; }
  /// Of the literals of 64-bit integers.
  virtual std::string_view wide_suffix() const { return "l"; }
  // Conversions between the bits in memory and an F32.
  virtual std::string load_f16(const Place& place, Helpers& helpers) const = 0;
  virtual std::string load_bf16(const Place& place) const;
  virtual std::string store_f16(const Place& place, std::string_view value,
                                Helpers& helpers) const = 0;
  /// For the default of declare_scalar: adds the argument called `name`.
  virtual void add_scalar(std::string_view element, std::string_view name,
                          Signature& signature) const;
  /// What the author calls a parameter, with the slot's number if there are several.
  static std::string slot_name(const ParameterText& text, std::uint32_t slot);
};

}  // namespace salvo::codegen::c_family
