// The library's part of a program's end, run before that of the drivers (W61).
// SPDX-License-Identifier: MIT
#include "runtime/at_exit.hpp"

#include <atomic>
#include <cstdlib>

namespace salvo::runtime {
namespace {

std::atomic<void (*)()> registered{nullptr};

}  // namespace

void run_at_exit(void (*handler)()) {
  registered.store(handler, std::memory_order_release);
  renew_exit_handler();
}

void renew_exit_handler() noexcept {
  // It fails for want of memory alone; the handler is then called where it was registered before.
  if (const auto handler = registered.load(std::memory_order_acquire)) std::atexit(handler);
}

}  // namespace salvo::runtime
