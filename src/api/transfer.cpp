// Moving data by hand: issue what is held, then move bytes in the vectors' states (W19).
// SPDX-License-Identifier: MIT
#include "salvo/transfer.hpp"

#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "api/access.hpp"
#include "runtime/storage.hpp"
#include "runtime/stream.hpp"

namespace salvo {

void flush(const Device& device) {
  api::window_of(*device.state()).flush(*device.state());
}

namespace detail {
namespace {

bool covers(const ByteRange& range) {
  return range.first == 0 && range.bytes == range.storage->bytes();
}

/// A range as an argument that brings its vector to a device; one that is about to be written
/// throughout needs no upload.
CallArgument argument_of(const ByteRange& range, bool written) {
  CallArgument argument;
  argument.storage = range.storage;
  argument.overwritten = written && covers(range);
  return argument;
}

runtime::Buffer buffer_of(const ByteRange& range, const runtime::DeviceState& device) {
  return range.storage->copy_on(device)->buffer;
}

bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.storage == b.storage && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
}

/// Work of a stream on a vector, from before it is queued until after. On the default queue it is
/// ordered as the library's own work is.
class StreamWork {
 public:
  StreamWork(runtime::StreamState& stream, runtime::Storage& storage, bool writes)
      : stream_(stream), storage_(storage) {
    runtime::DeviceState& device = *stream.device();
    if (stream.is_default()) storage.begin_library_work(device, writes);
    stream.use(*storage.copy_on(device), writes);
  }
  void end() {
    if (stream_.is_default()) storage_.end_library_work(*stream_.device());
  }

 private:
  runtime::StreamState& stream_;
  runtime::Storage& storage_;
};

void copy_on_device(runtime::StreamState& stream, const ByteRange& from, const ByteRange& to) {
  runtime::DeviceState& device = *stream.device();
  const std::array<CallArgument, 2> both{argument_of(from, false), argument_of(to, true)};
  api::window_of(device).transfer(device, both, [&] {
    StreamWork source(stream, *from.storage, false);
    StreamWork target(stream, *to.storage, true);
    device.driver().copy(stream.queue(), buffer_of(to, device), to.first, buffer_of(from, device),
                         from.first, from.bytes);
    if (covers(to)) to.storage->copy_on(device)->written_by = 0;
    source.end();
    target.end();
    to.storage->mark_device_newer();
  });
}

void check_device(const runtime::StreamState& stream, const runtime::HostMemory& memory) {
  if (stream.device() == memory.device()) return;
  throw Error(Errc::invalid_argument, "host memory of " + memory.device()->id() +
                                          " cannot be staged on " + stream.device()->id());
}

}  // namespace

DevicePtr device_of(const runtime::Storage* storage) {
  return storage ? storage->device_of_copy() : nullptr;
}

void upload(const DevicePtr& device, const CallArgument& vector) {
  window::throw_pending();
  api::window_of(*device).upload(*device, {&vector, 1});
}

void free_on_device(runtime::Storage* storage) {
  const DevicePtr device = device_of(storage);
  if (!device) return;
  api::flushed(*device);
  storage->leave_device();
}

void copy_to_device(const DevicePtr& device, const ByteRange& to, const void* from) {
  window::LaunchWindow& launches = api::flushed(*device);
  if (to.bytes == 0) return;
  const CallArgument argument = argument_of(to, true);
  launches.transfer(*device, {&argument, 1},
                    [&] { to.storage->write_range(*device, to.first, from, to.bytes); });
}

void copy_to_host(const ByteRange& from, void* to) {
  if (from.bytes == 0) return;
  if (const DevicePtr device = device_of(from.storage)) api::flushed(*device);
  from.storage->read_range(from.first, to, from.bytes);
}

void copy(const ByteRange& from, const ByteRange& to) {
  if (from.bytes == 0) return;
  const DevicePtr source = device_of(from.storage);
  const DevicePtr target = device_of(to.storage);
  if (source) api::flushed(*source);
  if (target && target != source) api::flushed(*target);

  const bool on_source = source && from.storage->current_on(*source);
  const bool on_target = target && to.storage->current_on(*target);
  if (on_source && !overlap(from, to) &&
      (source == target ? on_target || covers(to) : !target && covers(to))) {
    runtime::StreamState queue(source);
    return copy_on_device(queue, from, to);
  }
  if (on_source && target && target != source && !source->is_inherited()) {
    const std::scoped_lock issue(source->issue_lock(), target->issue_lock());
    if (from.storage->copy_range_to_peer(*source, from.first, *to.storage, *target, to.first,
                                         from.bytes)) {
      return;
    }
  }
  std::vector<std::byte> bytes(from.bytes);
  from.storage->read_range(from.first, bytes.data(), bytes.size());
  if (on_target) return copy_to_device(target, to, bytes.data());
  std::memcpy(to.storage->write_host() + to.first, bytes.data(), bytes.size());
}

void copy(runtime::StreamState& stream, const ByteRange& from, const ByteRange& to) {
  api::flushed(*stream.device());
  if (from.bytes == 0) return;
  if (overlap(from, to)) {
    throw Error(Errc::invalid_argument, "a copy on a stream between ranges that overlap");
  }
  copy_on_device(stream, from, to);
}

void stage_to_device(runtime::StreamState& stream, const ByteRange& to, runtime::HostMemory* from,
                     std::size_t from_first) {
  runtime::DeviceState& device = *stream.device();
  window::LaunchWindow& launches = api::flushed(device);
  if (to.bytes == 0) return;
  check_device(stream, *from);
  const CallArgument argument = argument_of(to, true);
  launches.transfer(device, {&argument, 1}, [&] {
    StreamWork work(stream, *to.storage, true);
    stream.use(*from);
    device.driver().write_async(stream.queue(), buffer_of(to, device), to.first, from->block(),
                                from_first, to.bytes);
    if (covers(to)) to.storage->copy_on(device)->written_by = 0;
    work.end();
    to.storage->mark_device_newer();
  });
}

void stage_to_host(runtime::StreamState& stream, const ByteRange& from, runtime::HostMemory* to,
                   std::size_t to_first) {
  runtime::DeviceState& device = *stream.device();
  window::LaunchWindow& launches = api::flushed(device);
  if (from.bytes == 0) return;
  check_device(stream, *to);
  const CallArgument argument = argument_of(from, false);
  launches.transfer(device, {&argument, 1}, [&] {
    StreamWork work(stream, *from.storage, false);
    stream.use(*to);
    device.driver().read_async(stream.queue(), to->block(), to_first, buffer_of(from, device),
                               from.first, from.bytes);
    work.end();
  });
}

HostMemoryPtr allocate_host(const DevicePtr& device, std::size_t bytes) {
  window::throw_pending();
  HostMemoryPtr memory = runtime::HostMemory::allocate(device, bytes);
  std::memset(memory->block().data, 0, bytes);
  return memory;
}

HostMemoryPtr register_host(const DevicePtr& device, void* data, std::size_t bytes) {
  api::flushed(*device);
  return runtime::HostMemory::enroll(device, data, bytes);
}

void release_host(HostMemoryPtr memory, bool registered) {
  if (!memory) return;
  api::flushed(*memory->device());
  if (memory->is_registered() != registered) {
    throw Error(Errc::invalid_argument, registered ? "unregister_host of memory from alloc_pinned"
                                                   : "free_pinned of memory from register_host");
  }
  memory->finish();
}

void* data_of(const runtime::HostMemory& memory) noexcept {
  return memory.block().data;
}

void launch_overwriting(const DevicePtr& device, const std::shared_ptr<KernelRecord>& kernel,
                        const Dims& dims, std::span<CallArgument> arguments,
                        std::size_t element_bytes) {
  CallArgument& target = arguments.front();
  target.overwritten = target.storage && target.byte_offset == 0 &&
                       target.length * element_bytes == target.storage->bytes();
  launch(device, kernel, dims, arguments);
}

DeviceMemory device_memory(const DevicePtr& device, const CallArgument& vector) {
  if (!vector.storage) throw Error(Errc::invalid_argument, "an empty vector has no device memory");
  // Marked before the flush: a launch that another thread makes from here on is not held.
  api::window_of(*device).mark_escaped(*device, *vector.storage);
  DeviceMemory memory;
  api::flushed(*device).transfer(*device, {&vector, 1}, [&] {
    device->finish_all();
    const runtime::Buffer& buffer = vector.storage->copy_on(*device)->buffer;
    memory.handle = buffer.handle;
    memory.address = buffer.address ? buffer.address + vector.byte_offset : 0;
    memory.byte_offset = vector.byte_offset;
    vector.storage->mark_device_newer();
  });
  return memory;
}

StoragePtr adopt_memory(const DevicePtr& device, std::uint64_t address, std::size_t bytes) {
  api::flushed(*device);
  return StoragePtr(new runtime::Storage(device, device->driver().adopt(address, bytes)));
}

}  // namespace detail
}  // namespace salvo
