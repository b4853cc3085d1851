// Launches that no wait has seen the end of, so that a failure told later has their names (W81).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "runtime/backend.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {

/// Of one device. Guarded by its issue lock but where noted. Allocates with the first launch alone.
class LaunchLog {
 public:
  /// The ticket that the next launch gets, which is about to be made: its entry is brought near
  /// while the driver works.
  std::uint64_t next_ticket() const noexcept {
    if (count_ < open_.size()) __builtin_prefetch(&open_[count_], 1);
    return last_ticket_ + 1;
  }
  /// Notes a launch that `queue` took. Vectors that it writes keep the ticket. The name lasts.
  std::uint64_t add(const Queue& queue, const std::string& kernel,
                    const std::source_location& where) {
    if (count_ == open_.size()) make_room();
    open_[count_++] = {&kernel, where, ++last_ticket_, &queue};
    return last_ticket_;
  }
  /// What was given to `queue`, or to all of them if it is null, has finished well.
  void done(const Queue* queue) noexcept;
  /// What a wait for `queue` threw, or for all of them. Where it tells of a launch, it comes back
  /// once for each that it may have been, the first with the others attached, and what those wrote
  /// is lost.
  Error blame(const Error& failure, const Queue* queue);

  /// Whether anything was ever lost. Any thread may ask, without a lock.
  bool has_losses() const noexcept { return has_losses_.load(std::memory_order_acquire); }
  /// Why what the launch with that ticket wrote is lost; null if it is not.
  const Error* loss(std::uint64_t ticket) const noexcept;

 private:
  struct Launch {
    const std::string* kernel = nullptr;
    std::source_location where;
    std::uint64_t ticket = 0;
    const Queue* queue = nullptr;
  };
  struct Loss {
    std::uint64_t first, last;  // tickets
    Error error;
  };

  void make_room();

  std::uint64_t last_ticket_ = 0;
  std::vector<Launch> open_;  // the first `count_`, by ticket
  std::size_t count_ = 0;
  std::uint64_t dropped_first_ = 0, dropped_last_ = 0;  // too many to keep; 0: none
  std::vector<Loss> losses_;                            // by ticket
  std::atomic<bool> has_losses_{false};
};

}  // namespace salvo::runtime
