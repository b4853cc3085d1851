// Writes out the F32 functions that shading languages lack, for targets without F64.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The kernel without Cbrt, Expm1, Log1p and Hypot of F32: they become F32 arithmetic, Sqrt, Floor
/// and Log. Special values are C's, the sign of zero included.
ir::Kernel expand_math_single(const ir::Kernel& kernel);

/// Units in the last place by which one of them may differ from the exact result, where Log is
/// within `log_ulps`.
double single_math_ulps(ir::Op function, double log_ulps);

}  // namespace salvo::passes
