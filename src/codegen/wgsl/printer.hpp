// Prints a kernel in WGSL, WebGPU's shading language.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ir/kernel.hpp"

namespace salvo::codegen::wgsl {

struct Printed {
  std::string entry;  // name of the entry point
  std::string code;
};

/// WGSL has no pointers to choose among and spells types after names, so that it shares the C
/// family's names and its walk before printing, and prints on its own. As there, every operation is
/// a statement of its own, in the IR's order. Arguments come as `Layout` says. The block's size is
/// that of the overridable constants 0 to 2, and the elements of dynamic shared memory that of
/// constant
/// 3. Throws Errc::unsupported as `require_subset` does.
Printed print(const ir::Kernel& kernel);

}  // namespace salvo::codegen::wgsl
