// The stand-in driver's knobs, counters and log.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "drivers/level_zero/control.hpp"

namespace salvo::test::level_zero {

class State final : public Control {
 public:
  static State& instance();

  Knobs& knobs() override { return knobs_; }
  std::uint64_t calls(std::string_view function) const override;
  std::uint64_t calls() const override;
  void start_log() override;
  std::vector<std::string> stop_log() override;
  std::vector<std::string> misuse() const override;
  std::int64_t objects() const override { return objects_.load(); }

  /// To be called first by each function of the driver.
  void note_call(const char* function);
  void note_misuse(std::string what);
  void note_object(int change) { objects_ += change; }
  void note_failed_init() { init_failed_ = true; }

 private:
  State();

  Knobs knobs_;
  mutable std::mutex mutex_;
  std::map<std::string, std::atomic<std::uint64_t>, std::less<>> counts_;
  std::atomic<bool> logging_{false};
  std::vector<std::string> log_;
  std::vector<std::string> misuse_;
  std::atomic<std::int64_t> objects_{0};
  std::atomic<bool> init_failed_{false};
};

}  // namespace salvo::test::level_zero
