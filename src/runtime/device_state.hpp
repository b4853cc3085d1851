// A device in use: its driver, the lock around it, its memory pool and its compiled kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ir/hash.hpp"
#include "runtime/backend.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/fork.hpp"
#include "runtime/held_work.hpp"
#include "runtime/launch_log.hpp"
#include "runtime/log.hpp"
#include "runtime/stream_order.hpp"
#include "runtime/trace.hpp"
#include "runtime/watched_driver.hpp"

namespace salvo::runtime {

/// What is done for a kernel's first launch on a device and skipped by a repeat (W71).
struct FirstLaunchCounts {
  std::atomic<std::uint64_t> capability_checks{0}, sources_generated{0}, compile_cache_keys{0};

  void reset() noexcept {
    for (auto* count : {&capability_checks, &sources_generated, &compile_cache_keys}) {
      count->store(0, std::memory_order_relaxed);
    }
  }
};

/// Shared by the runtime, the vectors on it and the launches for it; outlives its Runtime while any
/// of them lives.
class DeviceState : public std::enable_shared_from_this<DeviceState> {
 public:
  /// `backend` is kept alive as long as its device. `disk_cache` and `trace` may be null.
  DeviceState(std::shared_ptr<Backend> backend, std::unique_ptr<DeviceDriver> driver,
              std::string id, std::uint32_t ordinal, std::shared_ptr<DiskCache> disk_cache,
              std::shared_ptr<Trace> trace = nullptr);
  ~DeviceState();

  const std::string& id() const noexcept { return id_; }  // "OpenCL:0"
  const std::string& backend_name() const noexcept { return backend_name_; }
  /// Position of the backend in kBackends.
  std::size_t backend_index() const noexcept { return backend_index_; }
  bool is_jit() const noexcept { return backend_->is_jit(); }
  /// Position among all devices of the runtime; indexes per-device tables.
  std::uint32_t ordinal() const noexcept { return ordinal_; }
  /// Unique in the process and never used again, unlike an address (W71).
  std::uint32_t serial() const noexcept { return serial_; }
  const DeviceProperties& properties() const noexcept { return properties_; }
  DeviceDriver& driver() noexcept { return *watched_driver_.load(std::memory_order_relaxed); }
  /// The same, unseen by traces and measurements: for what the library does for itself (W53).
  DeviceDriver& unwatched_driver() noexcept { return *driver_; }
  /// Null while there is none.
  Trace* trace() const noexcept { return trace_.get(); }
  /// Adds the device time of each launch from here on to `times` (R8), until it is removed. They
  /// wait for what was launched before. The issue lock is held.
  void start_timing(std::shared_ptr<LaunchTimes> times);
  void stop_timing(const LaunchTimes& times);
  /// Waits until the times of all launches so far are noted. The issue lock is held.
  void settle_times();
  BufferPool& pool() noexcept { return pool_; }
  /// Guarded by the issue lock.
  StreamOrder& streams() noexcept { return streams_; }

  // What waits is asked of the device here, so that a failure names launches (W81). The issue lock
  // is held.
  LaunchLog& launches() noexcept { return launches_; }
  void read(void* target, Buffer from, std::size_t offset, std::size_t bytes);
  void finish(Queue& queue);
  void finish_all();

  /// Held around launches, copies and waits. Taken before any window or storage lock. What is
  /// logged meanwhile is told afterwards.
  QuietMutex& issue_lock() noexcept { return issue_lock_; }

  FirstLaunchCounts& first_launch_counts() noexcept { return first_launch_counts_; }
  /// The issue lock of a thread that launches, or changes what launches use. Launches keep their
  /// order: it waits while another thread has let go of the lock in the middle of one, to run what
  /// `on_scratch_drain` registered. Throws Errc::invalid_argument if that is this thread.
  class IssueTurn {
   public:
    explicit IssueTurn(DeviceState& device) : device_(device) {
      if (device.is_reclaiming()) [[unlikely]]
        refuse_reclaiming();
      device.issue_lock_.lock();
      if (device.reclaiming_.load(std::memory_order_relaxed) != std::thread::id()) [[unlikely]]
        device.wait_for_reclaimed();
    }
    ~IssueTurn() { device_.issue_lock_.unlock(); }
    IssueTurn(const IssueTurn&) = delete;
    IssueTurn& operator=(const IssueTurn&) = delete;

   private:
    [[noreturn]] static void refuse_reclaiming();

    DeviceState& device_;
  };
  /// Whether this thread is in what `on_scratch_drain` registered.
  bool is_reclaiming() const noexcept {
    return reclaiming_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  /// Makes ready for a launch whose threads spill more than `scratch_mark`, the most of that
  /// queue's launches so far: waits for the device, runs what `on_scratch_drain` registered and
  /// gives cached memory back, once for each new maximum (P7), because the driver is about to
  /// allocate scratch memory. An IssueTurn is held, and let go of meanwhile (W25); true if so.
  bool make_scratch(std::uint32_t& scratch_mark, const Executable& executable) {
    if (executable.spill_bytes_per_thread() <= scratch_mark) [[likely]]
      return false;
    grow_scratch(scratch_mark, executable.spill_bytes_per_thread());
    return true;
  }
  /// Launches on a queue, with scratch memory made. An IssueTurn is held.
  void launch(Queue& queue, std::uint32_t& scratch_mark, Executable& executable,
              const LaunchShape& shape, std::span<const Argument> arguments) {
    make_scratch(scratch_mark, executable);
    driver().launch(queue, executable, shape, arguments);
  }
  /// The mark of the default queue, guarded by the issue lock.
  std::uint32_t& scratch_mark() noexcept { return scratch_mark_; }
  /// Registers what else can free memory of the device. Called with the device idle and no lock
  /// held.
  void on_scratch_drain(std::function<void()> reclaim);
  /// Without draining the marks move all the same. Set before the first launch.
  void set_scratch_drain(bool drains) noexcept { drains_scratch_ = drains; }
  /// How often the device was drained.
  std::uint64_t scratch_drains() const noexcept {
    return scratch_drains_.load(std::memory_order_relaxed);
  }

  /// Source for the device compiler, counted.
  Program translate(const ir::Kernel& kernel, const TranslateOptions& options);

  /// The compiled form of a kernel, loaded from disk or built at its first use. Threads that want
  /// one kernel wait for one build of it; that a kernel does not compile is remembered and thrown
  /// again. `digest` is that of `kernel`. `program` is the kernel's, if the caller has translated
  /// it already.
  Executable& executable(const ir::Kernel& kernel, const ir::Digest& digest,
                         const TranslateOptions& options, const Program* program = nullptr);
  /// The same for source that a user brings (R9), by its content. It is kept alive by who uses it,
  /// because `clear_executables` forgets it.
  std::shared_ptr<Executable> executable(const UserSource& source);
  /// Lets the next use of a kernel that failed to build try again.
  void forget_failure(const ir::Digest& digest, const TranslateOptions& options);
  /// Drops compiled kernels, so that the next use builds anew. No launch may be in flight.
  void clear_executables();
  /// Grows with every clear_executables: pointers kept from before are dead.
  std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

  /// What the device's compiler makes of multiplies and adds. Measured at the first call, which
  /// takes the issue lock; where it fails, nothing is known and every count is 0.
  FloatProbe float_probe();
  /// For the program's exit (W61): waits for the device, and for builds of other threads, whose
  /// compilers would lose what they stand on. From here on nothing launches, and builds throw
  /// Errc::no_device.
  void close();
  /// An IssueTurn is held.
  void refuse_if_closed() const {
    if (closed_) [[unlikely]]
      throw_closed();
  }
  /// The same, without throwing.
  bool is_closed() const noexcept { return closed_; }

  /// Whether `float_probe` would measure.
  bool is_probed() const noexcept {
    return properties().exact_arithmetic || probed_.load(std::memory_order_acquire);
  }
  /// Of a probed device: the compiler contracts where it was told not to, or could not be asked.
  bool contracts_anyway() const noexcept {
    return !properties().exact_arithmetic && (!probe_.measured || probe_.contracted > 0);
  }

  /// Made before this process was forked: it must not be touched (W61).
  bool is_inherited() const noexcept { return fork_count() != made_in_; }

  HeldWork* held_work() const noexcept { return held_work_.load(std::memory_order_acquire); }
  void set_held_work(HeldWork* work) noexcept { held_work_.store(work, std::memory_order_release); }

 private:
  struct Key {
    ir::Digest digest;
    bool device_contraction;
    std::uint64_t may_alias;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Built {
    std::unique_ptr<Executable> executable;
    std::exception_ptr failure;
    std::thread::id builder{};  // a thread that builds it, without the lock; none: nobody
  };

  std::unique_ptr<Executable> load_or_build(const ir::Kernel& kernel, const Program& program,
                                            const TranslateOptions& options);
  CacheKey disk_key(const Program& program, const TranslateOptions& options);
  /// The probe's result from disk, or measured and then kept there (W53).
  FloatProbe probe();
  void grow_scratch(std::uint32_t& mark, std::uint32_t bytes);
  void reclaim_outside();
  /// Until the thread that let go of the issue lock for `reclaim_outside` has it again. It is held.
  void wait_for_reclaimed();
  [[noreturn]] static void throw_closed();
  /// After a wait: what ran for the first time may have made what is destroyed at exit (W61).
  void note_waited() noexcept {
    if (built_since_wait_.load(std::memory_order_relaxed)) renew_after_wait();
  }
  void renew_after_wait() noexcept;
  /// Waits until no other thread builds. build_lock_ is held; let go of meanwhile.
  void wait_for_builds(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<Backend> backend_;  // destroyed after the driver and what it made
  std::unique_ptr<DeviceDriver> driver_;
  std::shared_ptr<Trace> trace_;
  std::unique_ptr<WatchedDriver> watched_;     // made at the first need, guarded by issue_lock_
  std::atomic<DeviceDriver*> watched_driver_;  // driver_, or watched_ while someone watches
  const DeviceProperties& properties_;         // the driver's
  std::string id_;
  std::string backend_name_;
  std::size_t backend_index_;
  std::uint32_t ordinal_;
  std::uint32_t serial_;
  const std::uint32_t made_in_ = fork_count();
  BufferPool pool_;
  StreamOrder streams_;
  LaunchLog launches_;
  std::shared_ptr<DiskCache> disk_cache_;
  FirstLaunchCounts first_launch_counts_;
  QuietMutex issue_lock_;
  std::mutex build_lock_;
  std::condition_variable built_one_;
  bool closed_ = false;  // changed with the issue lock and build_lock_ held
  std::map<Key, Built> built_;
  std::map<std::vector<std::string>, std::shared_ptr<Executable>> sources_;
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<bool> built_since_wait_{false};
  FloatProbe probe_;  // constant once probed_ is set
  std::atomic<bool> probed_{false};
  std::atomic<HeldWork*> held_work_{nullptr};
  bool drains_scratch_ = true;
  std::uint32_t scratch_mark_ = 0;                 // guarded by the issue lock
  std::vector<std::function<void()>> reclaimers_;  // the same
  std::condition_variable_any reclaimed_;
  /// Who has let go of the issue lock to run them, or nobody; changed with the lock held.
  std::atomic<std::thread::id> reclaiming_{};
  std::atomic<std::uint64_t> scratch_drains_{0};
};

}  // namespace salvo::runtime
