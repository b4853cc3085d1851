// One Vulkan device: memory, code and work.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "backends/vulkan/vulkan_backend.hpp"
#include "backends/vulkan/vulkan_drivers.hpp"
#include "backends/vulkan/vulkan_handles.hpp"
#include "backends/vulkan/vulkan_queue.hpp"
#include "backends/vulkan/vulkan_recorder.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

/// Vulkan's own objects, for a benchmark that does without the recorder.
struct NativeHandles {
  VkDevice device;
  VkQueue queue;
  std::uint32_t queue_family;
};

class VulkanDevice final : public runtime::DeviceDriver {
 public:
  /// Opens the device.
  VulkanDevice(Drivers& drivers, const DeviceFacts& facts, const Settings& settings);

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  runtime::Buffer allocate(std::size_t bytes) override;
  void release(runtime::Buffer buffer) noexcept override;

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override;
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::uint32_t preferred_block(const runtime::Executable* executable) const override;
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override;

  runtime::Queue& queue() noexcept override { return queue_; }
  void launch(runtime::Queue& queue, runtime::Executable& executable,
              const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override;
  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override;
  void read(runtime::Queue& queue, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override;
  void copy(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override;
  void submit(runtime::Queue&) override;
  void finish(runtime::Queue&) override;

  std::unique_ptr<runtime::Queue> make_queue(int) override;
  std::unique_ptr<runtime::Event> make_event() override;
  void record(runtime::Queue& queue, runtime::Event& event) override;
  void wait(runtime::Queue&, runtime::Event& event) override;
  void wait(runtime::Event& event) override;
  bool reached(runtime::Event& event) override;
  double elapsed_ms(runtime::Event& first, runtime::Event& second) override;

  runtime::HostBlock allocate_host(std::size_t bytes) override;
  void release_host(runtime::HostBlock block) noexcept override;
  void write_async(runtime::Queue& queue, runtime::Buffer to, std::size_t offset,
                   const runtime::HostBlock& from, std::size_t from_offset,
                   std::size_t bytes) override;
  void read_async(runtime::Queue& queue, const runtime::HostBlock& to, std::size_t to_offset,
                  runtime::Buffer from, std::size_t offset, std::size_t bytes) override;

  void fill(runtime::Buffer to, std::size_t offset, std::uint32_t word, std::size_t bytes);
  /// The driver's own word for what makes pipelines differ.
  std::string build_identity() const override;

  DeviceApi& api() noexcept { return handles_.api; }
  NativeHandles native() noexcept {
    return {handles_.device, recorder_.native_queue(), facts_.queue_family};
  }
  runtime::CallCounts driver_calls() const override { return handles_.api.calls(); }
  Counters counters() const { return recorder_.counters(); }
  std::uint64_t live_buffers() const noexcept { return memory_.allocations(); }

 private:
  Messages& messages_;
  const DeviceFacts facts_;
  Handles handles_;
  Memory memory_;
  const BatchContext context_;
  Recorder recorder_;
  VulkanQueue queue_;
};

/// The functions that a device of this backend calls, and what it did so far: tests count them and
/// put others in their place.
DeviceApi& api_of(runtime::DeviceDriver& driver);
NativeHandles handles_of(runtime::DeviceDriver& driver);
Counters counters_of(const runtime::DeviceDriver& driver);
/// Buffers that are allocated or whose release is queued.
std::uint64_t live_buffers_of(const runtime::DeviceDriver& driver);

/// The driver's own memory fill, a word of four bytes at a time; nothing here uses it (P9).
void fill_by_driver(runtime::DeviceDriver& driver, runtime::Buffer to, std::size_t offset,
                    std::uint32_t word, std::size_t bytes);

}  // namespace salvo::backends::vulkan
