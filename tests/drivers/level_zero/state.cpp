// The stand-in driver's knobs, counters and log.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/state.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace salvo::test::level_zero {
namespace {

/// Sets knobs from "name=value,name=value"; a mistake ends the process, as a test's own would.
void apply(Knobs& knobs, std::string_view words) {
  const auto number = [](std::string_view text) {
    return static_cast<std::uint32_t>(std::strtoul(std::string(text).c_str(), nullptr, 10));
  };
  const std::map<std::string_view, std::function<void(std::string_view)>> known{
      {"api",
       [&](std::string_view v) {
         const std::size_t dot = v.find('.');
         knobs.api_version = number(v.substr(0, dot)) << 16 | number(v.substr(dot + 1));
       }},
      {"extensions", [&](std::string_view v) { knobs.extensions = number(v); }},
      {"max_group_extension", [&](std::string_view v) { knobs.lists_max_group_size = v != "0"; }},
      {"addresses", [&](std::string_view v) { knobs.has_function_addresses = v != "0"; }},
      {"host_synchronize", [&](std::string_view v) { knobs.has_host_synchronize = v != "0"; }},
      {"launch_with_arguments",
       [&](std::string_view v) { knobs.has_launch_with_arguments = v != "0"; }},
      {"init", [&](std::string_view v) { knobs.init_fails = v == "0"; }},
      {"integrated", [&](std::string_view v) { knobs.integrated = v != "0"; }},
      {"device_group", [&](std::string_view v) { knobs.max_group_size = number(v); }},
      {"subgroups", [&](std::string_view v) { knobs.has_subgroups = v != "0"; }},
      {"kernel_group", [&](std::string_view v) { knobs.kernel_group_size = number(v); }},
      {"spill", [&](std::string_view v) { knobs.spill_bytes = number(v); }},
      {"memory", [&](std::string_view v) { knobs.out_of_memory = v == "0"; }},
      {"busy", [&](std::string_view v) { knobs.busy = v != "0"; }},
  };
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    const auto found = known.find(word.substr(0, equals));
    if (found == known.end() || equals == std::string_view::npos) {
      std::fprintf(stderr, "SALVO_TEST_LEVEL_ZERO: '%s' is not understood\n",
                   std::string(word).c_str());
      std::abort();
    }
    found->second(word.substr(equals + 1));
  }
}

}  // namespace

State& State::instance() {
  // Never destroyed: the loader calls drivers until the very end of the process.
  static State& state = *new State;
  return state;
}

State::State() {
  if (const char* words = std::getenv("SALVO_TEST_LEVEL_ZERO")) apply(knobs_, words);
}

void State::note_call(const char* function) {
  if (init_failed_) {
    std::fprintf(stderr, "%s was called after zeInit had failed\n", function);
    std::abort();
  }
  // Taken in turn by all threads only while a log is kept or a name is new: a lock at each call
  // would hide from a race detector what the calls race for.
  // Without a destructor, because drivers are called until the process ends.
  struct Known {
    const char* function;
    std::atomic<std::uint64_t>* count;
  };
  constexpr std::size_t kMost = 128;  // functions; the driver has half as many
  thread_local Known mine[kMost];
  std::size_t at = 0;
  while (mine[at].function && mine[at].function != function) ++at;
  mine[at].function = function;
  std::atomic<std::uint64_t>*& count = mine[at].count;
  if (!count) {
    const std::lock_guard lock(mutex_);
    count = &counts_[function];
  }
  count->fetch_add(1, std::memory_order_relaxed);
  if (!logging_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  log_.emplace_back(function);
}

void State::note_misuse(std::string what) {
  const std::lock_guard lock(mutex_);
  misuse_.push_back(std::move(what));
}

std::uint64_t State::calls(std::string_view function) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(function);
  return found == counts_.end() ? 0 : found->second.load();
}

std::uint64_t State::calls() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [function, count] : counts_) sum += count.load();
  return sum;
}

void State::start_log() {
  const std::lock_guard lock(mutex_);
  log_.clear();
  logging_ = true;
}

std::vector<std::string> State::stop_log() {
  const std::lock_guard lock(mutex_);
  logging_ = false;
  return std::move(log_);
}

std::vector<std::string> State::misuse() const {
  const std::lock_guard lock(mutex_);
  return misuse_;
}

}  // namespace salvo::test::level_zero

extern "C" __attribute__((visibility("default"))) salvo::test::level_zero::Control*
salvo_test_level_zero();
salvo::test::level_zero::Control* salvo_test_level_zero() {
  return &salvo::test::level_zero::State::instance();
}
