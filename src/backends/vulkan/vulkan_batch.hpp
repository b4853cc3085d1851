// One command buffer and what its commands read from the host: argument tables, staged bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/vulkan/vulkan_memory.hpp"
#include "runtime/launched_names.hpp"

namespace salvo::backends::vulkan {

using runtime::KernelName;

/// What batches of a device share.
struct BatchContext {
  const DeviceApi& api;
  VkDevice device;
  const DeviceFacts& facts;
  Memory& memory;
  VkDescriptorSetLayout table_layout;
};

/// Used again and again: in a steady state recording allocates nothing.
class Batch {
 public:
  /// Room for one argument table.
  struct Table {
    std::byte* data;
    VkDescriptorSet set;
    std::uint32_t offset;  // dynamic offset in the set
  };

  /// Host memory for a copy.
  struct Staged {
    std::byte* data;
    VkBuffer buffer;
    std::uint64_t offset;
    std::uint64_t bytes;  // at most what was asked for
  };

  explicit Batch(const BatchContext& context);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// Starts recording anew.
  void begin();
  VkCommandBuffer commands() const noexcept { return commands_; }

  Table table(std::uint32_t bytes);
  /// Room to copy from; empty once this batch has used its share.
  Staged upload(std::uint64_t bytes);

  void add(const KernelName& name) { names_.add(name); }
  std::size_t dispatches() const noexcept { return names_.size(); }
  std::string kernels() const { return names_.text(); }
  /// Failures have been told; the batch may be waited for without telling them again.
  void forget_kernels() { names_.clear(); }

  std::uint64_t serial = 0;  // once submitted

 private:
  struct Chunk {
    Allocation allocation;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    VkDescriptorSet set = VK_NULL_HANDLE;
  };
  void add_chunk();

  const BatchContext& context_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = nullptr;
  runtime::LaunchedNames names_;

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  // the one in use
  std::uint32_t used_ = 0;

  Allocation staging_;
  std::uint64_t staged_ = 0;
};

}  // namespace salvo::backends::vulkan
