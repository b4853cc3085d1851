// Turns the calls of a kernel lambda into IR, one tracer per kernel and thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "ir/builder.hpp"
#include "ir/kernel.hpp"
#include "salvo/detail/trace.hpp"

namespace salvo::dsl {

/// A scalar parameter whose value is read from the program at each launch.
struct LiveParameter {
  std::uint32_t parameter;
  const void* host;
  ir::Scalar type;
};

/// What tracing gives.
struct Traced {
  ir::Kernel kernel;
  std::vector<LiveParameter> live;
};

/// Runs `body` with a fresh tracer current on this thread, then drops unread loads, verifies the
/// kernel and checks convergence. Throws Errc::invalid_kernel with the kernel's source line.
/// Tracing may not be nested.
Traced trace(std::string name, const std::function<void()>& body,
             const std::source_location& where);

ir::Element to_element(const detail::ElementInfo& info);

}  // namespace salvo::dsl
