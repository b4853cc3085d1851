// A stream: one immediate command list, and what is in flight on it (P10, P13).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "backends/level_zero/level_zero_events.hpp"
#include "backends/level_zero/level_zero_properties.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::level_zero {

/// What everything of one device shares. Outlives all that is made from it.
class DeviceContext {
 public:
  DeviceContext(const Api& api_table, const DeviceFacts& device, bool in_order_by_wish);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  Signals& signals() noexcept { return *signals_; }
  /// Leaves the context and its signals to the driver for ever (P13).
  void abandon() noexcept;

  const Api& api;
  const DeviceFacts& facts;
  const bool in_order;  // command lists keep the order of their commands
  ze::Context handle = nullptr;
  /// The driver answered once that it has no such call.
  std::atomic<bool> lacks_host_synchronize{false};
  std::atomic<bool> lacks_launch_with_arguments{false};

 private:
  std::unique_ptr<Signals> signals_;
};

class LevelZeroQueue final : public runtime::Queue {
 public:
  LevelZeroQueue(DeviceContext& context, int priority);
  /// Waits at most ten seconds for what is in flight. A list that is busy even then is left to the
  /// driver, with one warning to the log: destroying it would pull memory from under the device.
  ~LevelZeroQueue() override;

  ze::CommandList list() const noexcept { return list_; }
  /// To be called after each command: what comes later waits for it.
  void keep_order();
  /// A signal that is set when the work so far is done.
  std::shared_ptr<Signal> mark();
  /// Later work waits for `signal`.
  void wait_for(std::shared_ptr<Signal> signal);
  void finish();

 private:
  /// Another list's signal must live until this list has waited for it.
  struct Wait {
    std::shared_ptr<Signal> signal;
    std::shared_ptr<Signal> done;
  };

  ze::Result synchronize(std::uint64_t timeout_ns);
  void forget_done_waits();

  DeviceContext& context_;
  ze::CommandList list_ = nullptr;
  std::deque<Wait> waits_;
};

inline LevelZeroQueue& as_level_zero(runtime::Queue& queue) noexcept {
  return static_cast<LevelZeroQueue&>(queue);
}

class LevelZeroEvent final : public runtime::Event {
 public:
  std::shared_ptr<Signal> signal;  // null until recorded
};

}  // namespace salvo::backends::level_zero
