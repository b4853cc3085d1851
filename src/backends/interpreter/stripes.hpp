// Locks on stretches of device memory, for blocks that run at the same time.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace salvo::backends::interpreter {

/// A mutex for each stretch of 1 KiB, shared by stretches of equal hash.
class Stripes {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  static std::uint32_t of(const void* allocation, std::uint64_t at) noexcept {
    const auto base = reinterpret_cast<std::uintptr_t>(allocation) >> 4;
    return static_cast<std::uint32_t>(((at >> 10) + base) % kCount);
  }
  std::mutex& operator[](std::uint32_t stripe) noexcept { return mutexes_[stripe]; }

 private:
  static constexpr std::uint32_t kCount = 256;
  std::array<std::mutex, kCount> mutexes_;
};

/// Holds the locks of one access and keeps them while the next ones need the same: neighbouring
/// threads mostly touch neighbouring bytes.
class StripeGuard {
 public:
  /// Without stripes nothing is ever locked.
  explicit StripeGuard(Stripes* stripes) noexcept : stripes_(stripes) {}
  ~StripeGuard() { release(); }
  StripeGuard(const StripeGuard&) = delete;
  StripeGuard& operator=(const StripeGuard&) = delete;

  void hold(const void* allocation, std::uint64_t at, std::uint32_t bytes) {
    if (stripes_ == nullptr) return;
    // An element that is not aligned may lie across two stretches; ascending order avoids deadlock.
    const auto [low, high] =
        std::minmax({Stripes::of(allocation, at), Stripes::of(allocation, at + bytes - 1)});
    if (low == low_ && high == high_) return;
    release();
    (*stripes_)[low].lock();
    low_ = low;
    if (high != low) (*stripes_)[high].lock();
    high_ = high;
  }

 private:
  void release() noexcept {
    if (low_ == Stripes::kNone) return;
    (*stripes_)[low_].unlock();
    if (high_ != low_ && high_ != Stripes::kNone) (*stripes_)[high_].unlock();
    low_ = high_ = Stripes::kNone;
  }

  Stripes* stripes_;
  std::uint32_t low_ = Stripes::kNone;
  std::uint32_t high_ = Stripes::kNone;
};

}  // namespace salvo::backends::interpreter
