// Keeps freed device memory for reuse, in size classes (R5).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/stream_order.hpp"

namespace salvo::runtime {

/// What a pool holds, in bytes.
struct PoolStatistics {
  std::size_t in_use = 0;
  std::size_t cached = 0;
  std::size_t allocations = 0;  // calls that reached the driver
  std::size_t reuses = 0;       // calls that did not
};

/// A block of device memory, and the streams whose work on it the default queue may not come after
/// yet.
struct Block {
  Buffer buffer;
  StreamUses uses;
};

/// Memory of one device. A freed block may be handed out again at once, because work on the default
/// queue is ordered: whoever gets it works on it after whoever gave it back. What streams did with
/// it stays noted: whoever gets it orders its first work after that. Thread-safe.
class BufferPool {
 public:
  explicit BufferPool(DeviceDriver& driver) : driver_(driver) {}

  /// At least `bytes`; throws what the driver throws when it has none, also after trimming.
  Block allocate(std::size_t bytes);
  void free(Block block) noexcept;
  /// Gives all cached blocks back to the driver. The device must be idle.
  void trim() noexcept;
  PoolStatistics statistics() const;

  /// The size a request is rounded to: at most an eighth is wasted.
  static std::size_t size_class(std::size_t bytes) noexcept;

 private:
  DeviceDriver& driver_;
  mutable std::mutex lock_;
  std::map<std::size_t, std::vector<Block>> cached_;  // by size class
  PoolStatistics statistics_;
};

}  // namespace salvo::runtime
