// The code side of a Vulkan device: from IR to a pipeline.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "backends/vulkan/vulkan_device.hpp"
#include "backends/vulkan/vulkan_error.hpp"
#include "backends/vulkan/vulkan_executable.hpp"
#include "codegen/features.hpp"
#include "codegen/spirv/emitter.hpp"

namespace salvo::backends::vulkan {
namespace {

constexpr codegen::FeatureNames kFeatures{
    .fp64 = "f64 (shaderFloat64)",
    .atomics_i64 = "64-bit atomics (shaderBufferInt64Atomics)",
    .atomics_f64 = "f64 atomic add (shaderFloat64 and shaderBufferInt64Atomics)",
    .warp_operations = "warp operations (subgroup vote, ballot and shuffle)"};

}  // namespace

runtime::Program VulkanDevice::translate(const ir::Kernel& kernel,
                                         const runtime::TranslateOptions& options) const {
  codegen::Requirements required(kernel, facts_.properties, kName, kFeatures);
  const bool shared_64 =
      std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [&](const ir::Node& node) {
        return ir::is_atomic(node.op) && ir::size_of(kernel.field_of(node).type) == 8 &&
               kernel.memories[node.memory].space == ir::Space::Shared;
      });
  required.need(shared_64, facts_.atomics_shared_i64,
                "64-bit atomics on shared memory (shaderSharedInt64Atomics)");
  required.check();
  codegen::spirv::Options with = facts_.options;
  with.contraction = options.device_contraction;
  const std::vector<std::uint32_t> words = codegen::spirv::emit(kernel, with).words;
  return {codegen::spirv::kEntry,
          std::string(reinterpret_cast<const char*>(words.data()),
                      words.size() * sizeof(std::uint32_t)),
          {},
          kernel.name};
}

std::unique_ptr<runtime::Executable> VulkanDevice::build(const ir::Kernel& kernel,
                                                         const runtime::Program& program,
                                                         std::span<const std::byte> cached) {
  const VulkanExecutable::Context context{handles_.api,
                                          handles_.device,
                                          handles_.pipeline_layout,
                                          facts_.properties.max_threads_per_block,
                                          preferred_block(nullptr),
                                          facts_.pipeline_cache,
                                          recorder_};
  const codegen::spirv::Options& options = facts_.options;
  std::unique_ptr<BufferSets> sets;
  if (!options.buffer_addresses) {
    sets = std::make_unique<BufferSets>(
        BufferSets::Context{handles_.api, handles_.device, handles_.table_layout,
                            options.push_constant_room, memory_.nothing()},
        kernel);
  }
  auto executable = std::make_unique<VulkanExecutable>(
      context, kernel,
      codegen::spirv::lay_out(kernel, options.push_constant_bytes, options.push_constant_room),
      program.code, cached, std::move(sets));
  messages_.check("build");
  return executable;
}

runtime::ParameterCost VulkanDevice::parameter_cost(const ir::Kernel& kernel) const {
  runtime::ParameterCost cost;
  cost.push_constant_bytes = codegen::spirv::value_bytes(kernel);
  cost.bytes = cost.push_constant_bytes;  // in the table if the push constants are too small
  for (const ir::Parameter& parameter : kernel.parameters) {
    if (!parameter.is_span) continue;
    cost.bytes += 8 * parameter.slots;
    cost.slots += parameter.slots;
  }
  return cost;
}

std::uint32_t VulkanDevice::preferred_block(const runtime::Executable*) const {
  const DeviceProperties& device = facts_.properties;
  const std::uint64_t limit =
      std::min<std::uint64_t>(device.max_threads_per_block, device.max_block[0]);
  return static_cast<std::uint32_t>(std::bit_floor(std::min<std::uint64_t>(256, limit)));
}

}  // namespace salvo::backends::vulkan
