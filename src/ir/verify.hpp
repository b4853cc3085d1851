// Checks that a kernel is well formed: types, dominance, structure.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::ir {

/// Every way in which `kernel` is malformed, a line each with the node and its source line, without
/// the kernel's name; empty if it is sound. Every pass and the tracer end with this in debug builds
/// and in tests.
std::vector<std::string> verify(const Kernel& kernel);

}  // namespace salvo::ir
