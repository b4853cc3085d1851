// Writes loops out whose rounds are few and known before the kernel runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The same kernel without the loops whose counters are known when it is compiled: a For between
/// constants, and a While that is steered by one variable alone, set to a constant before the loop
/// and once in each round (a tree reduction halving its stride). At most 64 rounds and 1024
/// operations a loop; one that is left early, or that its author does not want unrolled, stays.
/// What is done, and in which order, is unchanged. For targets whose compiler unrolls little.
ir::Kernel unroll(const ir::Kernel& kernel);

}  // namespace salvo::passes
