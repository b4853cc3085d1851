// Failures that destructors met, kept until a call may throw them (W21).
// SPDX-License-Identifier: MIT
#include <atomic>
#include <iterator>
#include <mutex>
#include <utility>

#include "window/launch_window.hpp"

namespace salvo::window {
namespace {

struct Pending {
  std::mutex lock;
  std::vector<Error> failures;
};

/// Never destroyed, because static vectors may outlive everything.
Pending& pending() {
  static Pending* const one = new Pending;
  return *one;
}

}  // namespace

void keep_pending(std::vector<Error> failures) noexcept {
  if (failures.empty()) return;
  Pending& kept = pending();
  const std::lock_guard lock(kept.lock);
  std::ranges::move(failures, std::back_inserter(kept.failures));
  failures_wait = true;
}

std::vector<Error> take_pending() noexcept {
  if (!failures_wait.load(std::memory_order_relaxed)) return {};
  Pending& kept = pending();
  const std::lock_guard lock(kept.lock);
  failures_wait = false;
  return std::exchange(kept.failures, {});
}

void throw_kept() {
  std::vector<Error> failures = take_pending();
  if (failures.empty()) return;
  const Error first = failures.front();
  failures.erase(failures.begin());
  throw first.with_others(std::move(failures));
}

}  // namespace salvo::window
