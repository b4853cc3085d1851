// Points in command lists, which Level Zero calls events, kept for reuse.
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/level_zero/level_zero_api.hpp"

namespace salvo::backends::level_zero {

class Signals;

/// A driver's event, which is set once: whoever still waits for it holds it. Goes back to where it
/// came from with its last holder.
class Signal {
 public:
  Signal(Signals& from, ze::Event handle) : from_(from), handle_(handle) {}
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  ze::Event get() const noexcept { return handle_; }

 private:
  Signals& from_;
  ze::Event handle_;
};

/// The signals of a device. Thread-safe.
class Signals {
 public:
  Signals(const Api& api, ze::Context context, ze::Device device)
      : api_(api), context_(context), device_(device) {}
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// One that is not set, and that nobody else holds.
  std::shared_ptr<Signal> take();
  /// Leaves the driver's objects alone for ever, because something still uses them.
  void abandon() noexcept;

 private:
  friend class Signal;
  ze::Event reused();
  ze::Event made();
  void give_back(ze::Event event) noexcept;

  const Api& api_;
  const ze::Context context_;
  const ze::Device device_;
  std::mutex mutex_;
  std::vector<ze::EventPool> pools_;
  std::uint32_t next_in_pool_ = 0;
  std::vector<ze::Event> all_;
  std::deque<ze::Event> returned_;  // the list they were recorded in may have yet to reach them
};

}  // namespace salvo::backends::level_zero
