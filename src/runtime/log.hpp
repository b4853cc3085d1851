// Messages to the program's log sink, told while no lock is held (R12, W25).
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string_view>

#include "salvo/log.hpp"

namespace salvo::runtime {

/// Whether anybody listens: otherwise no message need be made.
bool is_logging() noexcept;

/// Tells the sink: now, or if this thread holds a QuietMutex, when it has let go of the last one.
/// Without memory for it the message is dropped.
void log(LogLevel level, std::string_view message) noexcept;

/// A mutex under which messages wait.
class QuietMutex {
 public:
  void lock() {
    mutex_.lock();
    ++held_;
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    ++held_;
    return true;
  }
  void unlock() {
    mutex_.unlock();
    if (--held_ == 0 && waits_) [[unlikely]]
      tell_waiting();
  }

 private:
  friend void log(LogLevel level, std::string_view message) noexcept;
  static void tell_waiting() noexcept;

  // Of this thread: how many it holds, and whether it has a message that waits.
  static constinit thread_local unsigned held_;
  static constinit thread_local bool waits_;

  std::mutex mutex_;
};

}  // namespace salvo::runtime
