// Keeps freed device memory for reuse, in size classes (R5).
// SPDX-License-Identifier: MIT
#include "runtime/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace salvo::runtime {

std::size_t BufferPool::size_class(std::size_t bytes) noexcept {
  constexpr std::size_t kSmallest = 256;
  if (bytes <= kSmallest) return kSmallest;
  // Eight classes between one power of two and the next.
  const int shift = static_cast<int>(std::bit_width(bytes - 1)) - 4;
  const std::size_t step = std::size_t{1} << shift;
  return ((bytes + step - 1) >> shift) << shift;
}

Block BufferPool::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(lock_);
  Block block;
  if (auto found = cached_.find(size); found != cached_.end() && !found->second.empty()) {
    block = std::move(found->second.back());
    found->second.pop_back();
    statistics_.cached -= size;
    ++statistics_.reuses;
  } else {
    block.buffer = driver_.allocate(size);
    ++statistics_.allocations;
  }
  statistics_.in_use += size;
  return block;
}

void BufferPool::free(Block block) noexcept {
  const std::lock_guard lock(lock_);
  const Buffer buffer = block.buffer;
  statistics_.in_use -= buffer.bytes;
  try {
    cached_[buffer.bytes].push_back(std::move(block));
    statistics_.cached += buffer.bytes;
  } catch (const std::bad_alloc&) {
    driver_.release(buffer);  // the host has no room for a list of free blocks
  }
}

void BufferPool::trim() noexcept {
  const std::lock_guard lock(lock_);
  for (const auto& [size, blocks] : cached_) {
    for (const Block& block : blocks) driver_.release(block.buffer);
  }
  cached_.clear();
  statistics_.cached = 0;
}

PoolStatistics BufferPool::statistics() const {
  const std::lock_guard lock(lock_);
  return statistics_;
}

}  // namespace salvo::runtime
