// All built-in backends, a line each.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::backends {

/// Fresh, unopened backends. Nothing is loaded until one is opened.
std::vector<std::unique_ptr<runtime::Backend>> built_in();

}  // namespace salvo::backends
