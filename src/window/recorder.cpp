// Writes down how the launches of a window were placed, once its beginning has been seen before.
// SPDX-License-Identifier: MIT
#include "window/recorder.hpp"

#include <algorithm>

namespace salvo::window {
namespace {

/// Longer windows are not written down: their groups would be kept until they end.
constexpr std::size_t kMostSteps = 4096;
constexpr std::uint32_t kMostPaused = 1024;
/// Before a window that goes on is ended where it began.
constexpr std::uint32_t kIssuedAtLeast = 8;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value) * 0x9E3779B97F4A7C15ULL;
}

}  // namespace

void Recorder::reserve() {
  if (steps_.size() == steps_.capacity()) {
    steps_.reserve(std::max<std::size_t>(16, 2 * steps_.size()));
  }
  if (issued_.size() == issued_.capacity()) {
    issued_.reserve(std::max<std::size_t>(8, 2 * issued_.size()));
  }
}

bool Recorder::meet(const HeldLaunch& launch) noexcept {
  if (open_ && (issued_count_ < kIssuedAtLeast || launch.kernel->serial != first_kernel_)) {
    return false;
  }
  std::uint64_t met = mixed(launch.kernel->serial, launch.shape.grid[0]);
  for (const Access& access : launch.accesses) {
    met = mixed(met, reinterpret_cast<std::uintptr_t>(access.storage));
  }
  if (open_) return met == first_;
  first_kernel_ = launch.kernel->serial;
  first_ = met;
  return false;
}

bool Recorder::begins_as_before() noexcept {
  if (std::ranges::find(firsts_, first_) != firsts_.end()) return true;
  firsts_[oldest_] = first_;
  oldest_ = (oldest_ + 1) % firsts_.size();
  return false;
}

void Recorder::add(std::uint64_t kernel_serial, const Dims& dims, Reason refused_epilogue,
                   Reason refused_horizontal, bool batched) noexcept {
  if (!open_) {
    open_ = true;
    on_ = begins_as_before();
    if (on_ && paused_ < pause_) {
      ++paused_;
      on_ = false;
    }
  }
  if (!on_) return;
  Step& step = steps_.emplace_back();
  step.kernel_serial = kernel_serial;
  step.dims = dims;
  step.refused_epilogue = refused_epilogue;
  step.refused_horizontal = refused_horizontal;
  step.batched = batched;
  step.issued_before = issued_count_;
  if (steps_.size() > kMostSteps) on_ = false;
}

bool Recorder::note_issued() noexcept {
  ++issued_count_;
  return on_;
}

std::vector<std::unique_ptr<Group>> Recorder::give_up() noexcept {
  on_ = false;
  steps_.clear();
  issued_count_ = 0;
  return take_issued();
}

std::vector<std::unique_ptr<Group>> Recorder::discourage() noexcept {
  pause_ = std::min(2 * pause_ + 4, kMostPaused);
  paused_ = 0;
  open_ = true;
  return give_up();
}

bool Recorder::end() noexcept {
  open_ = false;
  issued_count_ = 0;
  const bool whole = std::exchange(on_, false) && !steps_.empty();
  if (!whole) steps_.clear();
  return whole;
}

}  // namespace salvo::window
