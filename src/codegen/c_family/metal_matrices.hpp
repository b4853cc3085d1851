// MSL for cooperative matrices: arrays of simdgroup matrices of 8x8.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/c_family/matrix_words.hpp"

namespace salvo::codegen::c_family {

/// Matrices whose rows and columns are multiples of 8 are put together from Metal's own. Those of
/// bf16 need Metal 3.1.
const MatrixWords& metal_matrix_words();

}  // namespace salvo::codegen::c_family
