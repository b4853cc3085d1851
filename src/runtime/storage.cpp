// Host and device copies of a vector's bytes, and which of them is current (R3).
// SPDX-License-Identifier: MIT
#include "runtime/storage.hpp"

#include <sys/mman.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "salvo/detail/storage.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {

std::uint64_t DeviceCopy::next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

namespace {

/// Vectors from this size on ask for huge pages: a page table entry for each 4 KiB costs kernels
/// that only stream through memory a good part of their time.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t host_align(std::size_t bytes, std::size_t align) {
  return std::max<std::size_t>(align, bytes >= 2 * kHugePage ? kHugePage : 64);
}

void ask_for_huge_pages([[maybe_unused]] std::byte* host, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Advice: a system that does not take it goes on with small pages.
  if (bytes >= 2 * kHugePage) madvise(host, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

}  // namespace

Storage::Storage(std::size_t bytes, std::size_t align)
    : bytes_(bytes), align_(host_align(bytes, align)) {}

Storage::Storage(std::shared_ptr<DeviceState> device, Buffer foreign)
    : bytes_(foreign.bytes), align_(64), foreign_(true) {
  auto copy = std::make_unique<DeviceCopy>();
  copy->storage = this;
  copy->device = std::move(device);
  copy->buffer = foreign;
  copy->bytes = bytes_;
  copy_device_.store(copy->device->serial(), std::memory_order_release);
  copy_.store(copy.release(), std::memory_order_release);
  mark_device_newer();
  mark_escaped();
}

Storage::~Storage() {
  if (DeviceCopy* copy = copy_.load(); copy && !copy->device->is_inherited()) {
    give_back(*copy);
    delete copy;
  }
  if (std::byte* host = host_.load()) ::operator delete(host, std::align_val_t(align_));
}

namespace {

/// W81: what a launch that failed on the device was to write cannot be read.
void check_not_lost(const DeviceCopy& copy) {
  if (const Error* failure = copy.device->launches().loss(copy.written_by)) throw Error(*failure);
}

}  // namespace

void Storage::dispose() noexcept {
  const DeviceCopy* copy = copy_.load(std::memory_order_acquire);
  if (copy && !copy->device->is_inherited()) {
    HeldWork* held = copy->device->held_work();
    if (held && held->adopt(*copy->device, *this)) return;
  }
  delete this;
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
    ask_for_huge_pages(host, bytes_);
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
    if (device->is_inherited()) refuse_inherited();
    if (HeldWork* held = device->held_work()) held->issue_all();

    const std::lock_guard issue(device->issue_lock());
    const std::lock_guard lock(transfer_lock_);
    DeviceCopy* copy = copy_on(*device);
    if (!copy) continue;
    if (host_current(residence())) return host;
    check_not_lost(*copy);
    device->streams().order_default_after(copy->uses, true);
    device->read(host, copy->buffer, 0, bytes_);
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
    if (device->is_inherited()) refuse_inherited();
    if (HeldWork* held = device->held_work()) held->issue_all();

    const std::lock_guard issue(device->issue_lock());
    const std::lock_guard lock(transfer_lock_);
    DeviceCopy* copy = copy_on(*device);
    if (!copy || host_current(residence())) continue;
    check_not_lost(*copy);
    device->streams().order_default_after(copy->uses, true);
    device->read(target, copy->buffer, offset, bytes);
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

std::unique_ptr<DeviceCopy> Storage::allocate_on(DeviceState& device) {
  auto made = std::make_unique<DeviceCopy>();
  made->storage = this;
  made->device = device.shared_from_this();
  made->bytes = bytes_;
  if (device.driver().works_on_host_memory()) {
    const auto address = reinterpret_cast<std::uintptr_t>(host_memory_locked());
    made->buffer = {.handle = address, .bytes = bytes_, .address = address};
    made->in_place = true;
    return made;
  }
  Block block = device.pool().allocate(bytes_);
  made->buffer = block.buffer;
  made->uses = std::move(block.uses);
  return made;
}

void Storage::give_back(DeviceCopy& copy) noexcept {
  if (foreign_ || copy.in_place) return;
  copy.device->pool().free({copy.buffer, std::move(copy.uses)});
}

bool Storage::make_current(DeviceState& device, bool overwritten) {
  const std::lock_guard lock(transfer_lock_);
  if (on_other_device(device)) return false;
  DeviceCopy* copy = copy_.load(std::memory_order_acquire);
  if (!copy) {
    copy = allocate_on(device).release();
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
  DeviceCopy* copy = copy_on(device);
  begin_library_work(device, true);
  device.driver().write(device.driver().queue(), copy->buffer, offset, source, bytes);
  if (bytes == bytes_) copy->written_by = 0;
  end_library_work(device);
  mark_device_newer();
}

void Storage::leave_device() {
  for (;;) {
    read_host();
    const std::shared_ptr<DeviceState> device = device_of_copy();
    if (!device) return;
    if (foreign_) {
      throw Error(Errc::invalid_argument,
                  "the vector's memory is another library's and stays on " + device->id());
    }
    HeldWork* held = device->held_work();
    if (held) held->issue_all();  // launches that only read it may still be held
    if (held ? held->retire(*device, *this) : drop_copy(*device)) return;
  }
}

void Storage::leave_for(DeviceState& target) {
  const std::shared_ptr<DeviceState> source = device_of_copy();
  HeldWork* held = source ? source->held_work() : nullptr;
  if (held && source.get() != &target && !source->is_inherited() && !host_current(residence())) {
    held->issue_all();  // launches on it may still be held
    if (held->hand_over(*source, target, *this)) return;
  }
  leave_device();
}

std::unique_ptr<DeviceCopy> Storage::copy_to_peer(DeviceState& source, DeviceState& target) {
  const std::lock_guard lock(transfer_lock_);
  DeviceCopy* copy = copy_on(source);
  if (!copy || foreign_ || host_current(residence())) return nullptr;
  check_not_lost(*copy);
  source.streams().order_default_after(copy->uses, true);
  source.finish(source.driver().queue());  // what failed there must not travel as if it had not
  std::unique_ptr<DeviceCopy> made = allocate_on(target);
  made->seen = state_.load(std::memory_order_acquire);
  target.streams().order_default_after(made->uses, false);
  // Of the source the driver itself, which its like on the target must recognise.
  if (!target.driver().copy_from(target.driver().queue(), made->buffer, 0,
                                 source.unwatched_driver(), source.driver().queue(), copy->buffer,
                                 0, bytes_)) {
    give_back(*made);
    return nullptr;
  }
  made->upload = target.streams().next_upload();
  return made;
}

bool Storage::copy_range_to_peer(DeviceState& source, std::size_t first, Storage& to,
                                 DeviceState& target, std::size_t to_first, std::size_t bytes) {
  const std::scoped_lock lock(transfer_lock_, to.transfer_lock_);
  DeviceCopy* from_copy = copy_on(source);
  DeviceCopy* to_copy = to.copy_on(target);
  const bool whole = to_first == 0 && bytes == to.bytes_;
  if (!from_copy || !device_current(residence()) || !to_copy ||
      !(whole || device_current(to.residence()))) {
    return false;
  }
  check_not_lost(*from_copy);
  if (!whole) check_not_lost(*to_copy);
  source.streams().order_default_after(from_copy->uses, true);
  source.finish(source.driver().queue());  // what failed there must not travel as if it had not
  target.streams().order_default_after(to_copy->uses, false);
  if (!target.driver().copy_from(target.driver().queue(), to_copy->buffer, to_first,
                                 source.unwatched_driver(), source.driver().queue(),
                                 from_copy->buffer, first, bytes)) {
    return false;
  }
  if (whole) to_copy->written_by = 0;
  to_copy->upload = target.streams().next_upload();
  to.mark_device_newer();
  return true;
}

bool Storage::replace_copy(const DeviceState& source, std::unique_ptr<DeviceCopy>& made) {
  const std::lock_guard lock(transfer_lock_);
  DeviceCopy* copy = copy_on(source);
  if (!copy || !change(made->seen, unpack(made->seen))) return false;
  // In this order, as in make_current: who sees the new device sees its copy. A thread that
  // launches there holds neither lock of the old one.
  const std::uint32_t serial = made->device->serial();
  copy_.store(made.release(), std::memory_order_release);
  copy_device_.store(serial, std::memory_order_release);
  give_back(*copy);
  delete copy;
  return true;
}

bool Storage::drop_copy(const DeviceState& device) {
  const std::lock_guard lock(transfer_lock_);
  DeviceCopy* copy = copy_on(device);
  if (!copy) return true;
  const std::uint64_t seen = state_.load(std::memory_order_acquire);
  if (!host_current(unpack(seen)) || !change(seen, Residence::host)) return false;
  copy_device_.store(0, std::memory_order_release);
  copy_.store(nullptr, std::memory_order_release);
  give_back(*copy);
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

namespace {

/// A count or index; of one that was negative before it became unsigned, also what it was.
std::string as_given(std::size_t number) {
  const auto given = static_cast<std::ptrdiff_t>(number);
  return given < 0 ? fmt::format("{} ({})", number, given) : fmt::to_string(number);
}

}  // namespace

void too_many_elements(std::size_t count, std::size_t element_bytes) {
  throw Error(Errc::out_of_memory, fmt::format("no memory holds {} elements of {} bytes",
                                               as_given(count), element_bytes));
}
void index_out_of_range(std::size_t index, std::size_t size) {
  throw Error(Errc::invalid_argument,
              fmt::format("index {} is past the vector's {} elements", as_given(index), size));
}
void view_out_of_range(std::size_t first, std::size_t count, std::size_t size) {
  throw Error(Errc::invalid_argument,
              fmt::format("a view of {} elements from {} does not fit in {} elements",
                          as_given(count), as_given(first), size));
}

}  // namespace salvo::detail
