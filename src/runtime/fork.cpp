// Whether this process is a fork of the one that made something (W61).
// SPDX-License-Identifier: MIT
#include "runtime/fork.hpp"

#include <pthread.h>

#include <atomic>

#include "salvo/error.hpp"

namespace salvo::runtime {
namespace {

std::atomic<std::uint32_t> forks{0};

/// Nothing else is safe here: the other threads, and what they held, are gone.
void count_fork() noexcept {
  forks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

std::uint32_t fork_count() noexcept {
  static const bool counted = pthread_atfork(nullptr, nullptr, count_fork) == 0;
  static_cast<void>(counted);  // it fails for want of memory alone, long before any fork
  return forks.load(std::memory_order_relaxed);
}

void refuse_inherited() {
  throw Error(Errc::no_device,
              "the devices belong to the process that this one was forked from; a runtime made "
              "after the fork has its own");
}

}  // namespace salvo::runtime
