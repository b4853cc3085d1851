// Measuring kernels: each call issues what is held, then looks at the device's clock (R8, W20).
// SPDX-License-Identifier: MIT
#include "salvo/profiler.hpp"

#include <algorithm>
#include <exception>
#include <mutex>

#include "api/access.hpp"

namespace salvo {

Profiler::Profiler(const Device& device)
    : device_(device), times_(std::make_shared<runtime::LaunchTimes>()) {
  runtime::DeviceState& state = *device_.state();
  api::flushed(state);
  const std::lock_guard issue(state.issue_lock());
  state.start_timing(times_);
}

Profiler::~Profiler() {
  runtime::DeviceState& state = *device_.state();
  if (!watching_ || state.is_inherited()) return;
  runtime::HeldWork* held = state.held_work();
  if (held) held->issue_from_destructor();
  try {
    const std::lock_guard issue(state.issue_lock());
    state.stop_timing(*times_);
  } catch (...) {
    // With the runtime gone nobody is left to hear of it.
    if (held) held->keep_failure(std::current_exception());
  }
}

void Profiler::stop() {
  if (!watching_) return;
  runtime::DeviceState& state = *device_.state();
  api::flushed(state);
  const std::lock_guard issue(state.issue_lock());
  watching_ = false;
  state.stop_timing(*times_);
}

std::vector<KernelTime> Profiler::kernels() const {
  runtime::DeviceState& state = *device_.state();
  if (watching_) {
    api::flushed(state);
    const std::lock_guard issue(state.issue_lock());
    state.settle_times();
  }
  std::vector<KernelTime> kernels;
  for (const auto& [name, entry] : times_->entries()) {
    kernels.push_back({name, entry.launches, entry.total_ms,
                       entry.total_ms / static_cast<double>(entry.launches)});
  }
  std::ranges::stable_sort(kernels, std::ranges::greater{}, &KernelTime::total_ms);
  return kernels;
}

}  // namespace salvo
