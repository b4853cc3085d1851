// Streams, events and host memory of a device, as the public handles share them (R6, R7).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/device_state.hpp"

namespace salvo::runtime {

struct DeviceCopy;
class HostMemory;

/// A queue of a device: one of its own, or the default queue. Its work is put in under the device's
/// issue lock. Destroying it waits for its work and takes that lock; a failure of the work is kept
/// for the next call that may throw.
class StreamState {
 public:
  /// A new queue; a higher priority runs first where the device has priorities.
  StreamState(std::shared_ptr<DeviceState> device, int priority);
  /// The device's default queue.
  explicit StreamState(std::shared_ptr<DeviceState> device);
  /// A stream of another library's.
  static std::shared_ptr<StreamState> wrap(std::shared_ptr<DeviceState> device,
                                           std::uintptr_t native);
  ~StreamState();
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  const std::shared_ptr<DeviceState>& device() const noexcept { return device_; }
  bool is_default() const noexcept { return !own_; }
  Queue& queue() noexcept { return own_ ? *own_ : device_->driver().queue(); }
  /// Of DeviceState::launch, guarded by the issue lock.
  std::uint32_t& scratch_mark() noexcept { return own_ ? scratch_mark_ : device_->scratch_mark(); }

  /// Notes that the next work of this stream uses `copy`, and makes the stream wait for uploads
  /// that it has not seen. The issue lock is held.
  void use(DeviceCopy& copy, bool writes);
  /// The same for host memory that an asynchronous copy is about to use.
  void use(HostMemory& memory);

 private:
  std::shared_ptr<DeviceState> device_;
  std::unique_ptr<Queue> own_;  // null: the default queue
  std::uint64_t name_ = 0;
  std::uint32_t scratch_mark_ = 0;
};

/// A point in a stream. Any thread may use it; its lock is taken after the device's issue lock.
class EventState {
 public:
  explicit EventState(std::shared_ptr<DeviceState> device);
  ~EventState();
  EventState(const EventState&) = delete;
  EventState& operator=(const EventState&) = delete;

  const std::shared_ptr<DeviceState>& device() const noexcept { return device_; }
  /// The issue lock of the stream's device is held.
  void record(StreamState& stream);
  void make_wait(StreamState& stream);

  void wait();
  bool reached();
  /// Throws Errc::invalid_argument if one was not recorded or they are of two devices.
  static double elapsed_ms(EventState& first, EventState& second);

 private:
  std::shared_ptr<DeviceState> device_;
  std::mutex lock_;
  std::unique_ptr<Event> event_;
  bool recorded_ = false;
};

/// Host memory that a device reaches directly: allocated for it, or the program's own, registered.
/// Its destructor waits for the copies that use it, and keeps their failure.
class HostMemory {
 public:
  static std::shared_ptr<HostMemory> allocate(std::shared_ptr<DeviceState> device,
                                              std::size_t bytes);
  static std::shared_ptr<HostMemory> enroll(std::shared_ptr<DeviceState> device, void* data,
                                            std::size_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  const std::shared_ptr<DeviceState>& device() const noexcept { return device_; }
  const HostBlock& block() const noexcept { return block_; }
  bool is_registered() const noexcept { return registered_; }
  /// Waits until no copy uses it. Takes the issue lock.
  void finish();

 private:
  friend class StreamState;
  HostMemory(std::shared_ptr<DeviceState> device, HostBlock block, bool registered);

  std::shared_ptr<DeviceState> device_;
  HostBlock block_;
  bool registered_ = false;
  // Guarded by the issue lock:
  bool used_ = false;
  StreamUses uses_;
};

}  // namespace salvo::runtime
