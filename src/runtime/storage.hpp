// Host and device copies of a vector's bytes, and which of them is current (R3).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/device_state.hpp"

namespace salvo::runtime {

/// Which copies exist and which are current.
enum class Residence : std::uint8_t {
  host,          // no current device copy
  device,        // the device's alone; the host has no memory for it yet
  both,          // equal
  host_newer,    // the device's copy is stale
  device_newer,  // the host's copy is stale
};
constexpr bool host_current(Residence state) noexcept {
  return state == Residence::host || state == Residence::both || state == Residence::host_newer;
}
constexpr bool device_current(Residence state) noexcept {
  return state == Residence::device || state == Residence::both ||
         state == Residence::device_newer;
}

/// Memory of a storage on one device, with the hazard stamps of decision 5: the last held groups
/// that read and wrote it. Stamps are guarded by the device's window lock. A copy goes away only
/// with its storage, or under both locks of its device when no held group uses it.
struct DeviceCopy {
  class Storage* storage = nullptr;
  std::shared_ptr<DeviceState> device;
  Buffer buffer;
  std::size_t bytes = 0;  // of the storage; the buffer may be larger
  std::uint64_t last_reader = 0;
  std::uint64_t last_writer = 0;
  bool viewed = false;  // bound in parts: byte ranges decide, not stamps
};

/// Counted by vectors, views and held launches. Any thread may read and launch; state changes are
/// atomic, and a change that lost a race against a launch leaves the device's copy the newer one.
class Storage {
 public:
  Storage(std::size_t bytes, std::size_t align);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::size_t bytes() const noexcept { return bytes_; }
  Residence residence() const noexcept { return unpack(state_.load(std::memory_order_acquire)); }

  /// Host bytes, current. Issues held work first if the device's copy is newer.
  const std::byte* read_host();
  std::byte* write_host();

  /// The device copy on `device`, current or not; null otherwise. It stays for as long as the
  /// caller holds the device's issue or window lock.
  DeviceCopy* copy_on(const DeviceState& device) const noexcept {
    return copy_device_.load(std::memory_order_acquire) == device.serial()
               ? copy_.load(std::memory_order_acquire)
               : nullptr;
  }
  bool current_on(const DeviceState& device) const noexcept {
    return copy_device_.load(std::memory_order_acquire) == device.serial() &&
           device_current(residence());
  }
  /// Whether another device holds the copy; it must be brought to the host before use elsewhere.
  bool on_other_device(const DeviceState& device) const noexcept {
    const std::uint32_t serial = copy_device_.load(std::memory_order_acquire);
    return serial != 0 && serial != device.serial();
  }
  /// Allocates on `device` if needed and uploads if stale; false if another device holds the copy.
  /// The device's issue lock is held.
  bool make_current(DeviceState& device);
  /// Moves the current bytes to the host and frees the device's copy. No locks held.
  void leave_device();
  /// Frees the device's copy if the host's is current. Both locks of the device are held, and no
  /// held launch uses the copy. False if the host's copy is not current.
  bool drop_copy(const DeviceState& device);
  /// A launch that writes it was accepted: the device's copy is the newer one from here on.
  void mark_device_newer() noexcept;

 private:
  static Residence unpack(std::uint64_t state) noexcept { return static_cast<Residence>(state & 7); }
  /// Replaces the residence if nothing changed since `seen` was loaded.
  bool change(std::uint64_t seen, Residence next) noexcept;
  std::byte* host_memory();
  std::byte* host_memory_locked();

  std::atomic<std::uint32_t> references_{1};
  std::atomic<std::uint64_t> state_{0};  // a change count above the Residence in the low 3 bits
  std::atomic<std::byte*> host_{nullptr};
  std::atomic<DeviceCopy*> copy_{nullptr};
  std::atomic<std::uint32_t> copy_device_{0};  // serial of its device; 0: no copy
  std::mutex transfer_lock_;  // one transfer at a time; innermost lock
  const std::size_t bytes_;
  const std::size_t align_;
};

}  // namespace salvo::runtime
