// One command buffer and what its commands read from the host: argument tables, staged bytes.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_batch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "backends/vulkan/vulkan_error.hpp"

namespace salvo::backends::vulkan {
namespace {

constexpr std::uint32_t kTables = 128 << 10;                 // of a chunk, for tables
constexpr std::uint64_t kStaging = std::uint64_t{16} << 20;  // of a batch

}  // namespace

Batch::Batch(const BatchContext& context) : context_(context) {
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = context_.facts.queue_family;
  check(context_.api.CreateCommandPool(context_.device, &pool, nullptr, &pool_),
        "vkCreateCommandPool", Errc::launch_failed);
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool_;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  const VkResult status = context_.api.AllocateCommandBuffers(context_.device, &info, &commands_);
  if (status != VK_SUCCESS) {
    context_.api.DestroyCommandPool(context_.device, pool_, nullptr);
    throw failure(status, "vkAllocateCommandBuffers", Errc::launch_failed);
  }
}

Batch::~Batch() {
  for (Chunk& chunk : chunks_) {
    context_.api.DestroyDescriptorPool(context_.device, chunk.pool, nullptr);
    context_.memory.destroy(chunk.allocation);
  }
  if (staging_.buffer != VK_NULL_HANDLE) context_.memory.destroy(staging_);
  context_.api.DestroyCommandPool(context_.device, pool_, nullptr);
}

void Batch::begin() {
  names_.clear();
  chunk_ = 0;
  used_ = 0;
  staged_ = 0;
  serial = 0;
  check(context_.api.ResetCommandPool(context_.device, pool_, 0), "vkResetCommandPool",
        Errc::launch_failed);
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(context_.api.BeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer",
        Errc::launch_failed);
}

void Batch::add_chunk() {
  const DeviceApi& api = context_.api;
  Chunk& chunk = chunks_.emplace_back();
  // A dynamic offset leaves the set's range as it is, so that the last table needs room after it.
  chunk.allocation = context_.memory.make(Use::table, kTables + context_.facts.table_bytes);
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, 1};
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = 1;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  check(api.CreateDescriptorPool(context_.device, &pool, nullptr, &chunk.pool),
        "vkCreateDescriptorPool", Errc::launch_failed);
  VkDescriptorSetAllocateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  set.descriptorPool = chunk.pool;
  set.descriptorSetCount = 1;
  set.pSetLayouts = &context_.table_layout;
  check(api.AllocateDescriptorSets(context_.device, &set, &chunk.set), "vkAllocateDescriptorSets",
        Errc::launch_failed);
  const VkDescriptorBufferInfo buffer{chunk.allocation.buffer, 0, context_.facts.table_bytes};
  VkWriteDescriptorSet write{};
  write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  write.dstSet = chunk.set;
  write.descriptorCount = 1;
  write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
  write.pBufferInfo = &buffer;
  api.UpdateDescriptorSets(context_.device, 1, &write, 0, nullptr);
}

Batch::Table Batch::table(std::uint32_t bytes) {
  const std::uint32_t alignment = context_.facts.table_alignment;
  const std::uint32_t size = (bytes + alignment - 1) / alignment * alignment;
  if (used_ + size > kTables && used_ != 0) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) add_chunk();
  const Table table{chunks_[chunk_].allocation.mapped + used_, chunks_[chunk_].set, used_};
  used_ += size;
  return table;
}

Batch::Staged Batch::upload(std::uint64_t bytes) {
  if (staging_.buffer == VK_NULL_HANDLE) staging_ = context_.memory.make(Use::upload, kStaging);
  const Staged staged{staging_.mapped + staged_, staging_.buffer, staged_,
                      std::min(bytes, kStaging - staged_)};
  staged_ = std::min((staged_ + staged.bytes + 15) / 16 * 16, kStaging);
  return staged;
}

}  // namespace salvo::backends::vulkan
