// Rewrites math functions into plain arithmetic, for targets whose fma does not round once.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// Unlike expand_math, which counts on exact FMAs, this uses none.
/// The same kernel without Round, Fmod and, on F32, every function from Rsqrt to Hypot. Round and
/// Fmod are exact; the others are computed in F64 and rounded once, so that they are off by less
/// than one unit in the last place, and give the same bits wherever F64 arithmetic is IEEE's. F64
/// functions stay. The target needs F64 for all but Round and Fmod.
ir::Kernel expand_math_plain(const ir::Kernel& kernel);

/// Whether the pass would replace a node.
bool expands(const ir::Kernel& kernel, const ir::Node& node);

}  // namespace salvo::passes
