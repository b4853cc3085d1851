// Whether the counter of a For may wrap: compilers tend to take for granted that none does.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "ir/kernel.hpp"

namespace salvo::passes {

/// False where no step that starts short of the limit leaves the range of the counter's type.
bool counter_may_wrap(const ir::Kernel& kernel, const ir::Node& loop);

/// The step, where it is known to be at least one.
std::optional<std::uint64_t> constant_step(const ir::Kernel& kernel, const ir::Node& loop);

}  // namespace salvo::passes
