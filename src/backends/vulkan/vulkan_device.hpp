// One Vulkan device: memory, code and work.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/vulkan/vulkan_backend.hpp"
#include "backends/vulkan/vulkan_instance.hpp"
#include "backends/vulkan/vulkan_recorder.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::vulkan {

/// Opens the device.
std::unique_ptr<runtime::DeviceDriver> make_device(Instance& instance, const DeviceFacts& facts,
                                                   const Settings& settings);

/// The functions that a device of this backend calls, and what it did so far: tests count them and
/// put others in their place.
DeviceApi& api_of(runtime::DeviceDriver& driver);
/// Vulkan's own objects, for a benchmark that does without the recorder.
struct NativeHandles {
  VkDevice device;
  VkQueue queue;
  std::uint32_t queue_family;
};
NativeHandles handles_of(runtime::DeviceDriver& driver);
Counters counters_of(const runtime::DeviceDriver& driver);
/// Buffers that are allocated or whose release is queued.
std::uint64_t live_buffers_of(const runtime::DeviceDriver& driver);

/// The driver's own memory fill, a word of four bytes at a time; nothing here uses it (P9).
void fill_by_driver(runtime::DeviceDriver& driver, runtime::Buffer to, std::size_t offset,
                    std::uint32_t word, std::size_t bytes);

}  // namespace salvo::backends::vulkan
