// Writes math functions out as exactly rounded operations, for targets without a library of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The kernel without math functions but Sqrt, Floor, Ceil, Round, Trunc, Copysign, IsNan and
/// IsInf. What is left rounds exactly, so that results are the same bits wherever it runs, the
/// interpreter included. Functions of F32 are worked out in F64, but for Exp.
ir::Kernel expand_math(const ir::Kernel& kernel);

/// Units in the last place by which an expanded function may differ from the exact result.
double math_ulps(ir::Op function, ir::Scalar type);

}  // namespace salvo::passes
