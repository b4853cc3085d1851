// The spans of a kernel as storage buffers, on devices without buffer addresses.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_buffer_sets.hpp"

#include <algorithm>
#include <array>

#include "backends/vulkan/vulkan_error.hpp"
#include "codegen/spirv/options.hpp"

namespace salvo::backends::vulkan {
namespace {

constexpr std::uint32_t kSets = 16;  // of a pool

}  // namespace

BufferSets::BufferSets(const Context& context, const ir::Kernel& kernel) : context_(context) {
  std::uint32_t argument = 0;
  for (std::uint32_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    if (parameter.is_span) {
      bindings_.push_back({i, argument, parameter.slots});
      buffers_ += parameter.slots;
    }
    argument += parameter.slots;
  }
  try {
    make_layouts();
  } catch (...) {
    destroy();
    throw;
  }
}

BufferSets::~BufferSets() {
  destroy();
}

void BufferSets::destroy() noexcept {
  for (VkDescriptorPool pool : pools_) {
    context_.api.DestroyDescriptorPool(context_.device, pool, nullptr);
  }
  context_.api.DestroyPipelineLayout(context_.device, pipeline_layout_, nullptr);
  context_.api.DestroyDescriptorSetLayout(context_.device, set_layout_, nullptr);
}

void BufferSets::make_layouts() {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const Binding& binding : bindings_) {
    bindings.push_back({binding.number, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, binding.count,
                        VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<std::uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  check(context_.api.CreateDescriptorSetLayout(context_.device, &set, nullptr, &set_layout_),
        "vkCreateDescriptorSetLayout", Errc::compile_failed);
  static_assert(codegen::spirv::kTableSet == 0 && codegen::spirv::kBufferSet == 1);
  const std::array layouts{context_.table_layout, set_layout_};
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, context_.push_bytes};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = layouts.size();
  layout.pSetLayouts = layouts.data();
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  check(context_.api.CreatePipelineLayout(context_.device, &layout, nullptr, &pipeline_layout_),
        "vkCreatePipelineLayout", Errc::compile_failed);
}

void BufferSets::add_pool() {
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSets * buffers_};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = kSets;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(context_.api.CreateDescriptorPool(context_.device, &info, nullptr, &pool),
        "vkCreateDescriptorPool", Errc::launch_failed);
  pools_.push_back(pool);
  std::array<VkDescriptorSetLayout, kSets> layouts;
  layouts.fill(set_layout_);
  VkDescriptorSetAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = pool;
  allocation.descriptorSetCount = kSets;
  allocation.pSetLayouts = layouts.data();
  std::array<VkDescriptorSet, kSets> sets;
  check(context_.api.AllocateDescriptorSets(context_.device, &allocation, sets.data()),
        "vkAllocateDescriptorSets", Errc::launch_failed);
  for (VkDescriptorSet set : sets) sets_.push_back({{}, set, 0});
}

const Allocation& BufferSets::bound(const runtime::Argument& argument) const {
  if (!argument.buffer) return context_.nothing;
  return *reinterpret_cast<const Block*>(argument.buffer.handle)->allocation;
}

VkDescriptorSet BufferSets::set(std::span<const runtime::Argument> arguments, std::uint64_t serial,
                                std::uint64_t completed) {
  if (buffers_ == 0) return VK_NULL_HANDLE;
  wanted_.clear();
  for (const Binding& binding : bindings_) {
    for (const auto& argument : arguments.subspan(binding.first, binding.count)) {
      wanted_.push_back(bound(argument).id);
    }
  }
  auto found = std::find_if(sets_.begin(), sets_.end(),
                            [&](const Set& one) { return one.allocations == wanted_; });
  if (found == sets_.end()) {
    // The one that was not used for longest, if its last use is over.
    found = std::min_element(sets_.begin(), sets_.end(),
                             [](const Set& a, const Set& b) { return a.last_use < b.last_use; });
    if (found == sets_.end() || found->last_use > completed) {
      add_pool();
      found = sets_.end() - kSets;
    }
    write(*found, arguments);
  }
  found->last_use = serial;
  return found->set;
}

void BufferSets::write(Set& to, std::span<const runtime::Argument> arguments) {
  infos_.clear();
  infos_.reserve(buffers_);
  writes_.clear();
  for (const Binding& binding : bindings_) {
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = to.set;
    write.dstBinding = binding.number;
    write.descriptorCount = binding.count;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos_.data() + infos_.size();
    for (const auto& argument : arguments.subspan(binding.first, binding.count)) {
      infos_.push_back({bound(argument).buffer, 0, VK_WHOLE_SIZE});
    }
    writes_.push_back(write);
  }
  context_.api.UpdateDescriptorSets(context_.device, static_cast<std::uint32_t>(writes_.size()),
                                    writes_.data(), 0, nullptr);
  to.allocations = wanted_;
}

}  // namespace salvo::backends::vulkan
