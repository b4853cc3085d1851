// Which commands depend on earlier ones, so that a barrier stands only where one is needed (W76).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "backends/vulkan/vulkan_memory.hpp"

namespace salvo::backends::vulkan {

/// The accesses since the last barrier, listed by block. Nothing is allocated once it has grown.
class Hazards {
 public:
  /// Whether an access must wait for an earlier one: one of the two writes and their bytes meet.
  bool conflicts(const Block& block, std::uint64_t begin, std::uint64_t end, bool writes) const;
  void note(Block& block, std::uint64_t begin, std::uint64_t end, bool writes);

  /// Too many to go on listing: a barrier is due whatever comes next.
  bool full() const noexcept { return accesses_.size() >= kMost; }
  /// A barrier was recorded: what came before matters no more.
  void clear();

 private:
  static constexpr std::size_t kMost = 4096;
  static constexpr std::uint32_t kEnd = ~std::uint32_t{0};

  struct Access {
    std::uint64_t begin;
    std::uint64_t end;
    bool writes;
    std::uint32_t next;  // of the same block
  };

  std::uint64_t epoch_ = 1;  // blocks stamped with another have no access listed
  std::vector<Access> accesses_;
};

}  // namespace salvo::backends::vulkan
