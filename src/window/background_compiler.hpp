// Builds kernels on a thread of its own, while their launches are issued in another form.
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "ir/hash.hpp"
#include "runtime/device_state.hpp"

namespace salvo::window {

/// A kernel to build for a device.
struct CompileJob {
  std::shared_ptr<runtime::DeviceState> device;
  std::shared_ptr<const void> owner;  // keeps what the pointers below name
  const ir::Kernel* kernel = nullptr;
  ir::Digest digest;
  runtime::TranslateOptions options;
  const runtime::Program* program = nullptr;  // null: not translated yet
};

/// The thread starts with the first job and lives until `stop`. Thread-safe.
class BackgroundCompiler {
 public:
  BackgroundCompiler() = default;
  ~BackgroundCompiler() { stop(); }
  BackgroundCompiler(const BackgroundCompiler&) = delete;
  BackgroundCompiler& operator=(const BackgroundCompiler&) = delete;

  /// Whether a build of it has ended, well or not: the device then has the kernel, or the caller
  /// meets the failure by asking for it. Otherwise it will be built, and the caller goes on.
  bool is_done(const CompileJob& job);
  /// Waits for the build that has begun and drops the others. From here on everything counts as
  /// done.
  void stop() noexcept;

 private:
  struct Key {
    std::uint32_t device = 0;
    std::uint32_t generation = 0;
    ir::Digest digest;
    bool device_contraction = false;
    std::uint64_t may_alias = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Queued {
    CompileJob job;
    Key key;
  };
  void work() noexcept;

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Queued> queue_;
  std::set<Key> asked_;  // queued, being built, or done
  std::set<Key> done_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace salvo::window
