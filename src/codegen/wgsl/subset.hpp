// What of the kernel language WGSL can say.
// SPDX-License-Identifier: MIT
#pragma once

#include "ir/kernel.hpp"

namespace salvo::codegen::wgsl {

/// Throws Errc::unsupported, with the name of what WGSL lacks and the reason, unless all of
/// `kernel` can be said. 64-bit integers can only where a length is compared or made 32 bits wide:
/// lengths are 32 bits wide in WGSL.
void require_subset(const ir::Kernel& kernel);

}  // namespace salvo::codegen::wgsl
