// Submits batches in order, full ones from a thread of its own: no launch waits for the driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "backends/vulkan/vulkan_progress.hpp"

namespace salvo::backends::vulkan {

/// A queue and what is still to be submitted to it. `give`, `wake` and `flush` are called by one
/// thread at a time, the recorder's; whoever finds the queue free submits the next batch.
class Submitter {
 public:
  /// The driver refused a batch; nothing has been submitted since.
  struct Failure {
    VkResult status;
    const char* operation;
    std::uint64_t serial;
  };

  /// Without a thread, `wake` submits.
  Submitter(const DeviceApi& api, VkQueue queue, Progress& progress, bool has_thread);
  /// What is pending is dropped.
  ~Submitter();
  Submitter(const Submitter&) = delete;
  Submitter& operator=(const Submitter&) = delete;

  /// A recorded batch becomes pending: its commands are ended and submitted by someone.
  void give(VkCommandBuffer commands, std::uint64_t serial);
  /// The thread submits what is pending.
  void wake();
  /// Returns when nothing is pending. The caller submits too, so that none waits for a thread to
  /// wake up.
  void flush();

  /// Set once a submission failed. Batches given since are dropped, for the commands of a batch
  /// rely on the barriers of those before it.
  std::optional<Failure> failure() const;
  /// The recorder has given up what was dropped.
  void go_on();

 private:
  struct Submission {
    VkCommandBuffer commands;
    std::uint64_t serial;
  };

  bool submit_next();
  void run();

  const DeviceApi& api_;
  const VkQueue queue_;
  Progress& progress_;
  bool has_thread_;

  std::mutex submitting_;     // held around a driver call; taken before the other
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable given_;
  std::vector<Submission> pending_;
  std::size_t first_ = 0;  // in pending_
  std::optional<Failure> failure_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace salvo::backends::vulkan
