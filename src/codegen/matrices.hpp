// What code generators share about cooperative matrices (K12).
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "ir/kernel.hpp"

namespace salvo::codegen {

/// For targets that have none: throws Errc::unsupported for a kernel with a matrix statement,
/// naming the kernel, the target and the line.
void refuse_matrices(const ir::Kernel& kernel, std::string_view target);

/// The same for one matrix, of a shape or type that a target lacks.
[[noreturn]] void refuse_matrix(const ir::Kernel& kernel, const ir::Matrix& matrix,
                                std::string_view target);

}  // namespace salvo::codegen
