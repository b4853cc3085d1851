// Queues that do their work only when something waits for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/backend.hpp"

namespace salvo::tests {

/// The work of one queue, in order; outlives the queue while an event points into it.
class LateWork {
 public:
  void push(std::function<void()> work) {
    pending_.push_back(std::move(work));
    ++given_;
  }
  std::uint64_t given() const noexcept { return given_; }
  std::uint64_t done() const noexcept { return given_ - pending_.size(); }
  void run() { run_to(given_); }
  /// Does the work up to the one that was given as number `position`.
  void run_to(std::uint64_t position) {
    while (done() < position) {
      const std::function<void()> next = std::move(pending_.front());
      pending_.pop_front();
      next();
    }
  }

 private:
  std::deque<std::function<void()>> pending_;
  std::uint64_t given_ = 0;
};

class LateQueue final : public runtime::Queue {
 public:
  explicit LateQueue(std::uint32_t number) : number_(number) {}
  std::uint32_t number() const noexcept { return number_; }
  const std::shared_ptr<LateWork>& work() const noexcept { return work_; }
  std::optional<Errc> failure;  // of a launch, told by the next wait

 private:
  std::uint32_t number_;
  std::shared_ptr<LateWork> work_ = std::make_shared<LateWork>();
};

/// What an event was when it was recorded.
struct LateMoment {
  std::shared_ptr<LateWork> work;
  std::uint64_t position = 0;
  std::uint64_t time = 0;  // once reached

  bool is_reached() const { return work->done() >= position; }
  void reach() { work->run_to(position); }
};

class LateEvent final : public runtime::Event {
 public:
  std::shared_ptr<LateMoment> moment;  // null until recorded
};

}  // namespace salvo::tests
