// Removes work that cannot be told from its absence: repeated, unused and constant expressions.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The same kernel with integer constants folded, a pure expression computed once where one
/// computation dominates the others, and unused pure expressions left out. Memory operations,
/// variables' assignments and control stay as they are, and so does every float operation that is
/// used: results keep their bits.
ir::Kernel simplify(const ir::Kernel& kernel);

}  // namespace salvo::passes
