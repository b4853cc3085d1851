// Prints a kernel as source text of a C-like language.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/c_family/dialect.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::c_family {

struct PrintOptions {
  bool contraction = false;                     // the device compiler may contract
  bool line_directives = false;                 // name the author's file and line
  std::uint64_t may_alias = ~std::uint64_t{0};  // a bit per parameter; beyond 64: may
};

struct Printed {
  std::string entry;  // name of the kernel function
  std::string code;
};

/// Structured C: every operation is a statement of its own, in the IR's order, so that the device
/// compiler finds no expression to contract and a person finds each operation. Throws
/// Errc::unsupported where the target cannot say what the kernel needs.
Printed print(const ir::Kernel& kernel, const Dialect& dialect, const PrintOptions& options);

/// A kernel in which neighbouring accesses of a thread are one, where they provably may be.
struct PrintedWithVectors {
  Printed printed;
  /// By parameter: what the entry takes a span's address for a multiple of. Empty if nothing; else
  /// the code has another function for spans that lie elsewhere.
  std::vector<std::uint32_t> alignments;
  std::string unaligned_entry;
};
/// The same for a target that has Dialect::vector_type.
PrintedWithVectors print_with_vectors(const ir::Kernel& kernel, const Dialect& dialect,
                                      const PrintOptions& options);

/// Per parameter: whether the kernel reads the length of the span. Lengths that nobody reads are
/// not passed; printer and driver agree by asking here.
std::vector<bool> reads_length(const ir::Kernel& kernel);

}  // namespace salvo::codegen::c_family
