// OpenCL C 1.2, as far as a kernel needs no later version.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

/// A span is a buffer, a byte offset (long) and, if its length is read, the length (long); a scalar
/// is itself; dynamic shared memory is one local pointer at the end.
const Dialect& opencl_dialect();

}  // namespace salvo::codegen::c_family
