// Submits batches in order, full ones from a thread of its own: no launch waits for the driver.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_submitter.hpp"

#include <system_error>

namespace salvo::backends::vulkan {

Submitter::Submitter(const DeviceApi& api, VkQueue queue, Progress& progress, bool has_thread)
    : api_(api), queue_(queue), progress_(progress), has_thread_(has_thread) {}

Submitter::~Submitter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  given_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Submitter::give(VkCommandBuffer commands, std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  pending_.push_back({commands, serial});
}

void Submitter::wake() {
  if (has_thread_ && !thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // A process that may have no more threads does without.
      has_thread_ = false;
    }
  }
  if (!has_thread_) return flush();
  given_.notify_one();
}

void Submitter::flush() {
  while (submit_next()) {
  }
}

bool Submitter::submit_next() {
  const std::lock_guard in_order(submitting_);
  Submission next{};
  {
    const std::lock_guard lock(mutex_);
    if (failure_ || first_ == pending_.size()) {
      pending_.clear();
      first_ = 0;
      return false;
    }
    next = pending_[first_++];
  }
  const char* operation = "vkEndCommandBuffer";
  VkResult status = api_.EndCommandBuffer(next.commands);
  if (status == VK_SUCCESS) {
    operation = "vkQueueSubmit";
    status = progress_.submit(queue_, next.commands, next.serial);
  }
  if (status != VK_SUCCESS) {
    const std::lock_guard lock(mutex_);
    failure_ = Failure{status, operation, next.serial};
  }
  return true;
}

void Submitter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    given_.wait(lock, [&] { return stopping_ || first_ != pending_.size(); });
    if (stopping_) return;
    lock.unlock();
    submit_next();
    lock.lock();
  }
}

std::optional<Submitter::Failure> Submitter::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Submitter::go_on() {
  const std::lock_guard lock(mutex_);
  failure_.reset();
}

}  // namespace salvo::backends::vulkan
