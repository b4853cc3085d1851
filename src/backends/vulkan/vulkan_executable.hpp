// A kernel's shader module and its pipelines, one for each block size it was launched with.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/vulkan/vulkan_api.hpp"
#include "backends/vulkan/vulkan_batch.hpp"
#include "backends/vulkan/vulkan_buffer_sets.hpp"
#include "codegen/spirv/layout.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

class Recorder;

/// Where one launch argument goes.
struct ArgumentPlan {
  bool is_span = false;
  std::uint32_t element_bytes = 0;  // span
  std::uint32_t address = 0;        // span: offset in push constants, or in the table
  std::uint32_t value = 0;          // length or scalar: likewise
  std::uint32_t value_bytes = 4;    // as it stands there
  std::uint32_t scalar_bytes = 4;   // scalar: of its own type
};

class VulkanExecutable final : public runtime::Executable {
 public:
  struct Context {
    const DeviceApi& api;
    VkDevice device;
    VkPipelineLayout pipeline_layout;  // of all kernels whose spans have addresses
    std::uint32_t max_threads;
    std::uint32_t preferred_block;  // threads: the block that binary() compiles for
    const VkPipelineCacheHeaderVersionOne& pipeline_cache;
    Recorder& recorder;
  };

  /// `code` is SPIR-V, or `cached` what binary() gave. `sets` if spans are storage buffers. Throws
  /// Errc::compile_failed.
  VulkanExecutable(const Context& context, const ir::Kernel& kernel,
                   const codegen::spirv::Layout& layout, std::string_view code,
                   std::span<const std::byte> cached, std::unique_ptr<BufferSets> sets);
  /// Pending launches may still use the pipelines: the recorder destroys them later.
  ~VulkanExecutable() override;

  std::uint32_t max_threads_per_block() const noexcept override { return context_.max_threads; }
  /// The module, then the driver's code for it, at least that for the preferred block.
  std::vector<std::byte> binary() const override;

  /// Made at the first launch with this block size.
  VkPipeline pipeline(const runtime::LaunchShape& shape);

  const KernelName& name() const noexcept { return name_; }
  std::span<const ArgumentPlan> plan() const noexcept { return plan_; }
  std::uint32_t push_bytes() const noexcept { return push_bytes_; }
  std::uint32_t table_bytes() const noexcept { return table_bytes_; }
  bool values_in_table() const noexcept { return values_in_table_; }
  bool addresses_in_table() const noexcept { return addresses_in_table_; }
  BufferSets* sets() const noexcept { return sets_.get(); }
  VkPipelineLayout pipeline_layout() const noexcept {
    return sets_ ? sets_->pipeline_layout() : context_.pipeline_layout;
  }

 private:
  struct Variant {
    runtime::Dim3 block;
    std::uint32_t dynamic_words;
    VkPipeline pipeline;
  };

  void load_binary(std::span<const std::byte> binary, std::string& code,
                   std::span<const std::byte>& pipelines) const;
  void make_module(std::string_view code);
  VkPipeline make_pipeline(const runtime::Dim3& block, std::uint32_t dynamic_words) const;

  const Context context_;
  const KernelName name_;
  std::vector<ArgumentPlan> plan_;
  std::uint32_t push_bytes_;
  std::uint32_t table_bytes_;
  bool values_in_table_;
  bool addresses_in_table_;
  bool dynamic_shared_;
  std::vector<std::uint32_t> words_;
  VkShaderModule module_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<Variant> variants_;  // few: searched in order
  std::unique_ptr<BufferSets> sets_;
};

}  // namespace salvo::backends::vulkan
