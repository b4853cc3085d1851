// CUDA C++ for cooperative matrices: wmma instructions in assembler statements.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/c_family/matrix_words.hpp"

namespace salvo::codegen::c_family {

/// A thread's part of a matrix is an array of registers. The header with nvcuda::wmma does not come
/// with NVRTC, and its functions are these instructions.
const MatrixWords& cuda_matrix_words();

}  // namespace salvo::codegen::c_family
