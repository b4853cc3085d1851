// Which cooperative matrices of a kernel a device does not have (K12).
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "salvo/properties.hpp"

namespace salvo::passes {

/// "cooperative matrices 16x16x16 (m x n x k) of f16 with f32", for each multiply-add of the kernel
/// that is not among `shapes`, and "a cooperative matrix a 8x8 of f16", for each matrix that is
/// part of none of them. Each once, in the kernel's order.
std::vector<std::string> missing_matrices(const ir::Kernel& kernel,
                                          std::span<const CooperativeMatrixShape> shapes);

}  // namespace salvo::passes
