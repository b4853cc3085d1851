// The spans of a kernel as storage buffers, on devices without buffer addresses.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/vulkan/vulkan_memory.hpp"
#include "ir/kernel.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

/// A kernel's pipeline layout and its descriptor sets, each written once for the allocations that
/// it binds and found again by them: a launch that came before neither makes nor writes one (P3).
/// What a span's first byte is in its allocation, the shader is passed. Used under the recorder's
/// lock.
class BufferSets {
 public:
  struct Context {
    const DeviceApi& api;
    VkDevice device;
    VkDescriptorSetLayout table_layout;
    std::uint32_t push_bytes;
    const Allocation& nothing;  // bound where a launch has no buffer
  };

  BufferSets(const Context& context, const ir::Kernel& kernel);
  ~BufferSets();
  BufferSets(const BufferSets&) = delete;
  BufferSets& operator=(const BufferSets&) = delete;

  VkPipelineLayout pipeline_layout() const noexcept { return pipeline_layout_; }

  /// The set for these arguments, for use in submission `serial`; those before and with `completed`
  /// are done with theirs.
  VkDescriptorSet set(std::span<const runtime::Argument> arguments, std::uint64_t serial,
                      std::uint64_t completed);

 private:
  /// The arguments of one span parameter.
  struct Binding {
    std::uint32_t number;
    std::uint32_t first;  // argument
    std::uint32_t count;
  };
  struct Set {
    std::vector<std::uint64_t> allocations;  // by buffer: their ids
    VkDescriptorSet set = VK_NULL_HANDLE;
    std::uint64_t last_use = 0;
  };

  void make_layouts();
  void add_pool();
  void destroy() noexcept;
  void write(Set& to, std::span<const runtime::Argument> arguments);
  const Allocation& bound(const runtime::Argument& argument) const;

  const Context context_;
  std::vector<Binding> bindings_;
  std::uint32_t buffers_ = 0;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout pipeline_layout_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorPool> pools_;
  std::vector<Set> sets_;
  std::vector<std::uint64_t> wanted_;
  std::vector<VkDescriptorBufferInfo> infos_;
  std::vector<VkWriteDescriptorSet> writes_;
};

}  // namespace salvo::backends::vulkan
