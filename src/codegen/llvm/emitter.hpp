// Writes a kernel as LLVM IR that runs a range of its blocks on one core, their threads as vectors.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ir/kernel.hpp"

namespace salvo::codegen::llvm {

struct EmitOptions {
  /// Threads of a vector, a power of two from 4 to 64.
  unsigned lanes = 16;
  /// Text for LLVM 14, which has no opaque pointers.
  bool typed_pointers = false;
  /// The processor has an fma that rounds once.
  bool fma = true;
  /// It converts binary16.
  bool half = true;
  /// Accesses out of bounds are kept from happening, and the first is reported (LaunchFault).
  bool bounds_checks = false;
  /// Line tables that lead from machine code to the kernel's C++ lines.
  bool line_tables = false;
};

struct Emitted {
  std::string
      entry;         // a KernelEntry (launch_record.hpp); beside it KernelFacts, `entry` + "_facts"
  std::string code;  // a module
};

/// The kernel of which `emit` makes code: math functions written out, early returns before barriers
/// removed. Positions of its nodes are what LaunchFault names.
ir::Kernel lower(const ir::Kernel& kernel, const EmitOptions& options);

/// `lowered` is a kernel that `lower` made. Throws Errc::unsupported for what it cannot say.
Emitted emit(const ir::Kernel& lowered, const EmitOptions& options);

/// Units in the last place by which a function may differ from the exact result.
double function_ulps(ir::Op function, ir::Scalar type);

}  // namespace salvo::codegen::llvm
