// The library's part of a program's end, run before that of the drivers (W61).
// SPDX-License-Identifier: MIT
#pragma once

namespace salvo::runtime {

/// Has `handler` called when the program exits, once or more. There is one in a process: later
/// calls register it again.
void run_at_exit(void (*handler)());

/// Registers the handler again, if there is one. Compilers and drivers make what is destroyed at
/// exit when they first need it, and what was registered last is called first: without this they
/// would be destroyed before the handler waits for the work that needs them. Called after a kernel
/// was built, and after the first wait that follows. Thread-safe.
void renew_exit_handler() noexcept;

}  // namespace salvo::runtime
