// A timeline of the run, written as a Chrome trace (W70).
// SPDX-License-Identifier: MIT
#include "runtime/trace.hpp"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <nlohmann/json.hpp>

#include "salvo/error.hpp"

namespace salvo::runtime {
namespace {

/// A small number a thread, for rows of the viewer.
std::uint32_t this_thread() noexcept {
  static std::atomic<std::uint32_t> last{0};
  thread_local const std::uint32_t number = ++last;
  return number;
}

nlohmann::json event_of(const TraceNote& note, const char* phase, double begin_us) {
  nlohmann::json arguments = nlohmann::json::object();
  if (!note.kernel.empty()) arguments["kernel"] = note.kernel;
  if (!note.device.empty()) arguments["device"] = note.device;
  if (note.stream) arguments["stream"] = *note.stream;
  if (note.bytes) arguments["bytes"] = *note.bytes;
  if (!note.words.empty()) arguments["words"] = note.words;
  return {{"name", note.what}, {"ph", phase}, {"ts", begin_us}, {"args", std::move(arguments)}};
}

std::string text_of(const nlohmann::json& event) {
  // Kernel names come from the program: what is not UTF-8 in them is replaced.
  return event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Trace::Trace(const std::string& path) : file_(path, std::ios::binary | std::ios::trunc) {
  if (!file_)
    throw Error(Errc::io, fmt::format("SALVO_TRACE={}: the trace cannot be written", path));
  file_ << "[\n";
  write(text_of({{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", "host"}}}}));
}

Trace::~Trace() {
  close();
}

double Trace::microseconds(Clock::time_point time) const {
  return std::chrono::duration<double, std::micro>(time - start_).count();
}

void Trace::write(const std::string& event) {
  if (!file_.is_open()) return;
  if (!first_) file_ << ",\n";
  first_ = false;
  file_ << event;
}

void Trace::span(const TraceNote& note, Clock::time_point begin) {
  nlohmann::json event = event_of(note, "X", microseconds(begin));
  event["dur"] = microseconds(Clock::now()) - microseconds(begin);
  event["pid"] = 0;
  event["tid"] = this_thread();
  const std::lock_guard lock(lock_);
  write(text_of(event));
}

void Trace::instant(const TraceNote& note) {
  nlohmann::json event = event_of(note, "i", microseconds(Clock::now()));
  event["s"] = "t";
  event["pid"] = 0;
  event["tid"] = this_thread();
  const std::lock_guard lock(lock_);
  write(text_of(event));
}

std::uint32_t Trace::process_of(std::string_view device) {
  const auto known = processes_.find(device);
  if (known != processes_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(processes_.size() + 1);
  processes_.emplace(device, number);
  write(text_of(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", number}, {"args", {{"name", device}}}}));
  return number;
}

void Trace::on_device(const TraceNote& note, double begin_us, double duration_us) {
  nlohmann::json event = event_of(note, "X", begin_us);
  event["dur"] = duration_us;
  event["tid"] = note.stream.value_or(0);
  const std::lock_guard lock(lock_);
  event["pid"] = process_of(note.device);
  write(text_of(event));
}

bool Trace::close() noexcept {
  const std::lock_guard lock(lock_);
  if (!file_.is_open()) return true;
  file_ << "\n]\n";
  file_.close();
  return !file_.fail();
}

void TraceScope::start(const TraceNote& note) noexcept {
  note_ = note;
  begin_ = Trace::Clock::now();
}

void TraceScope::end() noexcept {
  try {
    trace_->span(note_, begin_);
  } catch (const std::exception&) {
    // Without memory for a line of the trace the line is missing; the program goes on.
  }
}

}  // namespace salvo::runtime
