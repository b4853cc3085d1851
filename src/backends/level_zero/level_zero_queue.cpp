// A stream: one immediate command list, and what is in flight on it (P10, P13).
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_queue.hpp"

#include <limits>
#include <utility>

#include "backends/level_zero/level_zero_error.hpp"
#include "runtime/log.hpp"

namespace salvo::backends::level_zero {

using ze::Result;

namespace {

constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLongestDrainNs = 10'000'000'000;

void warn_of_busy_list() noexcept {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  runtime::log(LogLevel::warning,
               "a Level Zero command list was still busy after 10 s and is left as it is");
}

}  // namespace

DeviceContext::DeviceContext(const Api& api_table, const DeviceFacts& device, bool in_order_by_wish)
    : api(api_table),
      facts(device),
      // Older drivers take the flag and ignore it.
      in_order(in_order_by_wish || device.driver->api_version >= ze::version(1, 7)) {
  const ze::ContextDesc desc;
  check(api.ContextCreate(facts.driver->handle, &desc, &handle), "zeContextCreate",
        Errc::backend_unavailable);
  signals_ = std::make_unique<Signals>(api, handle, facts.id);
}

DeviceContext::~DeviceContext() {
  signals_.reset();
  if (handle) api.ContextDestroy(handle);
}

void DeviceContext::abandon() noexcept {
  signals_->abandon();
  handle = nullptr;
}

LevelZeroQueue::LevelZeroQueue(DeviceContext& context, int priority) : context_(context) {
  ze::CommandQueueDesc desc;
  desc.ordinal = context.facts.queue_ordinal;
  desc.flags = context.in_order ? ze::kQueueInOrder : 0;
  desc.mode = ze::QueueMode::asynchronous;
  if (priority != 0)
    desc.priority = priority > 0 ? ze::QueuePriority::high : ze::QueuePriority::low;
  check(context.api.CommandListCreateImmediate(context.handle, context.facts.id, &desc, &list_),
        "zeCommandListCreateImmediate", Errc::out_of_memory);
}

LevelZeroQueue::~LevelZeroQueue() {
  Result drained = Result::success;
  try {
    drained = synchronize(kLongestDrainNs);
  } catch (const Error&) {
    // No signal could be had to wait with: then nothing says that the list is idle.
    drained = Result::not_ready;
  }
  if (drained == Result::not_ready) {
    warn_of_busy_list();
    context_.abandon();
    return;
  }
  context_.api.CommandListDestroy(list_);
}

void LevelZeroQueue::keep_order() {
  if (context_.in_order) return;
  check(context_.api.CommandListAppendBarrier(list_, nullptr, 0, nullptr),
        "zeCommandListAppendBarrier", Errc::launch_failed);
}

std::shared_ptr<Signal> LevelZeroQueue::mark() {
  std::shared_ptr<Signal> signal = context_.signals().take();
  check(context_.api.CommandListAppendBarrier(list_, signal->get(), 0, nullptr),
        "zeCommandListAppendBarrier", Errc::launch_failed);
  return signal;
}

void LevelZeroQueue::forget_done_waits() {
  while (!waits_.empty() &&
         context_.api.EventQueryStatus(waits_.front().done->get()) == Result::success) {
    waits_.pop_front();
  }
}

void LevelZeroQueue::wait_for(std::shared_ptr<Signal> signal) {
  forget_done_waits();
  std::shared_ptr<Signal> done = context_.signals().take();
  ze::Event awaited = signal->get();
  const ze::Event set_then = done->get();
  waits_.push_back({std::move(signal), std::move(done)});
  check(context_.api.CommandListAppendBarrier(list_, set_then, 1, &awaited),
        "zeCommandListAppendBarrier", Errc::launch_failed);
}

Result LevelZeroQueue::synchronize(std::uint64_t timeout_ns) {
  const auto& host_synchronize = context_.facts.driver->functions.host_synchronize;
  if (host_synchronize && !context_.lacks_host_synchronize.load(std::memory_order_relaxed)) {
    const Result result = host_synchronize(list_, timeout_ns);
    if (!is_unsupported(result)) return result;
    context_.lacks_host_synchronize.store(true, std::memory_order_relaxed);
  }
  const std::shared_ptr<Signal> done = context_.signals().take();
  const Result appended = context_.api.CommandListAppendBarrier(list_, done->get(), 0, nullptr);
  if (appended != Result::success) return appended;
  return context_.api.EventHostSynchronize(done->get(), timeout_ns);
}

void LevelZeroQueue::finish() {
  check_late(synchronize(kForEver), "zeCommandListHostSynchronize", Errc::launch_failed);
  waits_.clear();
}

}  // namespace salvo::backends::level_zero
