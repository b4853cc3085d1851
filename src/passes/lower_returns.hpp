// Rewrites early returns into structured control flow, so that a body can be placed inside another.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// The same kernel without Return: what follows a return runs only where none was taken. A return
/// in a loop leaves it through a flag. The order and number of all other operations stay as they
/// were for every thread.
ir::Kernel lower_returns(const ir::Kernel& kernel);

}  // namespace salvo::passes
