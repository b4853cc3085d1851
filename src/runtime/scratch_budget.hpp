// How large a block may be when its threads spill registers to memory (P6).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace salvo::runtime {

/// Spill memory that one block may ask for. It bounds how much runs at once: drivers size scratch
/// memory by hardware threads.
inline constexpr std::uint64_t kScratchBudget = std::uint64_t{1} << 20;

/// `block`, or the largest power of two of threads that keeps within the budget.
constexpr std::uint32_t within_scratch_budget(std::uint32_t block,
                                              std::uint32_t spill_bytes_per_thread) noexcept {
  if (std::uint64_t{block} * spill_bytes_per_thread <= kScratchBudget) return block;
  const auto most = static_cast<std::uint32_t>(kScratchBudget / spill_bytes_per_thread);
  return std::bit_floor(std::max(most, 1u));
}

}  // namespace salvo::runtime
