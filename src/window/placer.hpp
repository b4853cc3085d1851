// Where a launch goes: into a held producer as its epilogue, into a held group, or into a new one
// (W10-W13, W26-W31, W39-W48).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/device_state.hpp"
#include "window/counters.hpp"
#include "window/device_window.hpp"
#include "window/epilogue_cache.hpp"
#include "window/explain.hpp"
#include "window/grants.hpp"
#include "window/held_launch.hpp"
#include "window/settings.hpp"

namespace salvo::window {

/// A launch that looks for its place in what its device holds.
struct Candidate {
  runtime::DeviceState& device;
  Held& held;
  KernelRecord& kernel;
  Prepared& prepared;
  runtime::LaunchShape shape;
};

/// What became of a launch that was to be held, or what must happen first.
enum class Outcome : std::uint8_t { done, make_room, begin_anew, upload, probe, too_late };

struct Placed {
  bool again = false;  // it was held before: nothing is counted or explained, or waits for room
  Reason refused_epilogue = Reason::none;
  Reason refused_horizontal = Reason::none;
};

/// Decides on what is held alone, and launches nothing. Each call is made with the window lock of
/// `Candidate::held`. What it refers to outlives it.
class Placer {
 public:
  Placer(const Settings& settings, const Grants& grants, Counters& counters, Explain& explain)
      : settings_(settings), grants_(grants), counters_(counters), explain_(explain) {}

  /// Puts a captured launch into a group; takes it only if that is done. `current`: its vectors are
  /// on the device as they should be.
  Outcome place(const Candidate& candidate, std::unique_ptr<HeldLaunch>& launch, bool current,
                Placed& placed);
  /// What is held repeats no window from here on: it is placed as usual (W79).
  void end_repetition(runtime::DeviceState& device, Held& held);
  /// Drops merged pairs, good and failed (W68).
  void clear_cache() { epilogue_cache_.clear(); }

 private:
  /// The group a launch joins, or null for a new one; `reason` says why not the latest held group.
  Group* find_group(const Candidate& candidate, std::uint64_t after, Reason& reason) const;
  Reason why_not_joined(const Candidate& candidate, const Group& group) const;
  void explain_pair(const Candidate& candidate, const HeldLaunch& launch, const Group& group,
                    Reason reason);

  // Epilogues (merge.cpp).
  /// Where a launch can run at the stores of a held one, and the kernel that does both.
  struct Merge {
    Group* group = nullptr;  // null: it reads nothing that the latest group it follows writes
    std::size_t producer = 0;
    Reason reason = Reason::none;  // why it cannot
    std::string detail;
    std::shared_ptr<KernelRecord> kernel;
    Prepared* prepared = nullptr;
    /// Parameters, as bits, whose values the answer rests on.
    std::uint64_t producer_values = 0, consumer_values = 0;
  };
  Merge find_producer(const Candidate& candidate, const HeldLaunch& launch, std::uint64_t after);
  /// Fills in why a launch that reads what `producer` writes cannot merge with it, or how it does.
  void judge_merge(const Candidate& candidate, const HeldLaunch& launch, const HeldLaunch& producer,
                   Merge& merge);
  /// The answer to whether something merges with `launch` rests on those of its parameters.
  static void fix_values(HeldLaunch& launch, std::uint64_t values);
  void explain_merge(const Candidate& candidate, const HeldLaunch& launch, const Merge& merge);
  static Reason merge_limits(const Candidate& candidate, const Merge& merge);
  /// The merged launch, of which producer and consumer are not yet part; null if the producer is
  /// one, which then has taken over the consumer's arguments.
  static std::unique_ptr<HeldLaunch> merged_launch(const Candidate& candidate, const Merge& merge,
                                                   const HeldLaunch& consumer);
  /// Throws nothing.
  static void merge_into(const Merge& merge, std::unique_ptr<HeldLaunch> merged,
                         std::unique_ptr<HeldLaunch> consumer);
  /// Whether a kernel may become one launch with others as far as the device's compiler is
  /// concerned: it leaves contraction alone, or there is a grant (W32, W52).
  bool is_granted(const KernelRecord& kernel, const Prepared& prepared) const;
  bool is_granted(const HeldLaunch& launch) const;
  bool has_grant(const KernelRecord& kernel) const;
  bool has_grant(const HeldLaunch& launch) const;

  const Settings& settings_;
  const Grants& grants_;
  Counters& counters_;
  Explain& explain_;
  EpilogueCache epilogue_cache_;
};

}  // namespace salvo::window
