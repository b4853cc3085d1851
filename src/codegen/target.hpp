// Prints the source of a kernel for any target, with or without its device (K15).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::codegen {

/// Names that `source` takes: "OpenCL" and, as they are built, the others of W2.
std::vector<std::string_view> targets();

/// Source text of `kernel` for `target`. Throws Errc::invalid_argument for an unknown target and
/// Errc::unsupported where the target cannot say what the kernel needs.
std::string source(const ir::Kernel& kernel, std::string_view target);

}  // namespace salvo::codegen
