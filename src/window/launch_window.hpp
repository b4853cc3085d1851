// The launch window: takes every launch, holds what may be held, and issues it in order.
// SPDX-License-Identifier: MIT
//
// Locks, in the order they are taken: a device's issue lock (around driver work), its window lock
// (around the groups it holds and the stamps of its allocations), a storage's transfer lock. The
// window lock is never held across a driver call. `DeviceWindow` has a part for each of the first
// two; `Placer` works on what is held, `Issuer` on what is being issued.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/core.hpp"
#include "runtime/held_work.hpp"
#include "runtime/stream.hpp"
#include "salvo/detail/storage.hpp"
#include "salvo/dims.hpp"
#include "window/counters.hpp"
#include "window/device_window.hpp"
#include "window/explain.hpp"
#include "window/failures.hpp"
#include "window/grants.hpp"
#include "window/issuer.hpp"
#include "window/launch_call.hpp"
#include "window/placer.hpp"
#include "window/settings.hpp"

namespace salvo::window {

class LaunchWindow final : public runtime::HeldWork {
 public:
  explicit LaunchWindow(runtime::Core& core);
  ~LaunchWindow() override;

  /// One launch call, from its checks to being held or run (W1-W15, W57). `arguments` are the
  /// kernel's declared parameters in order. On a stream it runs at once (W7).
  void submit(runtime::DeviceState& device, const std::shared_ptr<KernelRecord>& kernel,
              const Dims& dims, std::span<const detail::CallArgument> arguments,
              runtime::StreamState* stream = nullptr);
  /// The same for code that the user brought; it is never held.
  void submit(runtime::DeviceState& device, const SourceLaunch& launch);
  /// Issues what is held, makes the arguments' vectors current on the device and does `work` with
  /// its issue lock held. An argument that is marked overwritten is allocated only.
  template <class Work>
  void transfer(runtime::DeviceState& device, std::span<const detail::CallArgument> arguments,
                Work&& work) {
    issue_all();
    try {
      run_with(device, arguments, work);
    } catch (const CallFailed& failure) {
      throw Error(failure.error);
    }
  }
  /// Launches that touch the storage are not held from here on; those that are, stay (W24).
  void mark_escaped(const runtime::DeviceState& device, runtime::Storage& storage) {
    const std::lock_guard lock(window_of(device).held.lock);
    storage.mark_escaped();
  }
  /// Makes vectors current on the device; what must be issued or moved first is (W17).
  void upload(runtime::DeviceState& device, std::span<const detail::CallArgument> arguments);

  void issue_all() override;
  void issue(runtime::DeviceState& device) override;
  bool retire(runtime::DeviceState& device, runtime::Storage& storage) override;
  bool hand_over(runtime::DeviceState& device, runtime::DeviceState& heir,
                 runtime::Storage& storage) override;
  bool adopt(const runtime::DeviceState& device, runtime::Storage& storage) noexcept override;
  /// Issues everything and makes the devices start (W22).
  void flush();
  /// The same for one device (W18).
  void flush(runtime::DeviceState& device);
  /// Issues everything; a failure is kept for the next call that may throw (W21).
  void issue_from_destructor() noexcept override;
  void keep_failure(std::exception_ptr failure) noexcept override;
  /// The program ends (W61): launches run at once from here on; what is held is issued, every
  /// device is waited for, because its driver's threads must not outlive it, and then launches are
  /// refused. Failures are kept as a destructor's are.
  void exit() noexcept;

  Settings& settings() noexcept { return settings_; }
  const Counters& counters() const noexcept { return counters_; }
  /// Launches that ran again and were not held for this reason, which `counters` leaves out.
  std::uint64_t ran_again(std::size_t reason) const noexcept;
  void reset_counts() noexcept;
  Explain& explain() noexcept { return explain_; }
  Grants& grants() noexcept { return grants_; }
  /// Drops fused kernels and merged pairs, good and failed, and the plans that use them (W68).
  void clear_fused_cache();
  /// Waits for the devices, then drops all that was made of kernels on them (W72). What was held is
  /// issued already. Failures of the wait are kept as a destructor's are.
  void clear_launch_cache();
  std::uint64_t held_count() const;
  /// A switch or a grant has changed, or is about to: what was decided before is decided anew.
  void forget_repetitions();

 private:
  DeviceWindow& window_of(const runtime::DeviceState& device) {
    return *windows_[device.ordinal()];
  }

  /// A call that repeats none, or not at once: with all its checks.
  void submit_anew(runtime::DeviceState& device, const std::shared_ptr<KernelRecord>& kernel,
                   const Dims& dims, std::span<const detail::CallArgument> arguments,
                   runtime::StreamState* stream, Reason refused);
  Reason why_not_held(const runtime::DeviceState& device, bool escaped,
                      const runtime::StreamState* stream) const noexcept;
  // Launching at once (run_now.cpp).
  /// `ready`: the arguments were ready when they were looked at.
  void run_now(const LaunchCall& call, bool ready);
  /// Launches what is known already, so that it needs no checks; false if it is not. `refused`: why
  /// it is not held.
  bool run_again(runtime::DeviceState& device, const KernelRecord& kernel, const Dims& dims,
                 std::span<const detail::CallArgument> arguments, runtime::StreamState* stream,
                 Reason refused);

  // Holding (hold.cpp).
  void hold(const LaunchCall& call);
  /// Issues the oldest group.
  void make_room(runtime::DeviceState& device);
  /// Holds the launch, or says what must happen first. Takes the window lock.
  Outcome try_to_hold(const LaunchCall& call);

  // Windows that repeat (repeat.cpp).
  /// Holds a launch where the same launch of an earlier window was held; false if the window held
  /// does not repeat one, or this call does not.
  bool hold_again(runtime::DeviceState& device, KernelRecord& kernel, const Dims& dims,
                  std::span<const detail::CallArgument> arguments);
  /// Switches, grants or caches change: windows are decided upon anew.
  void forget_repetitions(runtime::DeviceState& device);

  // Vectors that move (launch_window.cpp).
  void bring_to_device(runtime::DeviceState& device,
                       std::span<const detail::CallArgument> arguments);
  /// One attempt, with the issue lock held: false if another thread moved a vector away.
  static bool try_upload(runtime::DeviceState& device,
                         std::span<const detail::CallArgument> arguments);
  template <class Work>
  void run_with(runtime::DeviceState& device, std::span<const detail::CallArgument> arguments,
                Work&& work) {
    for (;;) {
      if (!are_ready(arguments, device)) bring_to_device(device, arguments);
      const runtime::DeviceState::IssueTurn turn(device);
      try {
        // Another thread may have moved a vector away, or written it on the host, meanwhile.
        if (!are_ready(arguments, device) && !try_upload(device, arguments)) continue;
        work();
      } catch (...) {
        throw CallFailed{current_failure()};
      }
      return;
    }
  }
  void relieve(runtime::DeviceState& device);
  static void destroy(runtime::Storage* orphans) noexcept;

  // Issuing (issue.cpp).
  /// Takes at most so many groups out of the window and issues them. The issue lock is held, here
  /// and in the two steps that it goes by.
  void issue_oldest(runtime::DeviceState& device, std::size_t most, Failures& failures);
  /// Takes at most so many groups out of the window: all of them if `most` is the largest number.
  void detach(runtime::DeviceState& device, std::size_t most);
  void recycle(const runtime::DeviceState& device);
  void issue_device(runtime::DeviceState& device, Failures& failures);
  void flush_device(runtime::DeviceState& device, Failures& failures);

  runtime::Core& core_;
  Settings settings_;
  Counters counters_;
  Explain explain_;
  Grants grants_;
  Placer placer_{settings_, grants_, counters_, explain_};
  std::vector<std::unique_ptr<DeviceWindow>> windows_;  // by device ordinal
  std::atomic<bool> exiting_{false};
  Issuer issuer_{settings_, counters_, explain_};  // the last: its thread ends before what it uses
};

}  // namespace salvo::window
