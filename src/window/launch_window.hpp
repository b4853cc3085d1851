// The launch window: takes every launch, holds what may be held, and issues it in order.
// SPDX-License-Identifier: MIT
//
// Locks, in the order they are taken: a device's issue lock (around driver work), its window lock
// (around the groups it holds and the stamps of its allocations), a storage's transfer lock. The
// window lock is never held across a driver call.
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
#include "salvo/error.hpp"
#include "window/background_compiler.hpp"
#include "window/counters.hpp"
#include "window/epilogue_cache.hpp"
#include "window/explain.hpp"
#include "window/fused_cache.hpp"
#include "window/grants.hpp"
#include "window/hazards.hpp"
#include "window/held_launch.hpp"
#include "window/limits.hpp"
#include "window/plan.hpp"
#include "window/recorder.hpp"
#include "window/repetition.hpp"
#include "window/settings.hpp"

namespace salvo::window {

/// The exception in flight as an Error, whatever it is.
Error current_failure();

inline bool is_empty(const runtime::LaunchShape& shape) noexcept {
  return shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0;
}

/// Whether a launch can be made of arguments as they are.
inline bool is_ready(const detail::CallArgument& argument,
                     const runtime::DeviceState& device) noexcept {
  if (!argument.storage || argument.storage->current_on(device)) return true;
  return argument.overwritten && argument.storage->copy_on(device);
}
bool are_ready(std::span<const detail::CallArgument> arguments,
               const runtime::DeviceState& device) noexcept;

/// Whether an argument's device address was handed out (W24).
bool touches_escaped(std::span<const detail::CallArgument> arguments) noexcept;

/// A launch of code that the user brought (R9, R10). Nothing is known of what it reads and writes.
struct SourceLaunch {
  const std::string& name;
  runtime::Executable& executable;
  const Dims& dims;
  std::span<const detail::SourceArgument> arguments;
  runtime::StreamState* stream = nullptr;
};

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
    const std::lock_guard lock(window_of(device).lock);
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
  Counters& counters() noexcept { return counters_; }
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
  /// A fused launch, bound.
  struct FusedLaunch {
    runtime::LaunchShape shape;
    std::vector<runtime::Argument> arguments;
  };
  /// A launch that runs at once. Kept for its memory.
  struct Immediate {
    struct BoundSpan {
      runtime::Storage* storage;
      runtime::DeviceCopy* copy;
      ByteRange bytes;
      bool writes;
    };
    std::vector<runtime::Argument> arguments;
    std::vector<BoundSpan> spans;
    bool may_alias = false;  // two of its spans overlap and one is written (W80)
  };
  /// What one device holds.
  struct DeviceWindow {
    mutable std::mutex lock;
    std::vector<std::unique_ptr<Group>> groups;  // by sequence
    std::uint64_t last_sequence = 0;
    std::uint64_t issued_through = 0;  // groups up to this one are issued
    /// What held launches use and nobody else may own any more (W15): kernels, one entry each, and
    /// storages whose last reference is gone.
    std::vector<std::pair<std::shared_ptr<KernelRecord>, Prepared*>> kernels;
    runtime::Storage* orphans = nullptr;  // a list by next_orphan
    /// Groups held, or taken out by a thread that has yet to issue them; read without a lock to
    /// see that there is nothing to issue and nobody to wait for.
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
    // Guarded by the issue lock:
    std::vector<std::unique_ptr<Group>> issuing;
    std::vector<runtime::LaunchCommand> commands;  // of them, to be replayed
    std::vector<FusedLaunch> fused_launches;       // that the commands point to, by group
    PlanCache plans;
    std::vector<runtime::Argument> arguments;  // of the fused launch being issued
    Immediate immediate;                       // the launch that runs at once
    bool unsubmitted = false;                  // launched, not yet submitted
  };
  using Failures = std::vector<Error>;

  /// The call itself failed, as against a launch that was held before it.
  struct CallFailed {
    Error error;
  };
  /// A launch that looks for its place.
  struct Candidate {
    runtime::DeviceState& device;
    DeviceWindow& window;
    KernelRecord& kernel;
    Prepared& prepared;
    runtime::LaunchShape shape;
  };
  struct Call : Candidate {
    const Dims& dims;
    std::span<const detail::CallArgument> arguments;
    runtime::StreamState* stream;  // null: none was named
  };

  DeviceWindow& window_of(const runtime::DeviceState& device) {
    return *windows_[device.ordinal()];
  }

  // Checks of a call (submit.cpp).
  /// `usual_block` is asked for dims that leave the block open.
  static runtime::LaunchShape shape_of(const runtime::DeviceState& device,
                                       const std::string& kernel, std::uint64_t shared_bytes,
                                       std::uint32_t usual_block, const Dims& dims);
  /// What one walk over the arguments of a call tells.
  struct ArgumentStatus {
    bool ready = true;     // the launch can be made of them as they are
    bool escaped = false;  // an argument's device address was handed out (W24)
  };
  static ArgumentStatus check_arguments(const runtime::DeviceState& device,
                                        const KernelRecord& record, const Dims& dims,
                                        std::span<const detail::CallArgument> arguments);

  static std::uint32_t automatic_block(runtime::DeviceState& device, Prepared& prepared);
  Reason why_not_held(const runtime::DeviceState& device, bool escaped,
                      const runtime::StreamState* stream) const noexcept;

  // Launches that run at once (run_now.cpp).
  /// `ready`: the arguments were ready when they were looked at.
  void run_now(const Call& call, bool ready);
  /// The rest is done with the issue lock held. False if an argument is not ready.
  static bool bind(const Call& call, Immediate& launch);
  static void start(const Call& call, Immediate& launch, runtime::Executable& executable);
  static std::uint32_t& scratch_mark_of(const Call& call);

  // Holding (hold.cpp).
  enum class Outcome : std::uint8_t { done, make_room, begin_anew, upload, probe, too_late };
  void hold(const Call& call);
  /// Issues the oldest group.
  void make_room(runtime::DeviceState& device);
  /// Holds the launch, or says what must happen first. Takes the window lock.
  Outcome try_to_hold(const Call& call);
  struct Placed {
    bool again = false;  // it was held before: nothing is counted or explained, or waits for room
    Reason refused_epilogue = Reason::none;
    Reason refused_horizontal = Reason::none;
  };
  /// Puts a launch into a group; takes it only if that is done.
  Outcome place(const Candidate& candidate, std::unique_ptr<HeldLaunch>& launch, bool current,
                Placed& placed);
  /// Fills a launch from a call; spans without a copy on the device yet have none.
  static void capture(const Call& call, HeldLaunch& launch);
  /// The group a launch joins, or null for a new one; `reason` says why not the latest held group.
  Group* find_group(const Candidate& candidate, std::uint64_t after, Reason& reason);
  Reason why_not_joined(const Candidate& candidate, const Group& group) const;

  // Epilogues (merge.cpp); the window lock is held.
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
  Reason merge_limits(const Candidate& candidate, const Merge& merge) const;
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
  static bool held_uses(const DeviceWindow& window, const runtime::DeviceCopy& copy) noexcept;
  /// Owns a kernel for as long as the group `sequence` is held. Throws before it changes anything.
  static void keep(DeviceWindow& window, KernelRecord& kernel, Prepared& prepared,
                   std::uint64_t sequence);
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
  static std::unique_ptr<HeldLaunch> spare_launch(DeviceWindow& window);
  /// A group that a launch of `first` is about to open.
  static Group& new_group(DeviceWindow& window, const KernelRecord& first);
  void explain_pair(const Candidate& candidate, const HeldLaunch& launch, const Group& group,
                    Reason reason);

  // Windows that repeat (repeat.cpp).
  /// Holds a launch where the same launch of an earlier window was held; false if the window held
  /// does not repeat one, or this call does not.
  bool hold_again(runtime::DeviceState& device, KernelRecord& kernel, const Dims& dims,
                  std::span<const detail::CallArgument> arguments);
  /// The repetition that such a call goes on with or begins; null if none. The window lock is held.
  Repetition* find_repetition(const DeviceWindow& window, const KernelRecord& kernel,
                              const Dims& dims, std::span<const detail::CallArgument> arguments,
                              const runtime::DeviceState& device) const noexcept;
  /// What is held repeats no window from here on: it is placed as usual. The window lock is held.
  void end_repetition(runtime::DeviceState& device, DeviceWindow& window);
  /// Keeps a window that has ended, of which `rest` is yet to be issued. The window lock is held.
  void keep_repetition(DeviceWindow& window, std::span<const std::unique_ptr<Group>> rest);
  /// A group that was issued goes where it belongs. The window lock is held.
  static void put_back(DeviceWindow& window, std::unique_ptr<Group> group);
  /// Destroys repetitions that were given up.
  static void sweep(DeviceWindow& window);
  /// Switches, grants or caches change: windows are decided upon anew.
  void forget_repetitions(runtime::DeviceState& device);

  // Issuing (issue.cpp); the device's issue lock is held.
  /// Takes at most so many groups out of the window and issues them.
  void issue_oldest(runtime::DeviceState& device, std::size_t most, Failures& failures);
  void issue_group(runtime::DeviceState& device, Group& group, Failures& failures);
  // Replaying (replay.cpp); the device's issue lock is held.
  /// Describes the groups being issued from `first` on in `window.commands`, as far as each is a
  /// launch of a kernel that is built. Returns how many.
  std::size_t describe(runtime::DeviceState& device, std::size_t first);
  static bool describe_single(runtime::DeviceState& device, HeldLaunch& launch,
                              runtime::LaunchCommand& command);
  bool describe_fused(runtime::DeviceState& device, Group& group, FusedLaunch& fused,
                      runtime::LaunchCommand& command);
  /// Issues them as a sequence that came before; false if that must be done one by one.
  bool replay(runtime::DeviceState& device, std::size_t first, std::size_t count);
  static runtime::Executable& executable_of(runtime::DeviceState& device, Prepared& prepared,
                                            bool may_alias);
  Plan& plan_for(runtime::DeviceState& device, const Group& group);
  /// False if the group must be issued one by one.
  bool issue_fused(runtime::DeviceState& device, Group& group, Failures& failures);
  void issue_single(runtime::DeviceState& device, HeldLaunch& launch, Failures& failures);
  void issue_merged(runtime::DeviceState& device, HeldLaunch& launch, Failures& failures);
  void issue_parts(runtime::DeviceState& device, HeldLaunch& launch, Failures& failures);
  /// Whether a fused or merged kernel is still being built on the helper thread.
  bool is_compiling(const CompileJob& job);
  void count_issued(const HeldLaunch& launch) noexcept;
  void count_merges(const HeldLaunch& launch) noexcept;
  /// Notes that a launch, or each that it stands for, was not carried out.
  void note_failed(runtime::DeviceState& device, const HeldLaunch& launch, const Error& failure,
                   Failures& failures);
  void launch_single(runtime::DeviceState& device, HeldLaunch& launch);
  /// Takes at most so many groups out of the window: all of them if `most` is the largest number.
  void detach(runtime::DeviceState& device, std::size_t most);
  void recycle(const runtime::DeviceState& device);
  static void destroy(runtime::Storage* orphans) noexcept;
  void issue_device(runtime::DeviceState& device, Failures& failures);
  void flush_device(runtime::DeviceState& device, Failures& failures);
  static void throw_first(Failures failures);

  runtime::Core& core_;
  Settings settings_;
  Counters counters_;
  Explain explain_;
  FusedCache fused_cache_;
  EpilogueCache epilogue_cache_;
  Grants grants_;
  std::vector<std::unique_ptr<DeviceWindow>> windows_;  // by device ordinal
  std::atomic<bool> exiting_{false};
  BackgroundCompiler compiler_;  // the last: it ends before what it uses
};

/// Failures that a destructor met and nobody has seen (W21). Of the whole process: the runtime they
/// came from may be gone.
void keep_pending(std::vector<Error> failures) noexcept;
std::vector<Error> take_pending() noexcept;
void throw_kept();
/// Whether any are kept; changed with them.
inline constinit std::atomic<bool> failures_wait{false};
/// Throws what was kept, if anything.
inline void throw_pending() {
  if (failures_wait.load(std::memory_order_relaxed)) [[unlikely]]
    throw_kept();
}

/// `failure` with the kernel and launch site added where it has none (W59).
Error located(const Error& failure, const std::string& kernel, const std::source_location& where);

}  // namespace salvo::window
