// A timeline of the run, written as a Chrome trace (W70).
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace salvo::runtime {

/// What happened, to what and where. Empty and unset members are left out of the file.
struct TraceNote {
  std::string_view what;    // "launch", "compile" ...
  std::string_view kernel;  // or kernels
  std::string_view device;  // "OpenCL:0"
  std::optional<std::uint32_t> stream{};
  std::optional<std::size_t> bytes{};
  std::string_view words{};
};

/// The file is a JSON array of events, one a line: viewers take it also when the program ended
/// before it was closed. The host is process 0, with its threads; each device is a process of its
/// own, with its streams. Times are microseconds since the trace began. Thread-safe.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws Errc::io if the file cannot be made.
  explicit Trace(const std::string& path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The calling thread was at it from `begin` until now.
  void span(const TraceNote& note, Clock::time_point begin);
  void instant(const TraceNote& note);
  /// The device named in the note was at it.
  void on_device(const TraceNote& note, double begin_us, double duration_us);
  double microseconds(Clock::time_point time) const;
  /// Ends the array; what is noted later is dropped. False if the file could not be written.
  bool close() noexcept;

 private:
  void write(const std::string& event);
  std::uint32_t process_of(std::string_view device);

  const Clock::time_point start_ = Clock::now();
  std::mutex lock_;
  std::ofstream file_;
  bool first_ = true;
  std::map<std::string, std::uint32_t, std::less<>> processes_;
};

/// Notes how long its scope took. Costs a test while there is no trace.
class TraceScope {
 public:
  /// What the note names outlives the scope.
  TraceScope(Trace* trace, const TraceNote& note) noexcept : trace_(trace) {
    if (trace_) start(note);
  }
  TraceScope(Trace* trace, std::string_view what, std::string_view kernel,
             std::string_view device) noexcept
      : trace_(trace) {
    if (trace_) start({what, kernel, device});
  }
  ~TraceScope() {
    if (trace_) end();
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  void start(const TraceNote& note) noexcept;
  void end() noexcept;

  Trace* trace_;
  TraceNote note_;
  Trace::Clock::time_point begin_;
};

}  // namespace salvo::runtime
