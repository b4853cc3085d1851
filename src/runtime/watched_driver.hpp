// A driver that notes what is asked of it and how long the device takes for each launch (R8, W70).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/trace.hpp"

namespace salvo::runtime {

/// Device time by kernel. Thread-safe.
class LaunchTimes {
 public:
  struct Entry {
    std::uint64_t launches = 0;
    double total_ms = 0;
  };
  void add(const std::string& kernel, double ms) {
    const std::lock_guard lock(lock_);
    Entry& entry = entries_[kernel];
    ++entry.launches;
    entry.total_ms += ms;
  }
  std::map<std::string, Entry> entries() const {
    const std::lock_guard lock(lock_);
    return entries_;
  }

 private:
  mutable std::mutex lock_;
  std::map<std::string, Entry> entries_;
};

/// Stands before a device's driver while someone watches it, so that nothing is paid otherwise. It
/// hands every call on, those that have a default included. Launches are timed by events around
/// them, which are looked at later: a launch is never waited for because it is watched, unless very
/// many are unfinished.
class WatchedDriver final : public DeviceDriver {
 public:
  /// `inner` outlives it; `trace` may be null.
  WatchedDriver(DeviceDriver& inner, std::string device, std::shared_ptr<Trace> trace);
  ~WatchedDriver() override;

  // The device's issue lock is held around these:
  /// Launches from here on are added to `times`, until it is removed. Throws Errc::unsupported if
  /// the backend has no events.
  void add(std::shared_ptr<LaunchTimes> times);
  void remove(const LaunchTimes& times);
  bool is_timing() const noexcept { return !times_.empty(); }
  /// Waits for the launches so far, and notes their times.
  void settle();

  const DeviceProperties& properties() const noexcept override { return inner_.properties(); }
  Buffer allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void release(Buffer buffer) noexcept override { inner_.release(buffer); }
  bool works_on_host_memory() const noexcept override { return inner_.works_on_host_memory(); }
  Program translate(const ir::Kernel& kernel, const TranslateOptions& options) const override;
  std::unique_ptr<Executable> build(const ir::Kernel& kernel, const Program& program,
                                    std::span<const std::byte> cached) override;
  std::uint32_t preferred_block(const Executable* executable) const override {
    return inner_.preferred_block(executable);
  }
  ParameterCost parameter_cost(const ir::Kernel& kernel) const override {
    return inner_.parameter_cost(kernel);
  }
  bool takes_repeats() const noexcept override { return inner_.takes_repeats(); }
  Queue& queue() noexcept override { return inner_.queue(); }
  void launch(Queue& queue, Executable& executable, const LaunchShape& shape,
              std::span<const Argument> arguments) override;
  void write(Queue& queue, Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override;
  void read(Queue& queue, void* target, Buffer from, std::size_t offset,
            std::size_t bytes) override;
  void copy(Queue& queue, Buffer to, std::size_t to_offset, Buffer from, std::size_t from_offset,
            std::size_t bytes) override;
  void submit(Queue& queue) override;
  void finish(Queue& queue) override;
  std::string build_identity() const override { return inner_.build_identity(); }
  CallCounts driver_calls() const override { return inner_.driver_calls(); }
  std::unique_ptr<Queue> make_queue(int priority) override;
  std::unique_ptr<Event> make_event() override { return inner_.make_event(); }
  void record(Queue& queue, Event& event) override { inner_.record(queue, event); }
  void wait(Queue& queue, Event& event) override { inner_.wait(queue, event); }
  void wait(Event& event) override;
  bool reached(Event& event) override { return inner_.reached(event); }
  double elapsed_ms(Event& first, Event& second) override {
    return inner_.elapsed_ms(first, second);
  }
  HostBlock allocate_host(std::size_t bytes) override { return inner_.allocate_host(bytes); }
  void release_host(HostBlock block) noexcept override { inner_.release_host(block); }
  HostBlock register_host(void* data, std::size_t bytes) override {
    return inner_.register_host(data, bytes);
  }
  void unregister_host(HostBlock block) noexcept override { inner_.unregister_host(block); }
  void write_async(Queue& queue, Buffer to, std::size_t offset, const HostBlock& from,
                   std::size_t from_offset, std::size_t bytes) override;
  void read_async(Queue& queue, const HostBlock& to, std::size_t to_offset, Buffer from,
                  std::size_t offset, std::size_t bytes) override;
  std::unique_ptr<Executable> build_source(const UserSource& source) override;
  bool copy_from(Queue& queue, Buffer to, std::size_t to_offset, DeviceDriver& source,
                 Queue& source_queue, Buffer from, std::size_t from_offset,
                 std::size_t bytes) override;
  Buffer adopt(std::uint64_t address, std::size_t bytes) override {
    return inner_.adopt(address, bytes);
  }
  std::unique_ptr<Queue> adopt_queue(std::uintptr_t native) override {
    return inner_.adopt_queue(native);
  }
  // Sequences are not replayed while each launch is watched.

 private:
  /// A launch whose time is yet to be looked at.
  struct Unfinished {
    std::string kernel;
    std::uint32_t stream = 0;
    std::unique_ptr<Event> first, last;
  };

  bool times_launches() const noexcept { return has_events_ && (trace_ || !times_.empty()); }
  std::unique_ptr<Event> spare_event();
  /// The moment on both clocks that device times are told from.
  void set_origin();
  void look_at_finished();
  void note_time(Unfinished& launch);
  std::uint32_t number_of(const Queue& queue);
  /// Notes on the host's timeline how long its scope took.
  TraceScope traced(std::string_view what, Queue& queue, std::optional<std::size_t> bytes = {});

  DeviceDriver& inner_;
  const std::string device_;
  const std::shared_ptr<Trace> trace_;
  bool has_events_ = true;
  std::vector<std::shared_ptr<LaunchTimes>> times_;
  std::deque<Unfinished> unfinished_;
  std::vector<std::unique_ptr<Event>> spare_events_;
  std::unique_ptr<Event> origin_;
  double origin_us_ = 0;
  std::map<const Queue*, std::uint32_t> streams_;
  std::uint32_t last_stream_ = 0;  // 0 is the default queue
};

}  // namespace salvo::runtime
