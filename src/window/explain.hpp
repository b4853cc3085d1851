// Tells what the window did and why: as lines on stderr, and as data (W69).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/environment.hpp"
#include "runtime/trace.hpp"
#include "salvo/window.hpp"

namespace salvo::window {

/// Collects decisions. Cheap while nobody listens: `listening` is one relaxed load.
class Explain {
 public:
  /// `trace` gets each decision too; it may be null and outlives this.
  explicit Explain(runtime::ExplainFormat format, runtime::Trace* trace = nullptr)
      : format_(format), trace_(trace) {
    update();
  }

  bool listening() const noexcept { return listening_.load(std::memory_order_relaxed); }
  /// Prints a line the first time it is said, and keeps the decision if asked to.
  void say(Decision decision);

  void keep(std::size_t most);
  std::vector<Decision> kept() const;

  /// `salvo-explain twice OpenCL:0 window applied exact`
  static std::string text(const Decision& decision);
  static std::string json(const Decision& decision);

 private:
  void update() {
    listening_ = format_ != runtime::ExplainFormat::off || most_kept_ > 0 || trace_ != nullptr;
  }

  const runtime::ExplainFormat format_;
  runtime::Trace* const trace_;
  std::atomic<bool> listening_{false};
  mutable std::mutex lock_;
  std::size_t most_kept_ = 0;
  std::deque<Decision> kept_;
  std::set<std::string> said_;
};

}  // namespace salvo::window
