// One Level Zero device: memory and work.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_device.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "backends/level_zero/level_zero_error.hpp"
#include "backends/level_zero/level_zero_executable.hpp"

namespace salvo::backends::level_zero {

using runtime::Argument;
using runtime::Buffer;
using runtime::HostBlock;
using runtime::LaunchShape;
using ze::Result;

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kForEver = std::numeric_limits<std::uint64_t>::max();

std::byte* at(Buffer buffer, std::size_t offset) noexcept {
  return reinterpret_cast<std::byte*>(buffer.address) + offset;
}

LevelZeroEvent& as_level_zero(runtime::Event& event) noexcept {
  return static_cast<LevelZeroEvent&>(event);
}

}  // namespace

LevelZeroDevice::LevelZeroDevice(const Api& api, const DeviceFacts& facts, const Settings& settings)
    : api_(api), facts_(facts), context_(api, facts, settings.in_order), queue_(context_, 0) {}

// Memory.

Buffer LevelZeroDevice::allocate(std::size_t bytes) {
  if (bytes > facts_.properties.max_allocation_bytes) {
    throw Error(
        Error::Details{.code = Errc::out_of_memory,
                       .message = fmt::format("{} bytes were asked of a device that "
                                              "allocates at most {} at once",
                                              bytes, facts_.properties.max_allocation_bytes),
                       .backend = std::string(kName),
                       .operation = "zeMemAllocDevice"});
  }
  const ze::DeviceMemAllocDesc desc;
  void* memory = nullptr;
  check(api_.MemAllocDevice(context_.handle, &desc, bytes, kAlignment, facts_.id, &memory),
        "zeMemAllocDevice", Errc::out_of_memory);
  if (!facts_.properties.is_integrated) {
    // Once and for all: kernels reach memory by addresses that the driver does not see.
    const Result resident =
        api_.ContextMakeMemoryResident(context_.handle, facts_.id, memory, bytes);
    if (resident != Result::success) {
      api_.MemFree(context_.handle, memory);
      fail(resident, "zeContextMakeMemoryResident", Errc::out_of_memory);
    }
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return {.handle = address, .bytes = bytes, .address = address};
}

void LevelZeroDevice::release(Buffer buffer) noexcept {
  if (buffer) api_.MemFree(context_.handle, at(buffer, 0));
}

HostBlock LevelZeroDevice::allocate_host(std::size_t bytes) {
  const ze::HostMemAllocDesc desc;
  void* memory = nullptr;
  check(api_.MemAllocHost(context_.handle, &desc, bytes, kAlignment, &memory), "zeMemAllocHost",
        Errc::out_of_memory);
  return {memory, bytes, reinterpret_cast<std::uintptr_t>(memory)};
}

void LevelZeroDevice::release_host(HostBlock block) noexcept {
  if (block.handle) api_.MemFree(context_.handle, block.data);
}

HostBlock LevelZeroDevice::register_host(void* data, std::size_t bytes) {
  const DriverApi& functions = facts_.driver->functions;
  if (!functions.import_pointer || !functions.release_pointer) {
    return DeviceDriver::register_host(data, bytes);
  }
  check(functions.import_pointer(facts_.driver->handle, data, bytes),
        "zexDriverImportExternalPointer", Errc::out_of_memory);
  return {data, bytes, reinterpret_cast<std::uintptr_t>(data)};
}

void LevelZeroDevice::unregister_host(HostBlock block) noexcept {
  if (block.handle) facts_.driver->functions.release_pointer(facts_.driver->handle, block.data);
}

// Launches.

void LevelZeroDevice::launch(runtime::Queue& queue, runtime::Executable& executable,
                             const LaunchShape& shape, std::span<const Argument> arguments) {
  static_cast<LevelZeroExecutable&>(executable)
      .launch(level_zero::as_level_zero(queue), shape, arguments);
}

// Transfers. Those that wait may be the first to hear of a launch that failed.

void LevelZeroDevice::append_copy(runtime::Queue& queue, void* to, const void* from,
                                  std::size_t bytes) {
  LevelZeroQueue& list = level_zero::as_level_zero(queue);
  check(api_.CommandListAppendMemoryCopy(list.list(), to, from, bytes, nullptr, 0, nullptr),
        "zeCommandListAppendMemoryCopy", Errc::transfer_failed);
  list.keep_order();
}

void LevelZeroDevice::write(runtime::Queue& queue, Buffer to, std::size_t offset,
                            const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  append_copy(queue, at(to, offset), source, bytes);
  finish(queue);
}

void LevelZeroDevice::read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
                           std::size_t bytes) {
  if (bytes == 0) return;
  append_copy(queue, target, at(from, offset), bytes);
  finish(queue);
}

void LevelZeroDevice::copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                           std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  append_copy(queue, at(to, to_offset), at(from, from_offset), bytes);
}

void LevelZeroDevice::write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                                  const HostBlock& from, std::size_t from_offset,
                                  std::size_t bytes) {
  if (bytes == 0) return;
  append_copy(queue, at(to, offset), static_cast<const std::byte*>(from.data) + from_offset, bytes);
}

void LevelZeroDevice::read_async(runtime::Queue& queue, const HostBlock& to, std::size_t to_offset,
                                 Buffer from, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  append_copy(queue, static_cast<std::byte*>(to.data) + to_offset, at(from, offset), bytes);
}

void LevelZeroDevice::fill(runtime::Queue& queue, Buffer to, std::size_t offset,
                           const void* pattern, std::size_t pattern_bytes, std::size_t bytes) {
  if (bytes == 0) return;
  LevelZeroQueue& list = level_zero::as_level_zero(queue);
  check(api_.CommandListAppendMemoryFill(list.list(), at(to, offset), pattern, pattern_bytes, bytes,
                                         nullptr, 0, nullptr),
        "zeCommandListAppendMemoryFill", Errc::transfer_failed);
  list.keep_order();
}

// Order.

void LevelZeroDevice::submit(runtime::Queue&) {
  // An immediate list starts on each command as it is appended.
}

void LevelZeroDevice::finish(runtime::Queue& queue) {
  level_zero::as_level_zero(queue).finish();
}

std::unique_ptr<runtime::Queue> LevelZeroDevice::make_queue(int priority) {
  return std::make_unique<LevelZeroQueue>(context_, priority);
}

std::unique_ptr<runtime::Event> LevelZeroDevice::make_event() {
  return std::make_unique<LevelZeroEvent>();
}

void LevelZeroDevice::record(runtime::Queue& queue, runtime::Event& event) {
  as_level_zero(event).signal = level_zero::as_level_zero(queue).mark();
}

void LevelZeroDevice::wait(runtime::Queue& queue, runtime::Event& event) {
  const std::shared_ptr<Signal>& signal = as_level_zero(event).signal;
  if (signal) level_zero::as_level_zero(queue).wait_for(signal);
}

void LevelZeroDevice::wait(runtime::Event& event) {
  const std::shared_ptr<Signal>& signal = as_level_zero(event).signal;
  if (!signal) return;
  check_late(api_.EventHostSynchronize(signal->get(), kForEver), "zeEventHostSynchronize",
             Errc::launch_failed);
}

bool LevelZeroDevice::reached(runtime::Event& event) {
  const std::shared_ptr<Signal>& signal = as_level_zero(event).signal;
  if (!signal) return true;
  const Result state = api_.EventQueryStatus(signal->get());
  if (state == Result::not_ready) return false;
  check_late(state, "zeEventQueryStatus", Errc::launch_failed);
  return true;
}

double LevelZeroDevice::elapsed_ms(runtime::Event& first, runtime::Event& second) {
  const auto moment = [&](runtime::Event& event) {
    const std::shared_ptr<Signal>& signal = as_level_zero(event).signal;
    if (!signal) {
      fail(Result::invalid_synchronization_object, "zeEventQueryKernelTimestamp",
           Errc::invalid_argument);
    }
    wait(event);
    ze::KernelTimestampResult stamps;
    check(api_.EventQueryKernelTimestamp(signal->get(), &stamps), "zeEventQueryKernelTimestamp",
          Errc::unsupported);
    return stamps.global.end;
  };
  const std::uint64_t from = moment(first);
  const std::uint64_t to = moment(second);
  // The counter wraps at its own width: of the two ways round, the shorter one is meant.
  const unsigned unused = 64 - facts_.timestamp_bits;
  const auto ticks = static_cast<std::int64_t>((to - from) << unused) >> unused;
  return static_cast<double>(ticks) / facts_.ticks_per_ms;
}

runtime::CallCounts LevelZeroDevice::driver_calls() const {
  runtime::CallCounts counts = api_.calls();
  const DriverApi& told = facts_.driver->functions;
  counts.emplace_back("zeCommandListHostSynchronize", told.host_synchronize.calls());
  counts.emplace_back("zeCommandListAppendLaunchKernelWithArguments",
                      told.launch_with_arguments.calls());
  counts.emplace_back("zexDriverImportExternalPointer", told.import_pointer.calls());
  counts.emplace_back("zexDriverReleaseImportedPointer", told.release_pointer.calls());
  return counts;
}

}  // namespace salvo::backends::level_zero
