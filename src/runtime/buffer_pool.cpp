// Keeps freed device memory for reuse, in size classes (R5).
// SPDX-License-Identifier: MIT
#include "runtime/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace salvo::runtime {

std::size_t BufferPool::size_class(std::size_t bytes) noexcept {
  constexpr std::size_t kSmallest = 256;
  if (bytes <= kSmallest) return kSmallest;
  const std::size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

Buffer BufferPool::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  const std::lock_guard lock(lock_);
  Buffer buffer;
  if (auto found = cached_.find(size); found != cached_.end() && !found->second.empty()) {
    buffer = found->second.back();
    found->second.pop_back();
    statistics_.cached -= size;
    ++statistics_.reuses;
  } else {
    buffer = driver_.allocate(size);
    ++statistics_.allocations;
  }
  statistics_.in_use += size;
  return buffer;
}

void BufferPool::free(Buffer buffer) noexcept {
  const std::lock_guard lock(lock_);
  statistics_.in_use -= buffer.bytes;
  try {
    cached_[buffer.bytes].push_back(buffer);
    statistics_.cached += buffer.bytes;
  } catch (const std::bad_alloc&) {
    driver_.release(buffer);  // the host has no room for a list of free blocks
  }
}

void BufferPool::trim() noexcept {
  const std::lock_guard lock(lock_);
  for (auto& [size, buffers] : cached_) {
    for (const Buffer& buffer : buffers) driver_.release(buffer);
  }
  cached_.clear();
  statistics_.cached = 0;
}

PoolStatistics BufferPool::statistics() const {
  const std::lock_guard lock(lock_);
  return statistics_;
}

}  // namespace salvo::runtime
