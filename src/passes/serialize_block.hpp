// Turns a kernel into one whose single thread does the work of a whole block, for CPU devices.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// Whether threads of a block are independent of each other up to their memory: no barrier, shared
/// memory or warp operation.
bool can_serialize_block(const ir::Kernel& kernel);

/// The kernel with explicit loops over the threads of a block. Launched with blocks of one thread
/// it does what `kernel` does with blocks of the size given by three more I32 parameters, x, y and
/// z, at the end. What all threads agree on stays outside the loops, and a branch that they all
/// take alike has a loop in each arm: device compilers vectorise these loops, and give up on a
/// loop round a branch (a fused kernel selects its member so).
ir::Kernel serialize_block(const ir::Kernel& kernel);

}  // namespace salvo::passes
