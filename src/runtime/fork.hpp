// Whether this process is a fork of the one that made something (W61).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace salvo::runtime {

/// How many forks lie between this process and the first that asked. Drivers, their threads and
/// whatever locks were held stay behind in the parent: what was made before a fork is neither used
/// nor destroyed after it. Thread-safe; one load.
std::uint32_t fork_count() noexcept;

/// Throws Errc::no_device.
[[noreturn]] void refuse_inherited();

}  // namespace salvo::runtime
