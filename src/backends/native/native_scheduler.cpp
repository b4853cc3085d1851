// Spreads the blocks of a launch over the cores.
// SPDX-License-Identifier: MIT
#include "backends/native/native_scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace salvo::backends::native {
namespace {

/// Loads a library for as long as the process lives: its threads stay when no launch needs them,
/// and must not wake up where their code was.
runtime::Library open_for_good(std::string_view name) {
  static std::mutex lock;
  static auto& kept = *new std::vector<runtime::Library>;
  runtime::Library library = runtime::Library::open({name});
  const std::lock_guard guard(lock);
  if (library) kept.push_back(library);
  return library;
}

/// The runtime has a worker begin after the call for it and end before that returns, by means that
/// ThreadSanitizer cannot see: told again here, programs that are run under it hear nothing of
/// races between their own launches.
void in_order() {
  static constinit std::atomic<std::uint64_t> moments{0};
  moments.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace

Scheduler::Scheduler(std::string_view library) : shared_object_(open_for_good(library)) {
  if (!shared_object_) {
    reason_ = shared_object_.reason();
    return;
  }
  runtime::Function<int (*)()> most;
  if (!parallel_.resolve(shared_object_, "GOMP_parallel") ||
      !most.resolve(shared_object_, "omp_get_max_threads")) {
    reason_ = shared_object_.name() + " has no GOMP_parallel";
    return;
  }
  threads_ = static_cast<unsigned>(std::max(1, most()));
}

/// What each thread does: take the next items until none are left.
void Scheduler::take(void* data) {
  Call& call = *static_cast<Call*>(data);
  in_order();
  const unsigned worker = std::atomic_ref(call.workers).fetch_add(1, std::memory_order_relaxed);
  const std::atomic_ref next(call.next);
  for (;;) {
    const std::uint64_t first = next.fetch_add(call.step, std::memory_order_relaxed);
    if (first >= call.count) break;
    call.invoke(call.work, worker, first, std::min(first + call.step, call.count));
  }
  in_order();
}

void Scheduler::run(Call& call) const {
  // Few enough to keep what neighbours share together, enough for a core that is late.
  constexpr std::uint64_t kTurns = 4;
  call.step = std::max<std::uint64_t>(1, call.count / (threads_ * kTurns));
  in_order();
  parallel_(take, &call, threads_, 0);
  in_order();
}

}  // namespace salvo::backends::native
