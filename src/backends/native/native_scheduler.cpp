// Spreads the blocks of a launch over the cores.
// SPDX-License-Identifier: MIT
#include "backends/native/native_scheduler.hpp"

#include <algorithm>
#include <atomic>

namespace salvo::backends::native {

Scheduler::Scheduler(std::string_view library) : shared_object_(runtime::Library::open({library})) {
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
  const unsigned worker = std::atomic_ref(call.workers).fetch_add(1, std::memory_order_relaxed);
  const std::atomic_ref next(call.next);
  for (;;) {
    const std::uint64_t first = next.fetch_add(call.step, std::memory_order_relaxed);
    if (first >= call.count) return;
    call.invoke(call.work, worker, first, std::min(first + call.step, call.count));
  }
}

void Scheduler::run(Call& call) const {
  // Few enough to keep what neighbours share together, enough for a core that is late.
  constexpr std::uint64_t kTurns = 4;
  call.step = std::max<std::uint64_t>(1, call.count / (threads_ * kTurns));
  parallel_(take, &call, threads_, 0);
}

}  // namespace salvo::backends::native
