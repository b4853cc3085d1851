// Device memory: blocks cut from large allocations, and the allocations themselves.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_memory.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "backends/vulkan/vulkan_error.hpp"

namespace salvo::backends::vulkan {
namespace {

constexpr std::uint64_t kAlignment = 256;
constexpr std::uint64_t kSlab = std::uint64_t{32} << 20;
constexpr std::uint64_t kLargest = kSlab / 4;  // larger blocks have an allocation of their own

std::uint64_t rounded(std::uint64_t bytes) {
  return (std::max<std::uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

Memory::Memory(const DeviceApi& api, VkDevice device, const DeviceFacts& facts)
    : api_(api), device_(device), facts_(facts) {
  if (!facts_.options.buffer_addresses) nothing_ = make(Use::storage, kAlignment);
}

Memory::~Memory() {
  if (nothing_.buffer != VK_NULL_HANDLE) destroy(nothing_);
  for (const auto& slab : slabs_) destroy(slab->allocation);
}

/// The first type with all that the use asks for; then with what it cannot do without.
std::uint32_t Memory::type_for(Use use, std::uint32_t allowed) const {
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kHost =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  const auto find = [&](VkMemoryPropertyFlags with, VkMemoryPropertyFlags without) {
    for (std::uint32_t i = 0; i < facts_.memory.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = facts_.memory.memoryTypes[i].propertyFlags;
      if ((allowed >> i & 1) != 0 && (flags & with) == with && (flags & without) == 0) return i;
    }
    return VK_MAX_MEMORY_TYPES;
  };
  const auto first_of = [&](std::initializer_list<std::uint32_t> types) {
    const auto* found = std::find_if(
        types.begin(), types.end(), [](std::uint32_t type) { return type != VK_MAX_MEMORY_TYPES; });
    if (found == types.end()) {
      throw failure(VK_ERROR_OUT_OF_DEVICE_MEMORY, "find a memory type", Errc::out_of_memory);
    }
    return *found;
  };
  switch (use) {
    case Use::storage:
      return facts_.properties.is_integrated
                 ? first_of({find(kLocal | kHost, 0), find(kLocal, 0)})
                 : first_of({find(kLocal, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT), find(kLocal, 0)});
    case Use::table:
      return first_of({find(kLocal | kHost, 0), find(kHost, 0)});
    case Use::upload:
      return first_of({find(kHost, kLocal), find(kHost, 0)});
    default:
      return first_of({find(kHost | kCached, 0), find(kHost, 0)});
  }
}

Allocation Memory::make(Use use, std::uint64_t bytes) {
  // Beyond any device; some drivers overflow when they round it up.
  if (bytes > facts_.properties.max_allocation_bytes) {
    throw Error(Error::Details{
        .code = Errc::out_of_memory,
        .message = fmt::format("{} bytes were asked for, and {} allows {} in one allocation", bytes,
                               facts_.properties.name, facts_.properties.max_allocation_bytes),
        .backend = std::string(kName),
        .operation = "vkAllocateMemory"});
  }
  Allocation made;
  made.bytes = bytes;
  made.id = ++last_id_;
  try {
    VkBufferCreateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer.size = bytes;
    buffer.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const bool addressed = use == Use::storage && facts_.options.buffer_addresses;
    if (use == Use::storage) {
      buffer.usage |= VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
      if (addressed) buffer.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    } else if (use == Use::table) {
      buffer.usage |= VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    }
    check(api_.CreateBuffer(device_, &buffer, nullptr, &made.buffer), "vkCreateBuffer",
          Errc::out_of_memory);
    VkMemoryRequirements needs{};
    api_.GetBufferMemoryRequirements(device_, made.buffer, &needs);

    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory.pNext = addressed ? &flags : nullptr;
    memory.allocationSize = needs.size;
    memory.memoryTypeIndex = type_for(use, needs.memoryTypeBits);
    check(api_.AllocateMemory(device_, &memory, nullptr, &made.memory), "vkAllocateMemory",
          Errc::out_of_memory);
    check(api_.BindBufferMemory(device_, made.buffer, made.memory, 0), "vkBindBufferMemory",
          Errc::out_of_memory);
    if (addressed) {
      VkBufferDeviceAddressInfo address{};
      address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
      address.buffer = made.buffer;
      made.address = api_.GetBufferDeviceAddress(device_, &address);
    }
    const VkMemoryPropertyFlags type =
        facts_.memory.memoryTypes[memory.memoryTypeIndex].propertyFlags;
    if ((type & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0) {
      void* mapped = nullptr;
      check(api_.MapMemory(device_, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory",
            Errc::out_of_memory);
      made.mapped = static_cast<std::byte*>(mapped);
    }
  } catch (...) {
    destroy(made);
    throw;
  }
  return made;
}

void Memory::destroy(Allocation& allocation) noexcept {
  api_.DestroyBuffer(device_, allocation.buffer, nullptr);
  api_.FreeMemory(device_, allocation.memory, nullptr);
  allocation = {};
}

std::unique_ptr<Block> Memory::cut(Slab& slab, std::uint64_t bytes) {
  for (auto range = slab.free.begin(); range != slab.free.end(); ++range) {
    const auto [offset, room] = *range;
    if (room < bytes) continue;
    slab.free.erase(range);
    if (room > bytes) slab.free.emplace(offset + bytes, room - bytes);
    slab.used += bytes;
    return std::make_unique<Block>(Block{&slab.allocation, offset, bytes});
  }
  return nullptr;
}

void Memory::give_back(Slab& slab, const Block& block) {
  auto range = slab.free.emplace(block.offset, block.bytes).first;
  slab.used -= block.bytes;
  if (const auto next = std::next(range);
      next != slab.free.end() && range->first + range->second == next->first) {
    range->second += next->second;
    slab.free.erase(next);
  }
  if (range != slab.free.begin()) {
    const auto before = std::prev(range);
    if (before->first + before->second == range->first) {
      before->second += range->second;
      slab.free.erase(range);
    }
  }
}

std::unique_ptr<Block> Memory::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > kLargest) {
    auto slab = std::make_unique<Slab>();
    slab->allocation = make(Use::storage, bytes);
    slab->used = bytes;
    ++count_;
    auto block = std::make_unique<Block>(Block{&slab->allocation, 0, bytes});
    slabs_.push_back(std::move(slab));
    return block;
  }
  const std::uint64_t size = rounded(bytes);
  for (const auto& slab : slabs_) {
    if (auto block = cut(*slab, size)) {
      ++count_;
      return block;
    }
  }
  auto slab = std::make_unique<Slab>();
  slab->allocation = make(Use::storage, std::min(kSlab, facts_.properties.max_allocation_bytes));
  slab->free.emplace(0, slab->allocation.bytes);
  slabs_.push_back(std::move(slab));
  auto block = cut(*slabs_.back(), size);
  ++count_;
  return block;
}

void Memory::release(std::unique_ptr<Block> block) {
  const std::lock_guard lock(mutex_);
  --count_;
  const auto owner = std::find_if(slabs_.begin(), slabs_.end(), [&](const auto& slab) {
    return &slab->allocation == block->allocation;
  });
  Slab& slab = **owner;
  give_back(slab, *block);
  if (slab.used != 0) return;
  // One empty slab stays, so that a vector made and freed in a loop costs no allocation.
  const auto empty = std::count_if(slabs_.begin(), slabs_.end(), [](const auto& one) {
    return one->used == 0 && one->allocation.bytes == kSlab;
  });
  if (slab.allocation.bytes == kSlab && empty == 1) return;
  destroy(slab.allocation);
  slabs_.erase(owner);
}

std::uint64_t Memory::allocations() const noexcept {
  const std::lock_guard lock(mutex_);
  return count_;
}

}  // namespace salvo::backends::vulkan
