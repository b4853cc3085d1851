// Failures of launches: what is added to them, and how they wait for a call that may throw.
// SPDX-License-Identifier: MIT
#include "window/failures.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace salvo::window {
namespace {

struct Pending {
  std::mutex lock;
  Failures failures;
};

/// Never destroyed, because static vectors may outlive everything.
Pending& pending() {
  static Pending* const one = new Pending;
  return *one;
}

}  // namespace

Error current_failure() {
  try {
    throw;
  } catch (const Error& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, "the host is out of memory");
  } catch (const std::exception& failure) {
    return Error(Errc::launch_failed, failure.what());
  }
}

Error located(const Error& failure, const std::string& kernel, const std::source_location& where) {
  Error::Details details = failure.details();
  if (details.kernel.empty()) details.kernel = kernel;
  if (!details.launch.known()) details.launch = SourceLocation::from(where);
  return Error(std::move(details)).with_others(failure.others());
}

void throw_first(Failures failures) {
  if (failures.empty()) return;
  const Error first = failures.front();
  failures.erase(failures.begin());
  throw first.with_others(std::move(failures));
}

void keep_pending(Failures failures) noexcept {
  if (failures.empty()) return;
  Pending& kept = pending();
  const std::lock_guard lock(kept.lock);
  std::ranges::move(failures, std::back_inserter(kept.failures));
  failures_wait = true;
}

Failures take_pending() noexcept {
  if (!failures_wait.load(std::memory_order_relaxed)) return {};
  Pending& kept = pending();
  const std::lock_guard lock(kept.lock);
  failures_wait = false;
  return std::exchange(kept.failures, {});
}

void throw_kept() {
  throw_first(take_pending());
}

}  // namespace salvo::window
