// Prints a kernel as text, for people and for tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ir/kernel.hpp"

namespace salvo::ir {

/// The whole kernel, a node a line, nested blocks indented. Stable: equal kernels print equally.
/// With `locations`, each line ends in "; file:line". Malformed kernels print too, with ? in
/// places.
std::string print(const Kernel& kernel, bool locations = false);

}  // namespace salvo::ir
