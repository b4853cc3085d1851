// The Metal Shading Language, version 2.2 as far as a kernel needs no later one.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/c_family/dialect.hpp"
#include "codegen/c_family/printer.hpp"

namespace salvo::codegen::c_family {

/// Each parameter is a buffer argument of its own, in order; a span's length, where it is read, is
/// the argument after it (W36). Dynamic shared memory is threadgroup argument 0.
const Dialect& metal_dialect();

/// `kernel` in MSL, its functions that MSL lacks written out. Throws Errc::unsupported for what MSL
/// has no words for: f64, and atomics on 64-bit integers. Contraction is off in every mode (W50).
Printed print_metal(const ir::Kernel& kernel);

}  // namespace salvo::codegen::c_family
