// Builds kernels on a thread of its own, while their launches are issued in another form.
// SPDX-License-Identifier: MIT
#include "window/background_compiler.hpp"

#include <exception>
#include <utility>

namespace salvo::window {

bool BackgroundCompiler::is_done(const CompileJob& job) {
  const Key key{job.device->serial(), job.device->generation(), job.digest,
                job.options.device_contraction, job.options.may_alias};
  const std::lock_guard lock(lock_);
  if (stopped_ || done_.contains(key)) return true;
  if (asked_.contains(key)) return false;
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  queue_.push_back({job, key});
  asked_.insert(key);
  changed_.notify_one();
  return false;
}

void BackgroundCompiler::work() noexcept {
  std::unique_lock lock(lock_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    if (stopped_) return;
    Queued next = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    try {
      next.job.device->executable(*next.job.kernel, next.job.digest, next.job.options,
                                  next.job.program);
    } catch (const std::exception&) {
      // Whoever issues the kernel next asks the device for it again, and is told there.
    }
    next.job = {};
    lock.lock();
    done_.insert(next.key);
  }
}

void BackgroundCompiler::stop() noexcept {
  {
    const std::lock_guard lock(lock_);
    stopped_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  // That thread may be the one that stops it: a log sink may end the program.
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace salvo::window
