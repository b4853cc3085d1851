// The window of one device: what is held, under the window lock, and what is being issued, under
// the device's issue lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/device_state.hpp"
#include "salvo/detail/storage.hpp"
#include "salvo/dims.hpp"
#include "window/counters.hpp"
#include "window/hazards.hpp"
#include "window/held_launch.hpp"
#include "window/known_launches.hpp"
#include "window/plan.hpp"
#include "window/recorder.hpp"
#include "window/repetition.hpp"

namespace salvo::window {

/// What a device's window holds. Everything is guarded by `lock`, the window lock, which is never
/// held across a driver call; the two atomics may be read without it.
struct Held {
  mutable std::mutex lock;
  std::vector<std::unique_ptr<Group>> groups;  // by sequence
  std::uint64_t last_sequence = 0;
  std::uint64_t issued_through = 0;  // groups up to this one are issued
  /// What held launches use and nobody else may own any more (W15): kernels, one entry each, and
  /// storages whose last reference is gone.
  std::vector<std::pair<std::shared_ptr<KernelRecord>, Prepared*>> kernels;
  runtime::Storage* orphans = nullptr;  // a list by next_orphan
  /// Groups held, or taken out by a thread that has yet to issue them; read without a lock to see
  /// that there is nothing to issue and nobody to wait for.
  std::atomic<std::uint32_t> unissued{0};
  std::vector<std::unique_ptr<Group>> spare_groups;
  std::vector<std::unique_ptr<HeldLaunch>> spare_launches;
  // Windows that came before (W79):
  Recorder recorder;
  std::vector<std::unique_ptr<Repetition>> repetitions;
  std::atomic<bool> repeats{false};  // there are any; read without a lock
  Repetition* repeated = nullptr;    // what is held repeats this one so far
  /// Held launches of a repetition that ended, in the order they were made, the next last.
  std::vector<std::unique_ptr<HeldLaunch>> unplaced;
  std::uint32_t unplaced_groups = 0;  // that they were in

  /// Launches of the program that are held.
  std::uint64_t launches() const noexcept;
  /// Whether a held launch uses this copy of a vector.
  bool uses(const runtime::DeviceCopy& copy) const noexcept {
    return copy.last_bound > issued_through;
  }
  /// Owns a kernel for as long as the group `sequence` is held. Throws before it changes anything.
  void keep(KernelRecord& kernel, Prepared& prepared, std::uint64_t sequence) {
    if (!prepared.is_kept) kernels.emplace_back(kernel.shared_from_this(), &prepared);
    prepared.is_kept = true;
    prepared.last_held = sequence;
  }
  std::unique_ptr<HeldLaunch> spare_launch();
  /// A group that a launch of `first` is about to open. Throws before it changes anything.
  Group& open_group(const KernelRecord& first);
  /// A group that was issued goes where it belongs.
  void put_back(std::unique_ptr<Group> group);

  /// The repetition that such a call goes on with or begins; null if none.
  Repetition* find_repetition(const KernelRecord& kernel, const Dims& dims,
                              std::span<const detail::CallArgument> arguments,
                              const runtime::DeviceState& device) const noexcept;
  /// Keeps a window that has ended, of which `rest` is yet to be issued.
  void keep_repetition(std::span<const std::unique_ptr<Group>> rest);
  /// Destroys repetitions that were given up.
  void sweep();
};

/// A fused launch, bound.
struct FusedLaunch {
  runtime::LaunchShape shape;
  std::vector<runtime::Argument> arguments;
};

/// What is on its way to a device's driver. Everything is guarded by the device's issue lock.
struct Issuing {
  std::vector<std::unique_ptr<Group>> groups;    // taken out of the window
  std::vector<runtime::LaunchCommand> commands;  // of them, to be replayed
  std::vector<FusedLaunch> fused_launches;       // that the commands point to, by group
  PlanCache plans;
  std::vector<runtime::Argument> arguments;  // of the fused launch being issued
  KnownLaunches known;                       // that ran at once
  AgainCounts again;
  bool unsubmitted = false;  // launched, not yet submitted
};

struct DeviceWindow {
  Held held;
  Issuing issuing;
};

}  // namespace salvo::window
