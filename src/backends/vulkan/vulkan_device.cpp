// One Vulkan device: memory and work.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_device.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/vulkan/vulkan_error.hpp"
#include "backends/vulkan/vulkan_executable.hpp"

namespace salvo::backends::vulkan {

using runtime::Argument;
using runtime::Buffer;
using runtime::LaunchShape;

namespace {

Block& block_of(Buffer buffer) {
  return *reinterpret_cast<Block*>(buffer.handle);
}
Allocation& allocation_of(const runtime::HostBlock& block) {
  return *reinterpret_cast<Allocation*>(block.handle);
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

}  // namespace

VulkanDevice::VulkanDevice(Drivers& drivers, const DeviceFacts& facts, const Settings& settings)
    : messages_(drivers.messages()),
      facts_(with_settings(facts, settings)),
      handles_(drivers.api(), facts_),
      memory_(handles_.api, handles_.device, facts_),
      context_{handles_.api, handles_.device, facts_, memory_, handles_.table_layout},
      recorder_(context_, settings.batch) {}

Buffer VulkanDevice::allocate(std::size_t bytes) {
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

void VulkanDevice::release(Buffer buffer) noexcept {
  if (buffer) recorder_.release(std::unique_ptr<Block>(&block_of(buffer)));
}

void VulkanDevice::write(runtime::Queue& queue, Buffer to, std::size_t offset, const void* source,
                         std::size_t bytes) {
  if (bytes == 0) return;
  recorder_.write(queue, block_of(to), offset, static_cast<const std::byte*>(source), bytes);
  messages_.check("write");
}

void VulkanDevice::read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
                        std::size_t bytes) {
  if (bytes == 0) return;
  recorder_.read(queue, static_cast<std::byte*>(target), block_of(from), offset, bytes);
  messages_.check("read");
}

void VulkanDevice::copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                        std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  recorder_.copy(queue, block_of(to), to_offset, block_of(from), from_offset, bytes);
  messages_.check("copy");
}

void VulkanDevice::submit(runtime::Queue&) {
  recorder_.submit();
  messages_.check("submit");
}

void VulkanDevice::finish(runtime::Queue&) {
  recorder_.finish();
  messages_.check("finish");
}

std::unique_ptr<runtime::Queue> VulkanDevice::make_queue(int) {
  return std::make_unique<VulkanQueue>();
}

void VulkanDevice::record(runtime::Queue& queue, runtime::Event& event) {
  auto& point = static_cast<VulkanEvent&>(event);
  point.serial = recorder_.record(queue, point.query);
}

void VulkanDevice::wait(runtime::Queue&, runtime::Event& event) {
  if (static_cast<VulkanEvent&>(event).serial != 0) recorder_.order_after();
}

void VulkanDevice::wait(runtime::Event& event) {
  recorder_.wait(static_cast<VulkanEvent&>(event).serial);
}

bool VulkanDevice::reached(runtime::Event& event) {
  return recorder_.reached(static_cast<VulkanEvent&>(event).serial);
}

runtime::HostBlock VulkanDevice::allocate_host(std::size_t bytes) {
  auto made =
      std::make_unique<Allocation>(memory_.make(Use::readback, std::max<std::size_t>(bytes, 1)));
  std::byte* data = made->mapped;
  return {data, bytes, reinterpret_cast<std::uintptr_t>(made.release())};
}

void VulkanDevice::release_host(runtime::HostBlock block) noexcept {
  if (block.handle != 0) recorder_.retire(std::unique_ptr<Allocation>(&allocation_of(block)));
}

void VulkanDevice::write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                               const runtime::HostBlock& from, std::size_t from_offset,
                               std::size_t bytes) {
  recorder_.write(queue, block_of(to), offset, allocation_of(from), from_offset, bytes);
}

void VulkanDevice::read_async(runtime::Queue& queue, const runtime::HostBlock& to,
                              std::size_t to_offset, Buffer from, std::size_t offset,
                              std::size_t bytes) {
  recorder_.read(queue, allocation_of(to), to_offset, block_of(from), offset, bytes);
}

void VulkanDevice::fill(Buffer to, std::size_t offset, std::uint32_t word, std::size_t bytes) {
  recorder_.fill(queue_, block_of(to), offset, word, bytes);
  messages_.check("fill");
}

std::string VulkanDevice::build_identity() const {
  const auto& of = facts_.pipeline_cache;
  return fmt::format("{:x} {:x} {:02x}", of.vendorID, of.deviceID,
                     fmt::join(of.pipelineCacheUUID, ""));
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
    recorder_.complete(point.serial);
    check(handles_.api.GetQueryPoolResults(handles_.device, point.query, 0, 1, sizeof(ticks[i]),
                                           &ticks[i], sizeof(ticks[i]), VK_QUERY_RESULT_64_BIT),
          "vkGetQueryPoolResults", Errc::launch_failed);
    ++i;
  }
  return static_cast<double>(static_cast<std::int64_t>(ticks[1] - ticks[0])) * facts_.timestamp_ns *
         1e-6;
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
