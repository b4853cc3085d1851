// CUDA C++, as NVRTC compiles it: no header, no library.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

/// A span is a pointer to its first element and, if its length is read, the length (long long); a
/// scalar is itself. A table is an array of those in the parameter block, read where it lies.
const Dialect& cuda_dialect();

}  // namespace salvo::codegen::c_family
