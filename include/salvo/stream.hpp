// Streams, events and timers: work that runs beside other work, and points in it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "salvo/device.hpp"

namespace salvo {

namespace runtime {
class EventState;
class StreamState;
}  // namespace runtime

/// A point in the work of a stream. A cheap handle: copies are the same event. Any thread may use
/// it. Every operation issues what is held on all devices first (W19).
class Event {
 public:
  /// An event that was never recorded counts as reached. Throws Errc::unsupported on a backend
  /// without events.
  explicit Event(const Device& device);
  /// @cond internal
  explicit Event(std::shared_ptr<runtime::EventState> state) : state_(std::move(state)) {}
  /// @endcond

  /// Blocks the calling thread until the point is reached. Throws what the stream's work met.
  void wait() const;
  /// Whether it is reached; never blocks. Throws Errc::device_lost where that cannot be told.
  bool query() const;
  /// Milliseconds between two recorded events of one device, on the device's clock; negative if
  /// `last` came first. Blocks until both are reached. Throws Errc::invalid_argument if one was
  /// never recorded or they are of two devices.
  static double elapsed_ms(const Event& first, const Event& last);

  /// @cond internal
  const std::shared_ptr<runtime::EventState>& state() const noexcept { return state_; }
  /// @endcond

 private:
  std::shared_ptr<runtime::EventState> state_;
};

/// A queue of a device's work that runs beside its other queues. Work of one stream runs in order;
/// streams are ordered against each other, and against launches on no stream, by events alone. What
/// the library itself does for a vector (uploads, reading back, reuse of its memory) comes after
/// all that streams do with it. A launch on a stream is never held, and every operation issues what
/// is held on all devices first (W7, W19).
///
/// A cheap handle: copies are the same stream. The last one waits for the stream's work; a failure
/// that only it meets is thrown by the next call that may throw. Any thread may use it.
class Stream {
 public:
  /// A higher priority runs first, as far as the device has priorities; 0 is usual. Throws
  /// Errc::unsupported on a backend without streams.
  explicit Stream(const Device& device, int priority = 0);
  /// The queue that launches on no stream use, to order other streams against it.
  static Stream default_of(const Device& device);
  /// A stream that another library of the process made on this device (a CUstream): Salvo's work
  /// then runs in its order. It stays the other library's and must outlive the handle. Throws
  /// Errc::unsupported on a backend that cannot.
  static Stream wrap(const Device& device, std::uintptr_t native);

  /// Launches at once, on arguments as those of Device::launch. Throws what is wrong with the call
  /// and what the driver refuses.
  template <class... P, class... A>
  void launch(const Kernel<P...>& kernel, const Dims& dims, A&&... arguments) const {
    detail::with_packed(
        kernel, dims,
        [&](const std::shared_ptr<detail::KernelRecord>& record,
            std::span<const detail::CallArgument> packed) {
          detail::launch(device().state(), record, dims, packed, state_.get());
        },
        arguments...);
  }

  /// Blocks the calling thread until the stream's work so far is done. Throws what that met.
  void synchronize() const;
  /// Makes `event` the point after the stream's work so far; it may have been another before.
  /// Throws Errc::invalid_argument for an event of another device.
  void record(const Event& event) const;
  Event record() const;
  /// Later work of this stream comes after the point that `event` is now. For an event of another
  /// device the calling thread waits.
  void wait(const Event& event) const;

  /// The API's own handle, for other libraries: a CUstream. 0 where there is none.
  std::uintptr_t native() const;

  Device device() const;
  /// @cond internal
  const std::shared_ptr<runtime::StreamState>& state() const noexcept { return state_; }
  /// @endcond

 private:
  explicit Stream(std::shared_ptr<runtime::StreamState> state) : state_(std::move(state)) {}
  std::shared_ptr<runtime::StreamState> state_;
};

/// Times what a device does between two calls, on the device's own clock. Each call issues what is
/// held first, so that the bracket holds exactly the launches made inside it (W20). For one thread
/// at a time.
class Timer {
 public:
  /// Of launches on no stream.
  explicit Timer(const Device& device) : Timer(Stream::default_of(device)) {}
  explicit Timer(const Stream& stream)
      : stream_(stream), first_(stream.device()), last_(stream.device()) {}

  void start() { stream_.record(first_); }
  void stop() { stream_.record(last_); }
  /// Milliseconds; blocks until the work is done. Throws Errc::invalid_argument before start and
  /// stop.
  double elapsed_ms() const { return Event::elapsed_ms(first_, last_); }

 private:
  Stream stream_;
  Event first_, last_;
};

}  // namespace salvo
