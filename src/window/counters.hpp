// Counts behind window.stats(), as the launch path raises them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "salvo/window.hpp"

namespace salvo::window {

/// Relaxed atomics: each count is exact, a set of counts is a snapshot only when nothing runs.
struct Counters {
  static constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::cooperative_matrix) + 1;
  std::atomic<std::uint64_t> submitted{0}, issued{0}, failed{0}, fused_groups{0},
      epilogue_merges{0}, fallbacks{0}, replays{0}, repeated{0}, cache_hits{0}, cache_misses{0};
  std::array<std::atomic<std::uint64_t>, kReasons> refusals{};

  static void raise(std::atomic<std::uint64_t>& count) noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
  }
  void refuse(Reason reason) noexcept { raise(refusals[static_cast<std::size_t>(reason)]); }

  void reset() noexcept {
    for (auto* count : {&submitted, &issued, &failed, &fused_groups, &epilogue_merges, &fallbacks,
                        &replays, &repeated, &cache_hits, &cache_misses}) {
      count->store(0, std::memory_order_relaxed);
    }
    for (auto& count : refusals) count.store(0, std::memory_order_relaxed);
  }
};

/// Launches of one device that ran as they ran before, by why they are not held: each was
/// submitted, refused and issued. Added to by who holds the issue lock, so that no locked operation
/// of the processor waits for what the driver wrote to its device.
class AgainCounts {
 public:
  void raise(Reason reason) noexcept {
    std::atomic<std::uint64_t>& count = counts_[static_cast<std::size_t>(reason)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Since `reset`. Any thread may ask.
  std::uint64_t of(std::size_t reason) const noexcept {
    return counts_[reason].load(std::memory_order_relaxed) -
           reset_at_[reason].load(std::memory_order_relaxed);
  }
  /// Leaves the counts alone, which another thread may be adding to.
  void reset() noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      reset_at_[i].store(counts_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
  }

 private:
  std::array<std::atomic<std::uint64_t>, Counters::kReasons> counts_{}, reset_at_{};
};

}  // namespace salvo::window
