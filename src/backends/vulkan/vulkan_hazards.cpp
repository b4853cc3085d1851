// Which commands depend on earlier ones, so that a barrier stands only where one is needed (W76).
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_hazards.hpp"

namespace salvo::backends::vulkan {

bool Hazards::conflicts(const Block& block, std::uint64_t begin, std::uint64_t end,
                        bool writes) const {
  if (block.epoch != epoch_) return false;
  for (std::uint32_t i = block.first_access; i != kEnd; i = accesses_[i].next) {
    const Access& earlier = accesses_[i];
    if ((writes || earlier.writes) && begin < earlier.end && earlier.begin < end) return true;
  }
  return false;
}

void Hazards::note(Block& block, std::uint64_t begin, std::uint64_t end, bool writes) {
  const bool first = block.epoch != epoch_;
  if (!first) {
    // A repeated launch would list the same access again and again.
    for (std::uint32_t i = block.first_access; i != kEnd; i = accesses_[i].next) {
      const Access& earlier = accesses_[i];
      if (earlier.begin <= begin && end <= earlier.end && earlier.writes == writes) return;
    }
  }
  accesses_.push_back({begin, end, writes, first ? kEnd : block.first_access});
  block.first_access = static_cast<std::uint32_t>(accesses_.size() - 1);
  block.epoch = epoch_;
}

void Hazards::clear() {
  ++epoch_;
  accesses_.clear();
}

}  // namespace salvo::backends::vulkan
