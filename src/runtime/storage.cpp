// Host and device copies of a vector's bytes, and which of them is current (R3).
// SPDX-License-Identifier: MIT
#include "runtime/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "salvo/detail/storage.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {

Storage::Storage(std::size_t bytes, std::size_t align)
    : bytes_(bytes), align_(std::max<std::size_t>(align, 64)) {}

Storage::~Storage() {
  if (DeviceCopy* copy = copy_.load()) {
    give_memory_back(*copy);
    delete copy;
  }
  if (std::byte* host = host_.load()) ::operator delete(host, std::align_val_t(align_));
}

bool Storage::change(std::uint64_t seen, Residence next) noexcept {
  const std::uint64_t replaced = (seen & ~std::uint64_t{7}) + 8 + static_cast<std::uint64_t>(next);
  return state_.compare_exchange_strong(seen, replaced, std::memory_order_acq_rel);
}

std::byte* Storage::host_memory() {
  if (std::byte* host = host_.load(std::memory_order_acquire)) return host;
  const std::lock_guard lock(transfer_lock_);
  return host_memory_locked();
}

std::byte* Storage::host_memory_locked() {
  std::byte* host = host_.load(std::memory_order_acquire);
  if (!host) {
    host = static_cast<std::byte*>(::operator new(bytes_, std::align_val_t(align_)));
    std::memset(host, 0, bytes_);
    host_.store(host, std::memory_order_release);
  }
  return host;
}

const std::byte* Storage::read_host() {
  std::byte* host = host_memory();
  for (;;) {
    // Before the flush: a launch that another thread makes after this line must stay the newer one.
    const std::uint64_t seen = state_.load(std::memory_order_acquire);
    if (host_current(unpack(seen))) return host;
    const std::shared_ptr<DeviceState> device = device_of_copy();
    if (!device) continue;  // it was moved to the host meanwhile
    if (HeldWork* held = device->held_work()) held->issue_all();

    const std::lock_guard issue(device->issue_lock());
    const std::lock_guard lock(transfer_lock_);
    DeviceCopy* copy = copy_on(*device);
    if (!copy) continue;
    if (host_current(residence())) return host;
    device->streams().order_default_after(copy->uses, true);
    device->driver().read(device->driver().queue(), host, copy->buffer, 0, bytes_);
    change(seen, Residence::both);
    return host;
  }
}

std::shared_ptr<DeviceState> Storage::device_of_copy() const {
  const std::lock_guard lock(transfer_lock_);
  const DeviceCopy* copy = copy_.load(std::memory_order_acquire);
  return copy ? copy->device : nullptr;
}

void Storage::read_range(std::size_t offset, void* target, std::size_t bytes) {
  for (;;) {
    if (host_current(residence())) {
      std::memcpy(target, host_memory() + offset, bytes);
      return;
    }
    const std::shared_ptr<DeviceState> device = device_of_copy();
    if (!device) continue;  // it was moved to the host meanwhile
    if (HeldWork* held = device->held_work()) held->issue_all();

    const std::lock_guard issue(device->issue_lock());
    const std::lock_guard lock(transfer_lock_);
    DeviceCopy* copy = copy_on(*device);
    if (!copy || host_current(residence())) continue;
    device->streams().order_default_after(copy->uses, true);
    device->driver().read(device->driver().queue(), target, copy->buffer, offset, bytes);
    return;
  }
}

std::byte* Storage::write_host() {
  read_host();
  std::uint64_t seen = state_.load(std::memory_order_acquire);
  const Residence next =
      copy_device_.load(std::memory_order_acquire) ? Residence::host_newer : Residence::host;
  while (unpack(seen) != next && !change(seen, next)) {
    seen = state_.load(std::memory_order_acquire);
  }
  return host_.load(std::memory_order_acquire);
}

void Storage::take_memory(DeviceCopy& copy) {
  if (copy.device->driver().works_on_host_memory()) {
    const auto address = reinterpret_cast<std::uintptr_t>(host_memory_locked());
    copy.buffer = {.handle = address, .bytes = bytes_, .address = address};
    copy.in_place = true;
    return;
  }
  Block block = copy.device->pool().allocate(bytes_);
  copy.buffer = block.buffer;
  copy.uses = std::move(block.uses);
}

void Storage::give_memory_back(DeviceCopy& copy) noexcept {
  if (!copy.in_place) copy.device->pool().free({copy.buffer, std::move(copy.uses)});
}

bool Storage::make_current(DeviceState& device, bool overwritten) {
  const std::lock_guard lock(transfer_lock_);
  if (on_other_device(device)) return false;
  DeviceCopy* copy = copy_.load(std::memory_order_acquire);
  if (!copy) {
    auto made = std::make_unique<DeviceCopy>();
    made->storage = this;
    made->device = device.shared_from_this();
    made->bytes = bytes_;
    take_memory(*made);
    copy = made.release();
    copy_.store(copy, std::memory_order_release);
    copy_device_.store(device.serial(), std::memory_order_release);
    // The block may come from a vector that a stream or the default queue still works on.
    begin_library_work(device, true);
    end_library_work(device);
  }
  const std::uint64_t seen = state_.load(std::memory_order_acquire);
  if (!overwritten && !device_current(unpack(seen))) {
    begin_library_work(device, true);
    device.driver().write(device.driver().queue(), copy->buffer, 0, host_memory_locked(), bytes_);
    end_library_work(device);
    change(seen, Residence::both);
  }
  return true;
}

void Storage::begin_library_work(DeviceState& device, bool writes) {
  device.streams().order_default_after(copy_on(device)->uses, !writes);
}

void Storage::end_library_work(DeviceState& device) {
  copy_on(device)->upload = device.streams().next_upload();
}

void Storage::upload_kept_bytes(DeviceState& device) {
  const std::lock_guard lock(transfer_lock_);
  const DeviceCopy* copy = copy_on(device);
  begin_library_work(device, true);
  device.driver().write(device.driver().queue(), copy->buffer, 0, host_memory_locked(), bytes_);
  end_library_work(device);
}

void Storage::write_range(DeviceState& device, std::size_t offset, const void* source,
                          std::size_t bytes) {
  const DeviceCopy* copy = copy_on(device);
  begin_library_work(device, true);
  device.driver().write(device.driver().queue(), copy->buffer, offset, source, bytes);
  end_library_work(device);
  mark_device_newer();
}

void Storage::leave_device() {
  for (;;) {
    read_host();
    const std::shared_ptr<DeviceState> device = device_of_copy();
    if (!device) return;
    HeldWork* held = device->held_work();
    if (held) held->issue_all();  // launches that only read it may still be held
    if (held ? held->retire(*device, *this) : drop_copy(*device)) return;
  }
}

bool Storage::drop_copy(const DeviceState& device) {
  const std::lock_guard lock(transfer_lock_);
  DeviceCopy* copy = copy_on(device);
  if (!copy) return true;
  const std::uint64_t seen = state_.load(std::memory_order_acquire);
  if (!host_current(unpack(seen)) || !change(seen, Residence::host)) return false;
  copy_device_.store(0, std::memory_order_release);
  copy_.store(nullptr, std::memory_order_release);
  give_memory_back(*copy);
  delete copy;
  return true;
}

void Storage::mark_device_newer() noexcept {
  const Residence next =
      host_.load(std::memory_order_acquire) ? Residence::device_newer : Residence::device;
  std::uint64_t seen = state_.load(std::memory_order_acquire);
  while (!change(seen, next)) seen = state_.load(std::memory_order_acquire);
}

}  // namespace salvo::runtime

namespace salvo::detail {

void retain(runtime::Storage* storage) noexcept {
  storage->retain();
}
void release(runtime::Storage* storage) noexcept {
  storage->release();
}
StoragePtr make_storage(std::size_t bytes, std::size_t align) {
  return StoragePtr(new runtime::Storage(bytes, align));
}
const std::byte* read_host(runtime::Storage& storage) {
  return storage.read_host();
}
std::byte* write_host(runtime::Storage& storage) {
  return storage.write_host();
}

void index_out_of_range(std::size_t index, std::size_t size) {
  throw Error(Errc::invalid_argument,
              fmt::format("index {} is past the vector's {} elements", index, size));
}
void view_out_of_range(std::size_t first, std::size_t count, std::size_t size) {
  throw Error(
      Errc::invalid_argument,
      fmt::format("a view of {} elements from {} does not fit in {} elements", count, first, size));
}

}  // namespace salvo::detail
