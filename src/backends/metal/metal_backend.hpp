// The Metal backend: MSL compiled by the system, for every GPU of a Mac.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::metal {

std::unique_ptr<runtime::Backend> make_backend();

}  // namespace salvo::backends::metal
