// Launches that no wait has seen the end of, so that a failure told later has their names (W81).
// SPDX-License-Identifier: MIT
#include "runtime/launch_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace salvo::runtime {
namespace {

/// Unfinished launches beyond that are not named one by one.
constexpr std::size_t kMostOpen = 256;
/// Whether a wait tells of what a launch did, and not of the wait itself.
bool tells_of_launches(const Error& failure) {
  return failure.details().may_have_started || failure.code() == Errc::launch_failed ||
         failure.code() == Errc::device_lost;
}

}  // namespace

void LaunchLog::make_room() {
  if (open_.empty()) {
    open_.resize(kMostOpen);
    return;
  }
  constexpr std::size_t kDropped = kMostOpen / 2;
  if (dropped_first_ == 0) dropped_first_ = open_.front().ticket;
  dropped_last_ = open_[kDropped - 1].ticket;
  std::rotate(open_.begin(), open_.begin() + kDropped, open_.begin() + kMostOpen);
  count_ -= kDropped;
}

void LaunchLog::done(const Queue* queue) noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!queue || open_[i].queue == queue) continue;
    open_[kept] = open_[i];
    ++kept;
  }
  count_ = kept;
  // Of which queue they were is not known: they are forgotten with all, or with the last one.
  if (kept == 0) dropped_first_ = dropped_last_ = 0;
}

Error LaunchLog::blame(const Error& failure, const Queue* queue) {
  if (!tells_of_launches(failure)) return failure;
  std::vector<Error> blamed;
  for (std::size_t i = 0; i < count_; ++i) {
    const Launch& launch = open_[i];
    if (queue && launch.queue != queue) continue;
    Error::Details details = failure.details();
    details.kernel = *launch.kernel;
    details.launch = SourceLocation::from(launch.where);
    details.may_have_started = true;
    blamed.emplace_back(std::move(details));
  }
  const std::size_t unnamed =
      dropped_first_ == 0 ? 0 : static_cast<std::size_t>(dropped_last_ - dropped_first_ + 1);
  if (blamed.empty() && unnamed == 0) return failure;
  if (blamed.size() + unnamed > 1) {
    const std::string words = fmt::format("; it was one of {} launches", blamed.size() + unnamed);
    for (Error& one : blamed) {
      Error::Details details = one.details();
      details.message += words;
      one = Error(std::move(details));
    }
  }
  if (unnamed > 0) losses_.push_back({dropped_first_, dropped_last_, failure});
  std::size_t which = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (queue && open_[i].queue != queue) continue;
    losses_.push_back({open_[i].ticket, open_[i].ticket, blamed[which++]});
  }
  std::ranges::sort(losses_, {}, &Loss::first);
  has_losses_.store(true, std::memory_order_release);
  done(queue);
  if (blamed.empty()) return failure;
  const Error first = blamed.front();
  blamed.erase(blamed.begin());
  return first.with_others(std::move(blamed));
}

const Error* LaunchLog::loss(std::uint64_t ticket) const noexcept {
  const auto after = std::ranges::upper_bound(losses_, ticket, {}, &Loss::first);
  if (after == losses_.begin()) return nullptr;
  const Loss& found = *(after - 1);
  return ticket <= found.last ? &found.error : nullptr;
}

}  // namespace salvo::runtime
