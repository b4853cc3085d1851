// Prints a kernel as text, for people and for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ir/kernel.hpp"

namespace salvo::ir {

/// The whole kernel, a node a line, nested blocks indented. Stable: equal kernels print equally.
std::string print(const Kernel& kernel);

}  // namespace salvo::ir
