// What holds for the cooperative matrices of a kernel as a whole.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "ir/kernel.hpp"

namespace salvo::ir {

/// By matrix: the layout that it, or one that it is a copy of, is loaded in; row_major where it is
/// never loaded. `conflict`, if given, becomes the statement that brings in another layout (or
/// stays kNoValue): some targets spread a matrix of use a or b over a warp as its layout says, so
/// each has one. Accumulators have none.
std::vector<MatrixLayout> matrix_layouts(const Kernel& kernel, ValueId* conflict = nullptr);

}  // namespace salvo::ir
