// Messages to the program's log sink, told while no lock is held (R12, W25).
// SPDX-License-Identifier: MIT
#include "runtime/log.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace salvo {
namespace {

struct Message {
  std::thread::id from;
  LogLevel level;
  std::string words;
};

/// Never destroyed: streams with static storage may have something to say at the very end.
struct Log {
  static Log& instance() {
    static Log& log = *new Log;
    return log;
  }

  std::shared_ptr<const LogSink> current() {
    const std::lock_guard lock(mutex);
    return sink;
  }

  std::atomic<bool> listening{false};
  std::mutex mutex;  // guards what follows
  std::shared_ptr<const LogSink> sink;
  std::vector<Message> waiting;
};

void tell(const LogSink& sink, LogLevel level, std::string_view words) noexcept {
  try {
    sink(level, words);
  } catch (...) {
    // The sink's own failure: the header says that it is dropped.
  }
}

}  // namespace

std::string_view name(LogLevel level) noexcept {
  return level == LogLevel::note ? "note" : "warning";
}

LogSink set_log_sink(LogSink sink) {
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  Log& log = Log::instance();
  const std::lock_guard lock(log.mutex);
  log.listening.store(next != nullptr, std::memory_order_relaxed);
  next.swap(log.sink);
  return next ? *next : LogSink();
}

namespace runtime {

constinit thread_local unsigned QuietMutex::held_ = 0;
constinit thread_local bool QuietMutex::waits_ = false;

bool is_logging() noexcept {
  return Log::instance().listening.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message) noexcept {
  if (!is_logging()) return;
  Log& log = Log::instance();
  if (QuietMutex::held_ == 0) {
    if (const auto sink = log.current()) tell(*sink, level, message);
    return;
  }
  try {
    Message waits{std::this_thread::get_id(), level, std::string(message)};
    const std::lock_guard lock(log.mutex);
    log.waiting.push_back(std::move(waits));
    QuietMutex::waits_ = true;
  } catch (const std::bad_alloc&) {
    // The header says that it is dropped.
  }
}

void QuietMutex::tell_waiting() noexcept {
  waits_ = false;
  Log& log = Log::instance();
  const auto sink = log.current();
  std::unique_lock lock(log.mutex);
  for (;;) {
    // One at a time: the sink may call Salvo, and so lead to another message of this thread.
    const auto first = std::ranges::find(log.waiting, std::this_thread::get_id(), &Message::from);
    if (first == log.waiting.end()) return;
    const Message message = std::move(*first);
    log.waiting.erase(first);
    lock.unlock();
    if (sink) tell(*sink, message.level, message.words);
    lock.lock();
  }
}

}  // namespace runtime
}  // namespace salvo
