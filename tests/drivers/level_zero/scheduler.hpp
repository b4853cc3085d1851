// The stand-in driver's command lists: work is done when the host waits, in any order allowed.
// SPDX-License-Identifier: MIT
//
// Nothing runs when it is appended. A wait or a query runs what can run: a list that keeps order
// from its front, another from the back as far as the next barrier. So what a backend forgets to
// order, or to wait for, comes out wrong each time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace salvo::test::level_zero {

struct EventObject {
  bool is_set = false;
  std::uint64_t start = 0;  // nanoseconds
  std::uint64_t end = 0;
};

struct Command {
  std::function<bool()> work;  // false: it failed; null for a barrier
  std::vector<EventObject*> waits;
  EventObject* signal = nullptr;
};

struct ListObject {
  bool in_order = false;
  bool failed = false;  // a command did
  std::deque<Command> commands;
};

class Scheduler {
 public:
  static Scheduler& instance();

  void add(ListObject* list);
  /// Whether it was idle.
  bool remove(ListObject* list);
  void append(ListObject* list, Command command);

  enum class Outcome : std::uint8_t { done, busy, failed };
  /// Runs what can run, on all lists.
  Outcome wait(ListObject* list);
  Outcome wait(EventObject* event);
  void reset(EventObject* event);
  std::pair<std::uint64_t, std::uint64_t> times(const EventObject* event);

 private:
  static bool is_ready(const Command& command);
  void run(ListObject& list, std::size_t position);
  bool step(ListObject& list);
  void run_all();

  std::mutex mutex_;
  std::vector<ListObject*> lists_;
};

}  // namespace salvo::test::level_zero
