// A kernel's shader module and its pipelines, one for each block size it was launched with.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_executable.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "backends/vulkan/vulkan_error.hpp"
#include "backends/vulkan/vulkan_recorder.hpp"
#include "codegen/spirv/emitter.hpp"

namespace salvo::backends::vulkan {
namespace {

/// Of dynamic shared memory. An array of none is an error; a kernel that is given none must not
/// touch it anyway.
constexpr std::uint32_t kLeastWords = 4;
constexpr std::uint32_t kSpirvMagic = 0x07230203;
constexpr std::array<char, 8> kBinaryMagic{'s', 'a', 'l', 'v', 'o', 'V', 'K', '1'};

struct BinaryHead {
  std::array<char, 8> magic;
  std::uint64_t code_bytes;
  std::uint64_t pipeline_bytes;
};

[[noreturn]] void refuse(std::string message, std::string_view operation, std::string log = {}) {
  throw Error(Error::Details{.code = Errc::compile_failed,
                             .message = std::move(message),
                             .backend = std::string(kName),
                             .operation = std::string(operation),
                             .log = std::move(log)});
}

}  // namespace

VulkanExecutable::VulkanExecutable(const Context& context, const ir::Kernel& kernel,
                                   const codegen::spirv::Layout& layout, std::string_view code,
                                   std::span<const std::byte> cached,
                                   std::unique_ptr<BufferSets> sets)
    : context_(context),
      name_(std::make_shared<const std::string>(kernel.name)),
      push_bytes_(layout.push_bytes),
      table_bytes_(layout.table_bytes),
      values_in_table_(layout.values_in_table),
      addresses_in_table_(layout.addresses_in_table),
      dynamic_shared_(kernel.has_dynamic_shared()),
      sets_(std::move(sets)) {
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const codegen::spirv::Place& place = layout.places[i];
    for (std::uint32_t slot = 0; slot < parameter.slots; ++slot) {
      plan_.push_back(
          {.is_span = parameter.is_span,
           .element_bytes = parameter.is_span ? kernel.memories[parameter.memory].element.size : 0,
           .address = place.address + 8 * slot,
           .value = place.value + place.value_bytes * slot,
           .value_bytes = place.value_bytes,
           .scalar_bytes = static_cast<std::uint32_t>(ir::size_of(parameter.type))});
    }
  }
  std::string from_binary;
  std::span<const std::byte> pipelines;
  if (!cached.empty()) {
    load_binary(cached, from_binary, pipelines);
    code = from_binary;
  }
  make_module(code);
  // A driver may crash on what it did not write.
  const auto& head = context_.pipeline_cache;
  if (pipelines.size() < sizeof(head) || std::memcmp(pipelines.data(), &head, sizeof(head)) != 0) {
    pipelines = {};
  }
  VkPipelineCacheCreateInfo cache{};
  cache.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  cache.initialDataSize = pipelines.size();
  cache.pInitialData = pipelines.data();
  const VkResult status =
      context_.api.CreatePipelineCache(context_.device, &cache, nullptr, &cache_);
  if (status != VK_SUCCESS) {
    context_.api.DestroyShaderModule(context_.device, module_, nullptr);
    throw failure(status, "vkCreatePipelineCache", Errc::compile_failed);
  }
}

VulkanExecutable::~VulkanExecutable() {
  for (const Variant& variant : variants_) context_.recorder.retire(variant.pipeline);
  if (sets_) context_.recorder.retire(std::move(sets_));
  context_.api.DestroyPipelineCache(context_.device, cache_, nullptr);
  context_.api.DestroyShaderModule(context_.device, module_, nullptr);
}

void VulkanExecutable::load_binary(std::span<const std::byte> binary, std::string& code,
                                   std::span<const std::byte>& pipelines) const {
  BinaryHead head{};
  if (binary.size() >= sizeof(head)) std::memcpy(&head, binary.data(), sizeof(head));
  const std::size_t room = binary.size() - std::min(binary.size(), sizeof(head));
  if (head.magic != kBinaryMagic || head.code_bytes > room ||
      head.pipeline_bytes != room - head.code_bytes) {
    refuse("the cached binary is not one of this backend", "load");
  }
  const std::byte* at = binary.data() + sizeof(head);
  code.assign(reinterpret_cast<const char*>(at), head.code_bytes);
  pipelines = {at + head.code_bytes, head.pipeline_bytes};
}

void VulkanExecutable::make_module(std::string_view code) {
  words_.resize(code.size() / sizeof(std::uint32_t));
  if (!words_.empty())
    std::memcpy(words_.data(), code.data(), words_.size() * sizeof(std::uint32_t));
  // A driver may crash on what is no module at all.
  if (code.size() % sizeof(std::uint32_t) != 0 || words_.empty() || words_[0] != kSpirvMagic) {
    refuse("the code is no SPIR-V module", "vkCreateShaderModule",
           fmt::format("no SPIR-V module: {}", code.substr(0, 200)));
  }
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = code.size();
  info.pCode = words_.data();
  check(context_.api.CreateShaderModule(context_.device, &info, nullptr, &module_),
        "vkCreateShaderModule", Errc::compile_failed);
}

std::vector<std::byte> VulkanExecutable::binary() const {
  // Compiled into the cache, where the launch finds it.
  context_.api.DestroyPipeline(
      context_.device,
      make_pipeline({context_.preferred_block, 1, 1}, dynamic_shared_ ? kLeastWords : 0), nullptr);
  BinaryHead head{kBinaryMagic, words_.size() * sizeof(std::uint32_t), 0};
  std::size_t bytes = 0;
  check(context_.api.GetPipelineCacheData(context_.device, cache_, &bytes, nullptr),
        "vkGetPipelineCacheData", Errc::compile_failed);
  std::vector<std::byte> pipelines(bytes);
  check(context_.api.GetPipelineCacheData(context_.device, cache_, &bytes, pipelines.data()),
        "vkGetPipelineCacheData", Errc::compile_failed);
  pipelines.resize(bytes);
  head.pipeline_bytes = bytes;
  std::vector<std::byte> content(sizeof(head) + head.code_bytes + bytes);
  std::memcpy(content.data(), &head, sizeof(head));
  std::memcpy(content.data() + sizeof(head), words_.data(), head.code_bytes);
  std::copy(pipelines.begin(), pipelines.end(),
            content.begin() + static_cast<std::ptrdiff_t>(sizeof(head) + head.code_bytes));
  return content;
}

VkPipeline VulkanExecutable::pipeline(const runtime::LaunchShape& shape) {
  const std::uint32_t words =
      dynamic_shared_ ? std::max(kLeastWords, (shape.dynamic_shared_bytes + 3) / 4) : 0;
  for (const Variant& variant : variants_) {
    if (variant.block == shape.block && variant.dynamic_words == words) return variant.pipeline;
  }
  const VkPipeline made = make_pipeline(shape.block, words);
  variants_.push_back({shape.block, words, made});
  return made;
}

VkPipeline VulkanExecutable::make_pipeline(const runtime::Dim3& block,
                                           std::uint32_t dynamic_words) const {
  const std::array<std::uint32_t, 4> values{block[0], block[1], block[2], dynamic_words};
  std::array<VkSpecializationMapEntry, 4> entries{};
  for (std::uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo specialization{dynamic_shared_ ? 4u : 3u, entries.data(),
                                            sizeof(values), values.data()};
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module_;
  info.stage.pName = codegen::spirv::kEntry;
  info.stage.pSpecializationInfo = &specialization;
  info.layout = pipeline_layout();
  VkPipeline made = VK_NULL_HANDLE;
  check(context_.api.CreateComputePipelines(context_.device, cache_, 1, &info, nullptr, &made),
        "vkCreateComputePipelines", Errc::compile_failed);
  return made;
}

}  // namespace salvo::backends::vulkan
