// Device memory: blocks cut from large allocations, and the allocations themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/vulkan/vulkan_properties.hpp"

namespace salvo::backends::vulkan {

/// One vkAllocateMemory with one buffer over all of it.
struct Allocation {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;  // 0 on a device without addresses
  std::byte* mapped = nullptr;  // null where the host cannot see it
  std::uint64_t bytes = 0;
  std::uint64_t id = 0;  // no other allocation of the device ever has the same
};

/// Memory of one runtime buffer. What uses it and when is the recorder's to write.
struct Block {
  Allocation* allocation = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  std::uint64_t last_use = 0;  // serial of the last batch that touches it
  std::uint64_t epoch = 0;     // of the accesses below; see hazards
  std::uint32_t first_access = 0;

  /// Without addresses: its first byte in the allocation's buffer.
  VkDeviceAddress address() const noexcept { return allocation->address + offset; }
  std::byte* mapped() const noexcept {
    return allocation->mapped ? allocation->mapped + offset : nullptr;
  }
};

/// What memory is for decides its type.
enum class Use {
  storage,   // kernels; on the host's side only where all memory is
  table,     // written by the host, read by kernels
  upload,    // written by the host, copied from
  readback,  // copied to, read by the host
};

/// Thread-safe.
class Memory {
 public:
  Memory(const DeviceApi& api, VkDevice device, const DeviceFacts& facts);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Throws Errc::out_of_memory.
  std::unique_ptr<Block> allocate(std::uint64_t bytes);
  void release(std::unique_ptr<Block> block);

  /// An allocation of its own, for the backend's use.
  Allocation make(Use use, std::uint64_t bytes);
  void destroy(Allocation& allocation) noexcept;

  /// What is bound for a span without a buffer; empty where spans have addresses.
  const Allocation& nothing() const noexcept { return nothing_; }

  std::uint64_t allocations() const noexcept;

 private:
  /// A large allocation that blocks are cut from; free ranges by offset.
  struct Slab {
    Allocation allocation;
    std::map<std::uint64_t, std::uint64_t> free;
    std::uint64_t used = 0;
  };

  std::uint32_t type_for(Use use, std::uint32_t allowed) const;
  std::unique_ptr<Block> cut(Slab& slab, std::uint64_t bytes);
  static void give_back(Slab& slab, const Block& block);

  const DeviceApi& api_;
  const VkDevice device_;
  const DeviceFacts& facts_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::uint64_t count_ = 0;
  Allocation nothing_;
  std::atomic<std::uint64_t> last_id_{0};
};

}  // namespace salvo::backends::vulkan
