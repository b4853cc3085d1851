// Host and device copies of a vector's bytes, and which of them is current (R3).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/copy_slot.hpp"
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
  return state == Residence::device || state == Residence::both || state == Residence::device_newer;
}

/// Memory of a storage on one device, with the hazard stamps of decision 5: the last held groups
/// that read and wrote it. Stamps are guarded by the device's window lock. A copy goes away only
/// with its storage, or under both locks of its device when no held group uses it.
struct alignas(64) DeviceCopy {
  // What recording a launch touches comes first, in one cache line.
  Buffer buffer;
  std::uint64_t last_reader = 0;
  std::uint64_t last_writer = 0;
  std::uint64_t last_bound = 0;   // of any use, one that the kernel makes nothing of included
  std::uint32_t last_member = 0;  // of the later of the two groups; touched it last
  bool shared = false;            // another member of that group touched it too
  bool viewed = false;            // bound in parts: byte ranges decide, not stamps
  const std::uint64_t serial = next_serial();  // unique in the process, unlike an address
  class Storage* storage = nullptr;
  std::shared_ptr<DeviceState> device;
  std::size_t bytes = 0;  // of the storage; the buffer may be larger
  bool in_place = false;  // the buffer is the storage's own host memory
  // Guarded by the issue lock (R7):
  StreamUses uses;               // what streams do with it
  std::uint64_t upload = 0;      // the library's latest write to it; streams wait for that
  std::uint64_t written_by = 0;  // ticket of the latest launch that writes it (W81)
  std::uint64_t seen = 0;        // state of the storage when the bytes came from another device

 private:
  static std::uint64_t next_serial() noexcept;
};

/// Counted by vectors and views; held launches keep it by its stamps (W15). Any thread may read and
/// launch; state changes are atomic, and a change that lost a race against a launch leaves the
/// device's copy the newer one.
class alignas(64) Storage {
 public:
  Storage(std::size_t bytes, std::size_t align);
  /// Of memory on a device that another library owns, with its bytes as they are. It counts as
  /// escaped (W24).
  Storage(std::shared_ptr<DeviceState> device, Buffer foreign);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) dispose();
  }

  std::size_t bytes() const noexcept { return bytes_; }
  Residence residence() const noexcept { return unpack(state_.load(std::memory_order_acquire)); }

  /// The device that has a copy; null if none.
  std::shared_ptr<DeviceState> device_of_copy() const;

  /// Host bytes, current. Issues held work first if the device's copy is newer.
  const std::byte* read_host();
  std::byte* write_host();
  /// Copies current bytes out, without a change of state: of a newer device copy only these bytes
  /// are moved. Issues held work first in that case.
  void read_range(std::size_t offset, void* target, std::size_t bytes);

  /// The device copy on `device`, current or not; null otherwise. It stays for as long as the
  /// caller holds the device's issue or window lock.
  DeviceCopy* copy_on(const DeviceState& device) const noexcept {
    return copy_.on(device.serial());
  }
  bool current_on(const DeviceState& device) const noexcept {
    return copy_.device() == device.serial() && device_current(residence());
  }
  /// Whether another device holds the copy; it must be brought to the host before use elsewhere.
  bool on_other_device(const DeviceState& device) const noexcept {
    const std::uint32_t serial = copy_.device();
    return serial != 0 && serial != device.serial();
  }
  /// Allocates on `device` if needed and uploads if stale; false if another device holds the copy.
  /// With `overwritten` the caller is about to write every byte, so that nothing is uploaded. The
  /// device's issue lock is held.
  bool make_current(DeviceState& device, bool overwritten = false);
  /// Writes to the device's copy from the host, after all that uses it, and makes it the newer one.
  /// It exists; the issue lock is held.
  void write_range(DeviceState& device, std::size_t offset, const void* source, std::size_t bytes);
  /// A launch that was to store every byte failed: the device's copy gets the host's bytes, which
  /// it was not sent before. The issue lock is held.
  void upload_kept_bytes(DeviceState& device);
  /// Before work on the default queue that the library does with the copy, and after it.
  void begin_library_work(DeviceState& device, bool writes);
  void end_library_work(DeviceState& device);
  /// Moves the current bytes to the host and frees the device's copy. No locks held. Throws
  /// Errc::invalid_argument if the memory is another library's.
  void leave_device();
  /// The same on the way to `target`: straight to it where the two devices have such a way and the
  /// host's copy is stale.
  void leave_for(DeviceState& target);
  /// Frees the device's copy if the host's is current. Both locks of the device are held, and no
  /// held launch uses the copy. False if the host's copy is not current.
  bool drop_copy(const DeviceState& device);
  /// A copy of the newer bytes on `target`, made there by the two drivers alone; null if they have
  /// no way, or the bytes on `source` are not the newer ones. Both issue locks are held.
  std::unique_ptr<DeviceCopy> copy_to_peer(DeviceState& source, DeviceState& target);
  /// Copies bytes of this storage's copy on `source` into that of another storage on `target`, by
  /// the two drivers alone. False if they have no way, one of the copies is gone or stale, and
  /// nothing was done. Both issue locks are held.
  bool copy_range_to_peer(DeviceState& source, std::size_t first, Storage& to, DeviceState& target,
                          std::size_t to_first, std::size_t bytes);
  /// Puts such a copy in the place of the one on `source`. The locks of drop_copy are held; false
  /// if bytes were written meanwhile, and then `copy` is the caller's to give back.
  bool replace_copy(const DeviceState& source, std::unique_ptr<DeviceCopy>& copy);
  /// A launch that writes it was accepted: the device's copy is the newer one from here on.
  void mark_device_newer() noexcept;
  /// The address of the device's copy was handed out (W24): launches that touch it are not held.
  void mark_escaped() noexcept { escaped_.store(true, std::memory_order_release); }
  bool escaped() const noexcept { return escaped_.load(std::memory_order_acquire); }

  /// The next of the storages that only held launches use; guarded by the window lock of the copy's
  /// device.
  Storage* next_orphan() const noexcept { return next_orphan_; }
  void set_next_orphan(Storage* next) noexcept { next_orphan_ = next; }

 private:
  /// The last reference is gone: destroyed now, or by the window when no held launch binds it.
  void dispose() noexcept;
  static Residence unpack(std::uint64_t state) noexcept {
    return static_cast<Residence>(state & 7);
  }
  /// Replaces the residence if nothing changed since `seen` was loaded.
  bool change(std::uint64_t seen, Residence next) noexcept;
  std::byte* host_memory();
  std::byte* host_memory_locked();
  std::unique_ptr<DeviceCopy> allocate_on(DeviceState& device);
  void give_back(DeviceCopy& copy) noexcept;

  // What recording a launch touches comes first, in one cache line.
  std::atomic<std::uint64_t> state_{0};  // a change count above the Residence in the low 3 bits
  std::atomic<std::byte*> host_{nullptr};
  CopySlot<DeviceCopy> copy_;
  const std::size_t bytes_;
  std::atomic<std::uint32_t> references_{1};
  std::atomic<bool> escaped_{false};
  const std::size_t align_;
  const bool foreign_ = false;  // the copy is another library's memory: never moved or released
  mutable std::mutex transfer_lock_;  // one transfer at a time; innermost lock
  Storage* next_orphan_ = nullptr;
};

}  // namespace salvo::runtime
