// A driver that notes what is asked of it and how long the device takes for each launch (R8, W70).
// SPDX-License-Identifier: MIT
#include "runtime/watched_driver.hpp"

#include <algorithm>
#include <utility>

namespace salvo::runtime {
namespace {

/// More unfinished launches than that are not kept: the oldest is waited for.
constexpr std::size_t kMostUnfinished = 4096;

}  // namespace

WatchedDriver::WatchedDriver(DeviceDriver& inner, std::string device, std::shared_ptr<Trace> trace)
    : inner_(inner), device_(std::move(device)), trace_(std::move(trace)) {
  try {
    spare_events_.push_back(inner_.make_event());
  } catch (const Error&) {
    has_events_ = false;  // a trace then shows the host's side alone
  }
}

WatchedDriver::~WatchedDriver() = default;

void WatchedDriver::add(std::shared_ptr<LaunchTimes> times) {
  if (!has_events_) spare_events_.push_back(inner_.make_event());  // throws what is missing
  settle();
  times_.push_back(std::move(times));
}

void WatchedDriver::remove(const LaunchTimes& times) {
  settle();
  std::erase_if(times_, [&](const auto& one) { return one.get() == &times; });
}

void WatchedDriver::settle() {
  while (!unfinished_.empty()) {
    note_time(unfinished_.front());
    unfinished_.pop_front();
  }
}

std::unique_ptr<Event> WatchedDriver::spare_event() {
  if (spare_events_.empty()) return inner_.make_event();
  std::unique_ptr<Event> event = std::move(spare_events_.back());
  spare_events_.pop_back();
  return event;
}

void WatchedDriver::set_origin() {
  if (origin_ || !trace_) return;
  origin_ = spare_event();
  inner_.record(inner_.queue(), *origin_);
  inner_.wait(*origin_);
  origin_us_ = trace_->microseconds(Trace::Clock::now());
}

void WatchedDriver::look_at_finished() {
  while (!unfinished_.empty() &&
         (unfinished_.size() > kMostUnfinished || inner_.reached(*unfinished_.front().last))) {
    note_time(unfinished_.front());
    unfinished_.pop_front();
  }
}

void WatchedDriver::note_time(Unfinished& launch) {
  try {
    const double ms = inner_.elapsed_ms(*launch.first, *launch.last);
    for (const auto& times : times_) times->add(launch.kernel, ms);
    if (trace_) {
      const double begin = origin_us_ + 1000 * inner_.elapsed_ms(*origin_, *launch.first);
      trace_->on_device({"run", launch.kernel, device_, launch.stream}, begin, 1000 * ms);
    }
  } catch (const Error&) {
    // A launch that failed on the device took no time; whoever waits for the queue is told why.
  }
  spare_events_.push_back(std::move(launch.first));
  spare_events_.push_back(std::move(launch.last));
}

std::uint32_t WatchedDriver::number_of(const Queue& queue) {
  if (&queue == &inner_.queue()) return 0;
  const auto [known, is_new] = streams_.try_emplace(&queue, last_stream_ + 1);
  if (is_new) ++last_stream_;
  return known->second;
}

TraceScope WatchedDriver::traced(std::string_view what, Queue& queue,
                                 std::optional<std::size_t> bytes) {
  return {trace_.get(), {what, "", device_, number_of(queue), bytes}};
}

Program WatchedDriver::translate(const ir::Kernel& kernel, const TranslateOptions& options) const {
  const TraceScope scope(trace_.get(), "translate", kernel.name, device_);
  return inner_.translate(kernel, options);
}

std::unique_ptr<Executable> WatchedDriver::build(const ir::Kernel& kernel, const Program& program,
                                                 std::span<const std::byte> cached) {
  const TraceScope scope(trace_.get(), cached.empty() ? "compile" : "load", kernel.name, device_);
  return inner_.build(kernel, program, cached);
}

std::unique_ptr<Executable> WatchedDriver::build_source(const UserSource& source) {
  const TraceScope scope(trace_.get(), "compile", source.entry, device_);
  return inner_.build_source(source);
}

void WatchedDriver::launch(Queue& queue, Executable& executable, const LaunchShape& shape,
                           std::span<const Argument> arguments) {
  const std::uint32_t stream = number_of(queue);
  const auto launch = [&] {
    const TraceScope scope(trace_.get(), {"launch", executable.name(), device_, stream});
    inner_.launch(queue, executable, shape, arguments);
  };
  if (!times_launches()) return launch();
  set_origin();
  Unfinished timed{executable.name(), stream, spare_event(), spare_event()};
  inner_.record(queue, *timed.first);
  launch();
  try {
    inner_.record(queue, *timed.last);
    unfinished_.push_back(std::move(timed));
    look_at_finished();
  } catch (const Error&) {
    // The launch was made: were it to seem failed, it would be made again. Its time is not known;
    // what ails the device is told by the next wait.
  }
}

void WatchedDriver::write(Queue& queue, Buffer to, std::size_t offset, const void* source,
                          std::size_t bytes) {
  const TraceScope scope = traced("write", queue, bytes);
  inner_.write(queue, to, offset, source, bytes);
}

void WatchedDriver::read(Queue& queue, void* target, Buffer from, std::size_t offset,
                         std::size_t bytes) {
  const TraceScope scope = traced("read", queue, bytes);
  inner_.read(queue, target, from, offset, bytes);
}

void WatchedDriver::copy(Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                         std::size_t from_offset, std::size_t bytes) {
  const TraceScope scope = traced("copy", queue, bytes);
  inner_.copy(queue, to, to_offset, from, from_offset, bytes);
}

bool WatchedDriver::copy_from(Queue& queue, Buffer to, std::size_t to_offset, DeviceDriver& source,
                              Queue& source_queue, Buffer from, std::size_t from_offset,
                              std::size_t bytes) {
  const TraceScope scope = traced("copy from another device", queue, bytes);
  return inner_.copy_from(queue, to, to_offset, source, source_queue, from, from_offset, bytes);
}

void WatchedDriver::write_async(Queue& queue, Buffer to, std::size_t offset, const HostBlock& from,
                                std::size_t from_offset, std::size_t bytes) {
  const TraceScope scope = traced("stage to device", queue, bytes);
  inner_.write_async(queue, to, offset, from, from_offset, bytes);
}

void WatchedDriver::read_async(Queue& queue, const HostBlock& to, std::size_t to_offset,
                               Buffer from, std::size_t offset, std::size_t bytes) {
  const TraceScope scope = traced("stage to host", queue, bytes);
  inner_.read_async(queue, to, to_offset, from, offset, bytes);
}

void WatchedDriver::submit(Queue& queue) {
  const TraceScope scope = traced("start", queue);
  inner_.submit(queue);
}

void WatchedDriver::finish(Queue& queue) {
  const TraceScope scope = traced("wait", queue);
  inner_.finish(queue);
}

std::unique_ptr<Queue> WatchedDriver::make_queue(int priority) {
  std::unique_ptr<Queue> queue = inner_.make_queue(priority);
  streams_.insert_or_assign(queue.get(), ++last_stream_);  // its address may have been another's
  return queue;
}

void WatchedDriver::wait(Event& event) {
  const TraceScope scope(trace_.get(), "wait", "", device_);
  inner_.wait(event);
}

}  // namespace salvo::runtime
