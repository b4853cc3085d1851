// Whether the counter of a For may wrap: compilers tend to take for granted that none does.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::passes {

/// False where no step that starts short of the limit leaves the range of the counter's type.
bool counter_may_wrap(const ir::Kernel& kernel, const ir::Node& loop);

}  // namespace salvo::passes
