// Finds barriers and warp operations under thread-dependent control (K7).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::passes {

struct Divergence {
  ir::ValueId node = ir::kNoValue;  // the barrier or warp operation
  std::string message;              // what is wrong with it, and the line that parts the threads
};

/// Data flow through values, variables, loops, memory and early returns: a value is uniform if all
/// threads of a block hold the same one. Loads from global or shared memory at a uniform index are
/// uniform; loads from local arrays and results of atomics are not. Warp operations may also stand
/// under a condition that only the threads of a warp agree on, such as the result of one.
std::vector<Divergence> check_convergence(const ir::Kernel& kernel);

/// Uniformity of every node, for code generators: true where all threads of a block that compute a
/// value agree on it; for a statement, where all threads of the block reach it together.
std::vector<bool> uniform_values(const ir::Kernel& kernel);

}  // namespace salvo::passes
