// One Vulkan device: memory, code and work.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_device.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/vulkan/vulkan_error.hpp"
#include "backends/vulkan/vulkan_executable.hpp"
#include "backends/vulkan/vulkan_matrices.hpp"
#include "codegen/spirv/emitter.hpp"
#include "passes/access.hpp"
#include "passes/cooperative.hpp"

namespace salvo::backends::vulkan {
namespace {

using runtime::Argument;
using runtime::Buffer;
using runtime::LaunchShape;

Block& block_of(Buffer buffer) {
  return *reinterpret_cast<Block*>(buffer.handle);
}
Allocation& allocation_of(const runtime::HostBlock& block) {
  return *reinterpret_cast<Allocation*>(block.handle);
}

/// A label: see Recorder.
class VulkanQueue final : public runtime::Queue {};

class VulkanEvent final : public runtime::Event {
 public:
  VulkanEvent(Recorder& recorder, VkQueryPool timestamp) : query(timestamp), recorder_(recorder) {}
  ~VulkanEvent() override {
    if (query != VK_NULL_HANDLE) recorder_.retire(query);
  }

  const VkQueryPool query;   // of one timestamp; null where the device has none
  std::uint64_t serial = 0;  // batch that reaches it; 0: never recorded

 private:
  Recorder& recorder_;
};

/// The VkDevice and what all its work needs, in the order of making.
struct Handles {
  DeviceApi api;
  VkDevice device = nullptr;
  VkDescriptorSetLayout table_layout = VK_NULL_HANDLE;
  VkPipelineLayout pipeline_layout = VK_NULL_HANDLE;

  Handles(const InstanceApi& instance, const DeviceFacts& facts) {
    create(instance, facts);
    const std::string missing = api.load(instance, device);
    if (!missing.empty()) {
      throw Error(Error::Details{.code = Errc::backend_unavailable,
                                 .message = missing,
                                 .backend = std::string(kName),
                                 .operation = "vkGetDeviceProcAddr"});
    }
    try {
      make_layouts(facts);
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Handles() { destroy(); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

 private:
  void create(const InstanceApi& instance, const DeviceFacts& facts);
  void make_layouts(const DeviceFacts& facts);
  void destroy() noexcept {
    api.DestroyPipelineLayout(device, pipeline_layout, nullptr);
    api.DestroyDescriptorSetLayout(device, table_layout, nullptr);
    api.DestroyDevice(device, nullptr);
  }
};

void Handles::create(const InstanceApi& instance, const DeviceFacts& facts) {
  // Linked structures stay in this frame until the call returns (P8).
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.features = facts.features;
  VkPhysicalDeviceVulkan11Features features11 = facts.features11;
  VkPhysicalDeviceVulkan12Features features12 = facts.features12;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics{};
  float_atomics.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
  float_atomics.shaderBufferFloat32AtomicAdd = VK_TRUE;
  features.pNext = &features11;
  features11.pNext = &features12;
  MatrixFeatures matrices;
  matrices.matrices = VK_TRUE;
  std::vector<const char*> extensions;
  if (facts.float_atomics) {
    extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
    float_atomics.pNext = std::exchange(features12.pNext, &float_atomics);
  }
  if (!facts.properties.cooperative_matrices.empty()) {
    extensions.push_back(kMatrixExtension);
    features12.shaderFloat16 = VK_TRUE;
    matrices.next = std::exchange(features12.pNext, &matrices);
  }

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = facts.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(instance.CreateDevice(facts.handle, &info, nullptr, &device), "vkCreateDevice",
        Errc::backend_unavailable);
}

/// All kernels share one layout, so that binding an argument table survives a change of pipeline.
void Handles::make_layouts(const DeviceFacts& facts) {
  VkDescriptorSetLayoutBinding binding{};
  binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
  binding.descriptorCount = 1;
  binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = 1;
  set.pBindings = &binding;
  check(api.CreateDescriptorSetLayout(device, &set, nullptr, &table_layout),
        "vkCreateDescriptorSetLayout", Errc::backend_unavailable);
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, facts.options.push_constant_room};
  VkPipelineLayoutCreateInfo layout{};
  layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &table_layout;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  check(api.CreatePipelineLayout(device, &layout, nullptr, &pipeline_layout),
        "vkCreatePipelineLayout", Errc::backend_unavailable);
}

DeviceFacts with_settings(DeviceFacts facts, const Settings& settings) {
  if (settings.large_push_constants) {
    facts.options.push_constant_bytes = facts.options.push_constant_room;
  }
  if (settings.lacking.buffer_addresses) use_storage_buffers(facts);
  if (settings.lacking.timeline_semaphores) facts.features12.timelineSemaphore = VK_FALSE;
  if (settings.lacking.memory_model) {
    facts.features12.vulkanMemoryModel = VK_FALSE;
    facts.options.vulkan_memory_model = false;
    use_no_matrices(facts);
  }
  facts.properties.push_constant_bytes = facts.options.push_constant_bytes;
  return facts;
}

class VulkanDevice final : public runtime::DeviceDriver {
 public:
  VulkanDevice(Instance& instance, const DeviceFacts& facts, const Settings& settings)
      : messages_(instance.messages()),
        facts_(with_settings(facts, settings)),
        handles_(instance.api(), facts_),
        memory_(handles_.api, handles_.device, facts_),
        context_{handles_.api, handles_.device, facts_, memory_, handles_.table_layout},
        recorder_(context_, settings.batch) {}

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  Buffer allocate(std::size_t bytes) override {
    recorder_.tidy();
    std::unique_ptr<Block> block;
    try {
      block = memory_.allocate(bytes);
    } catch (const Error&) {
      // Queued frees may hold what is asked for.
      recorder_.drain();
      block = memory_.allocate(bytes);
    }
    const std::uint64_t address = facts_.options.buffer_addresses ? block->address() : 0;
    return {reinterpret_cast<std::uintptr_t>(block.release()), bytes, address};
  }
  void release(Buffer buffer) noexcept override {
    if (buffer) recorder_.release(std::unique_ptr<Block>(&block_of(buffer)));
  }

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override;
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::uint32_t preferred_block(const runtime::Executable* executable) const override;
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override;

  runtime::Queue& queue() noexcept override { return queue_; }
  void launch(runtime::Queue& queue, runtime::Executable& executable, const LaunchShape& shape,
              std::span<const Argument> arguments) override;
  void write(runtime::Queue& queue, Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    if (bytes == 0) return;
    recorder_.write(queue, block_of(to), offset, static_cast<const std::byte*>(source), bytes);
    messages_.check("write");
  }
  void read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
            std::size_t bytes) override {
    if (bytes == 0) return;
    recorder_.read(queue, static_cast<std::byte*>(target), block_of(from), offset, bytes);
    messages_.check("read");
  }
  void copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
            std::size_t from_offset, std::size_t bytes) override {
    if (bytes == 0) return;
    recorder_.copy(queue, block_of(to), to_offset, block_of(from), from_offset, bytes);
    messages_.check("copy");
  }
  void submit(runtime::Queue&) override {
    recorder_.submit();
    messages_.check("submit");
  }
  void finish(runtime::Queue&) override {
    recorder_.finish();
    messages_.check("finish");
  }

  std::unique_ptr<runtime::Queue> make_queue(int) override {
    return std::make_unique<VulkanQueue>();
  }
  std::unique_ptr<runtime::Event> make_event() override;
  void record(runtime::Queue& queue, runtime::Event& event) override {
    auto& point = static_cast<VulkanEvent&>(event);
    point.serial = recorder_.record(queue, point.query);
  }
  void wait(runtime::Queue&, runtime::Event& event) override {
    if (static_cast<VulkanEvent&>(event).serial != 0) recorder_.order_after();
  }
  void wait(runtime::Event& event) override {
    recorder_.wait(static_cast<VulkanEvent&>(event).serial);
  }
  bool reached(runtime::Event& event) override {
    return recorder_.reached(static_cast<VulkanEvent&>(event).serial);
  }
  double elapsed_ms(runtime::Event& first, runtime::Event& second) override;

  runtime::HostBlock allocate_host(std::size_t bytes) override {
    auto made =
        std::make_unique<Allocation>(memory_.make(Use::readback, std::max<std::size_t>(bytes, 1)));
    std::byte* data = made->mapped;
    return {data, bytes, reinterpret_cast<std::uintptr_t>(made.release())};
  }
  void release_host(runtime::HostBlock block) noexcept override {
    if (block.handle != 0) recorder_.retire(std::unique_ptr<Allocation>(&allocation_of(block)));
  }
  void write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                   const runtime::HostBlock& from, std::size_t from_offset,
                   std::size_t bytes) override {
    recorder_.write(queue, block_of(to), offset, allocation_of(from), from_offset, bytes);
  }
  void read_async(runtime::Queue& queue, const runtime::HostBlock& to, std::size_t to_offset,
                  Buffer from, std::size_t offset, std::size_t bytes) override {
    recorder_.read(queue, allocation_of(to), to_offset, block_of(from), offset, bytes);
  }

  void fill(Buffer to, std::size_t offset, std::uint32_t word, std::size_t bytes) {
    recorder_.fill(queue_, block_of(to), offset, word, bytes);
    messages_.check("fill");
  }
  /// The driver's own word for what makes pipelines differ.
  std::string build_identity() const override {
    const auto& of = facts_.pipeline_cache;
    return fmt::format("{:x} {:x} {:02x}", of.vendorID, of.deviceID,
                       fmt::join(of.pipelineCacheUUID, ""));
  }

  DeviceApi& api() noexcept { return handles_.api; }
  NativeHandles native() noexcept {
    return {handles_.device, recorder_.native_queue(), facts_.queue_family};
  }
  runtime::CallCounts driver_calls() const override { return handles_.api.calls(); }
  Counters counters() const { return recorder_.counters(); }
  std::uint64_t live_buffers() const noexcept { return memory_.allocations(); }

 private:
  void require_features(const ir::Kernel& kernel) const;

  Messages& messages_;
  const DeviceFacts facts_;
  Handles handles_;
  Memory memory_;
  const BatchContext context_;
  Recorder recorder_;
  VulkanQueue queue_;
};

void VulkanDevice::require_features(const ir::Kernel& kernel) const {
  const passes::Summary needs = passes::summarize(kernel);
  const DeviceProperties& has = facts_.properties;
  const auto require = [&](bool need, bool there, std::string_view what) {
    if (!need || there) return;
    throw Error(Error::Details{.code = Errc::unsupported,
                               .message = fmt::format("{} has no {}", has.name, what),
                               .backend = std::string(kName),
                               .operation = "translate",
                               .kernel = kernel.name});
  };
  require(needs.needs_fp64, has.fp64, "f64 (shaderFloat64)");
  require(needs.needs_atomics_i64, has.atomics_i64,
          "atomics on i64 and u64 (shaderBufferInt64Atomics)");
  require(needs.needs_atomics_f64, has.atomics_f64,
          "atomics on f64 (shaderFloat64 and shaderBufferInt64Atomics)");
  require(needs.has_warp_operation, has.warp_operations,
          "warp operations (subgroup vote, ballot and shuffle)");
  const auto matrices = passes::missing_matrices(kernel, has.cooperative_matrices);
  require(!matrices.empty(), false, matrices.empty() ? "" : matrices.front());
  const bool shared_64 =
      std::any_of(kernel.nodes.begin(), kernel.nodes.end(), [&](const ir::Node& node) {
        return ir::is_atomic(node.op) && ir::size_of(kernel.field_of(node).type) == 8 &&
               kernel.memories[node.memory].space == ir::Space::Shared;
      });
  require(shared_64, facts_.atomics_shared_i64,
          "64-bit atomics on shared memory (shaderSharedInt64Atomics)");
}

runtime::Program VulkanDevice::translate(const ir::Kernel& kernel,
                                         const runtime::TranslateOptions& options) const {
  require_features(kernel);
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

void VulkanDevice::launch(runtime::Queue& queue, runtime::Executable& executable,
                          const LaunchShape& shape, std::span<const Argument> arguments) {
  auto& code = static_cast<VulkanExecutable&>(executable);
  if (arguments.size() != code.plan().size()) {
    throw Error(Error::Details{.code = Errc::invalid_argument,
                               .message = fmt::format("the kernel takes {} arguments, not {}",
                                                      code.plan().size(), arguments.size()),
                               .backend = std::string(kName),
                               .operation = "launch"});
  }
  recorder_.launch(queue, code, shape, arguments);
  messages_.check("launch");
}

std::unique_ptr<runtime::Event> VulkanDevice::make_event() {
  VkQueryPool query = VK_NULL_HANDLE;
  if (facts_.timestamp_ns != 0) {
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 1;
    check(handles_.api.CreateQueryPool(handles_.device, &info, nullptr, &query),
          "vkCreateQueryPool", Errc::launch_failed);
  }
  return std::make_unique<VulkanEvent>(recorder_, query);
}

double VulkanDevice::elapsed_ms(runtime::Event& first, runtime::Event& second) {
  std::array<std::uint64_t, 2> ticks{};
  std::size_t i = 0;
  for (runtime::Event* event : {&first, &second}) {
    const auto& point = static_cast<VulkanEvent&>(*event);
    if (point.query == VK_NULL_HANDLE || point.serial == 0) {
      throw Error(Error::Details{
          .code = point.serial == 0 ? Errc::invalid_argument : Errc::unsupported,
          .message = point.serial == 0 ? "the event was not recorded"
                                       : facts_.properties.name + " has no timestamps",
          .backend = std::string(kName),
          .operation = "elapsed_ms"});
    }
    recorder_.wait(point.serial);
    check(handles_.api.GetQueryPoolResults(handles_.device, point.query, 0, 1, sizeof(ticks[i]),
                                           &ticks[i], sizeof(ticks[i]), VK_QUERY_RESULT_64_BIT),
          "vkGetQueryPoolResults", Errc::launch_failed);
    ++i;
  }
  return static_cast<double>(static_cast<std::int64_t>(ticks[1] - ticks[0])) * facts_.timestamp_ns *
         1e-6;
}

}  // namespace

std::unique_ptr<runtime::DeviceDriver> make_device(Instance& instance, const DeviceFacts& facts,
                                                   const Settings& settings) {
  return std::make_unique<VulkanDevice>(instance, facts, settings);
}

DeviceApi& api_of(runtime::DeviceDriver& driver) {
  return static_cast<VulkanDevice&>(driver).api();
}
NativeHandles handles_of(runtime::DeviceDriver& driver) {
  return static_cast<VulkanDevice&>(driver).native();
}
Counters counters_of(const runtime::DeviceDriver& driver) {
  return static_cast<const VulkanDevice&>(driver).counters();
}
std::uint64_t live_buffers_of(const runtime::DeviceDriver& driver) {
  return static_cast<const VulkanDevice&>(driver).live_buffers();
}

void fill_by_driver(runtime::DeviceDriver& driver, Buffer to, std::size_t offset,
                    std::uint32_t word, std::size_t bytes) {
  static_cast<VulkanDevice&>(driver).fill(to, offset, word, bytes);
}

}  // namespace salvo::backends::vulkan
