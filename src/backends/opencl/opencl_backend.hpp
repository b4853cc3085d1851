// The OpenCL backend: every device of every platform.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

std::unique_ptr<runtime::Backend> make_backend();

}  // namespace salvo::backends::opencl
