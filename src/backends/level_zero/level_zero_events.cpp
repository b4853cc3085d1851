// Points in command lists, which Level Zero calls events, kept for reuse.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_events.hpp"

#include <new>

#include "backends/level_zero/level_zero_error.hpp"

namespace salvo::backends::level_zero {
namespace {

constexpr std::uint32_t kPoolSize = 64;

}  // namespace

Signal::~Signal() {
  from_.give_back(handle_);
}

Signals::~Signals() {
  for (ze::Event event : all_) api_.EventDestroy(event);
  for (ze::EventPool pool : pools_) api_.EventPoolDestroy(pool);
}

void Signals::abandon() noexcept {
  const std::lock_guard lock(mutex_);
  all_.clear();
  pools_.clear();
  returned_.clear();
}

std::shared_ptr<Signal> Signals::take() {
  const std::lock_guard lock(mutex_);
  ze::Event event = reused();
  if (!event) event = made();
  return std::make_shared<Signal>(*this, event);
}

ze::Event Signals::reused() {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries && !returned_.empty(); ++i) {
    ze::Event oldest = returned_.front();
    returned_.pop_front();
    if (api_.EventQueryStatus(oldest) == ze::Result::success &&
        api_.EventHostReset(oldest) == ze::Result::success) {
      return oldest;
    }
    returned_.push_back(oldest);
  }
  return nullptr;
}

ze::Event Signals::made() {
  if (pools_.empty() || next_in_pool_ == kPoolSize) {
    ze::EventPoolDesc desc;
    desc.flags = ze::kPoolHostVisible | ze::kPoolKernelTimestamp;
    desc.count = kPoolSize;
    ze::Device device = device_;
    ze::EventPool pool = nullptr;
    check(api_.EventPoolCreate(context_, &desc, 1, &device, &pool), "zeEventPoolCreate",
          Errc::out_of_memory);
    pools_.push_back(pool);
    next_in_pool_ = 0;
  }
  ze::EventDesc desc;
  desc.index = next_in_pool_;
  desc.signal = ze::kScopeHost;
  desc.wait = ze::kScopeHost;
  all_.reserve(all_.size() + 1);
  ze::Event event = nullptr;
  check(api_.EventCreate(pools_.back(), &desc, &event), "zeEventCreate", Errc::out_of_memory);
  all_.push_back(event);
  ++next_in_pool_;
  return event;
}

void Signals::give_back(ze::Event event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    returned_.push_back(event);
  } catch (const std::bad_alloc&) {
    // It is destroyed with all others, and not used again until then.
  }
}

}  // namespace salvo::backends::level_zero
