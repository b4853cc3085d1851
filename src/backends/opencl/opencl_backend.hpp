// The OpenCL backend: every device of every platform.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

std::unique_ptr<runtime::Backend> make_backend();

struct Api;
/// The function table that all devices of the process share; it counts the calls made.
const Api& shared_api() noexcept;

}  // namespace salvo::backends::opencl
