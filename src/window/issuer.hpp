// Issues groups that were taken out of a window: as one launch where they fuse, one by one where
// they do not, and as a sequence where the driver knows it from before.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "runtime/device_state.hpp"
#include "window/background_compiler.hpp"
#include "window/counters.hpp"
#include "window/device_window.hpp"
#include "window/explain.hpp"
#include "window/failures.hpp"
#include "window/fused_cache.hpp"
#include "window/settings.hpp"

namespace salvo::window {

/// Works on what is being issued alone: knows no window and takes no window lock. Each call is made
/// with the device's issue lock. What it refers to outlives it.
class Issuer {
 public:
  Issuer(const Settings& settings, Counters& counters, Explain& explain)
      : settings_(settings), counters_(counters), explain_(explain) {}

  /// Issues `issuing.groups` in order, and leaves them there. Those that fell back to their members
  /// or failed are marked.
  void issue(runtime::DeviceState& device, Issuing& issuing, Failures& failures);
  /// The compiled form of a kernel, compiled now if there is none yet.
  static runtime::Executable& executable_of(runtime::DeviceState& device, Prepared& prepared,
                                            bool may_alias);
  /// Drops fused kernels, good and failed (W68). Takes no lock of a device.
  void clear_cache() { fused_cache_.clear(); }
  /// Ends what is built on the helper thread. Takes no lock of a device.
  void stop_compiling() noexcept { compiler_.stop(); }

 private:
  /// The groups of one device, and what fails of them.
  struct Round {
    runtime::DeviceState& device;
    Issuing& issuing;
    Failures& failures;
  };
  void issue_group(const Round& round, Group& group);
  void issue_single(const Round& round, HeldLaunch& launch);
  static void launch_single(const Round& round, HeldLaunch& launch);
  void count_issued(const HeldLaunch& launch) noexcept;
  void count_merges(const HeldLaunch& launch) noexcept;
  /// Notes that a launch, or each that it stands for, was not carried out.
  void note_failed(const Round& round, const HeldLaunch& launch, const Error& failure);

  // Several launches as one (issue_fused.cpp).
  /// Whether a fused or merged kernel is still being built on the helper thread.
  bool is_compiling(const CompileJob& job);
  Plan& plan_for(const Round& round, const Group& group);
  /// False if the group must be issued one by one.
  bool issue_fused(const Round& round, Group& group);
  void issue_merged(const Round& round, HeldLaunch& launch);
  void issue_parts(const Round& round, HeldLaunch& launch);

  // Sequences that came before (replay.cpp).
  /// Describes the groups from `first` on in `issuing.commands`, as far as each is a launch of a
  /// kernel that is built. Returns how many.
  std::size_t describe(const Round& round, std::size_t first);
  static bool describe_single(const Round& round, HeldLaunch& launch,
                              runtime::LaunchCommand& command);
  bool describe_fused(const Round& round, Group& group, FusedLaunch& fused,
                      runtime::LaunchCommand& command);
  /// Issues them as one sequence; false if that must be done one by one.
  bool replay(const Round& round, std::size_t first, std::size_t count);

  const Settings& settings_;
  Counters& counters_;
  Explain& explain_;
  FusedCache fused_cache_;
  BackgroundCompiler compiler_;  // the last: it ends before what it uses
};

}  // namespace salvo::window
