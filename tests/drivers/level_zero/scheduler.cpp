// The stand-in driver's command lists: work is done when the host waits, in any order allowed.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace salvo::test::level_zero {
namespace {

std::uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

Scheduler& Scheduler::instance() {
  static Scheduler& scheduler = *new Scheduler;
  return scheduler;
}

void Scheduler::add(ListObject* list) {
  const std::lock_guard lock(mutex_);
  lists_.push_back(list);
}

bool Scheduler::remove(ListObject* list) {
  const std::lock_guard lock(mutex_);
  std::erase(lists_, list);
  return list->commands.empty();
}

void Scheduler::append(ListObject* list, Command command) {
  const std::lock_guard lock(mutex_);
  list->commands.push_back(std::move(command));
}

bool Scheduler::is_ready(const Command& command) {
  return std::ranges::all_of(command.waits, [](const EventObject* event) { return event->is_set; });
}

void Scheduler::run(ListObject& list, std::size_t position) {
  const auto at = list.commands.begin() + static_cast<std::ptrdiff_t>(position);
  Command command = std::move(*at);
  list.commands.erase(at);
  const std::uint64_t start = now();
  if (command.work && !command.work()) list.failed = true;
  if (command.signal) *command.signal = {true, start, std::max(now(), start + 1)};
}

/// Runs one command, if one can run.
bool Scheduler::step(ListObject& list) {
  if (list.commands.empty()) return false;
  std::size_t end = 0;
  if (!list.in_order) {
    while (end < list.commands.size() && list.commands[end].work) ++end;
  }
  for (std::size_t i = end; i-- > 0;) {
    if (!is_ready(list.commands[i])) continue;
    run(list, i);
    return true;
  }
  // All before the barrier is done, or the list keeps order.
  if ((list.in_order || end == 0) && is_ready(list.commands.front())) {
    run(list, 0);
    return true;
  }
  return false;
}

void Scheduler::run_all() {
  for (bool again = true; again;) {
    again = false;
    for (ListObject* list : lists_) {
      while (step(*list)) again = true;
    }
  }
}

Scheduler::Outcome Scheduler::wait(ListObject* list) {
  const std::lock_guard lock(mutex_);
  run_all();
  if (!list->commands.empty()) return Outcome::busy;
  return std::exchange(list->failed, false) ? Outcome::failed : Outcome::done;
}

Scheduler::Outcome Scheduler::wait(EventObject* event) {
  const std::lock_guard lock(mutex_);
  run_all();
  return event->is_set ? Outcome::done : Outcome::busy;
}

void Scheduler::reset(EventObject* event) {
  const std::lock_guard lock(mutex_);
  *event = {};
}

std::pair<std::uint64_t, std::uint64_t> Scheduler::times(const EventObject* event) {
  const std::lock_guard lock(mutex_);
  return {event->start, event->end};
}

}  // namespace salvo::test::level_zero
