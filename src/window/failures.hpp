// Failures of launches: what is added to them, and how they wait for a call that may throw.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <source_location>
#include <string>
#include <vector>

#include "salvo/error.hpp"

namespace salvo::window {

/// In the order in which they happened.
using Failures = std::vector<Error>;

/// The call itself failed, as against a launch that was held before it.
struct CallFailed {
  Error error;
};

/// The exception in flight as an Error, whatever it is.
Error current_failure();

/// `failure` with the kernel and launch site added where it has none (W59).
Error located(const Error& failure, const std::string& kernel, const std::source_location& where);

/// Throws the first, from which the others are reachable; nothing if there is none (W58).
void throw_first(Failures failures);

/// Failures that a destructor met and nobody has seen (W21). Of the whole process: the runtime they
/// came from may be gone.
void keep_pending(Failures failures) noexcept;
Failures take_pending() noexcept;
void throw_kept();
/// Whether any are kept; changed with them.
inline constinit std::atomic<bool> failures_wait{false};
/// Throws what was kept, if anything.
inline void throw_pending() {
  if (failures_wait.load(std::memory_order_relaxed)) [[unlikely]]
    throw_kept();
}

}  // namespace salvo::window
