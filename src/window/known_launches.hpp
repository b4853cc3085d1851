// Launches that ran at once: one like them is neither checked nor bound anew (P17).
// SPDX-License-Identifier: MIT
//
// A program that launches at once, because its window is off or the launch cannot be held, tends to
// launch the same over and over: the same kernel over the same range of the same vectors, with
// other scalars. What the checks of such a call said, and the memory it was bound to, is the same
// as before for as long as the vectors' copies on the device are.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "salvo/detail/storage.hpp"
#include "salvo/dims.hpp"
#include "window/hazards.hpp"
#include "window/kernel_record.hpp"

namespace salvo::window {

struct LaunchCall;

/// A launch that runs at once, bound to the device's memory.
struct BoundLaunch {
  struct Span {
    runtime::Storage* storage = nullptr;
    runtime::DeviceCopy* copy = nullptr;
    std::uint64_t copy_serial = 0;
    std::uint64_t byte_offset = 0;
    std::uint64_t length = 0;
    std::uint32_t parameter = 0;
    bool writes = false;
    bool overwritten = false;
    ByteRange bytes;
  };

  std::vector<runtime::Argument> arguments;
  std::vector<Span> spans;  // an empty vector has no storage
  bool may_alias = false;   // two of them overlap and one is written (W80)
  runtime::LaunchShape shape;
  runtime::Executable* executable = nullptr;
  // Whose it is. Nothing is kept alive: it is compared with what a call brings.
  std::uint64_t kernel_serial = 0;
  std::uint32_t generation = 0;  // the device's, when it was bound
  Dims dims;

  /// Binds the arguments of a call; false if one of them is not ready. The issue lock is held.
  bool bind(const LaunchCall& call);
  /// Whether a call that has the same key is the same launch, and its vectors are ready; if so, its
  /// scalars are taken over. The issue lock is held.
  bool take(const KernelRecord& kernel, const Dims& called,
            std::span<const detail::CallArgument> given,
            const runtime::DeviceState& device) noexcept;

 private:
  void take_live(const KernelRecord& kernel) noexcept;
};

/// Those of one device, a cache with two places for each key. Guarded by its issue lock but where
/// noted.
class KnownLaunches {
 public:
  /// Of a call, never 0; calls that differ have different ones, nearly always.
  static std::uint64_t key_of(const KernelRecord& kernel, const Dims& dims,
                              std::span<const detail::CallArgument> arguments) noexcept {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio: it spreads bits
    std::uint64_t key = (kernel.serial + static_cast<std::uint64_t>(dims.range())) * kOdd;
    for (const detail::CallArgument& given : arguments) {
      key = (key ^ (reinterpret_cast<std::uintptr_t>(given.storage) + given.byte_offset)) * kOdd;
    }
    return key | 1;
  }
  /// Whether `find` is worth taking the lock for. Any thread may ask, without it.
  bool has(std::uint64_t key) const noexcept {
    const Set& set = sets_[set_of(key)];
    return is(set, 0, key) || is(set, 1, key);
  }
  /// Null if other launches have taken its place.
  BoundLaunch* find(std::uint64_t key) noexcept {
    const Set& set = sets_[set_of(key)];
    if (is(set, 0, key)) return set.launches[0].get();
    return is(set, 1, key) ? set.launches[1].get() : nullptr;
  }
  /// A launch to bind, in the place of the older one. It is known once `keep` has its key.
  BoundLaunch& make_place(std::uint64_t key) {
    Set& set = sets_[set_of(key)];
    if (!is(set, 0, key)) {
      std::swap(set.launches[0], set.launches[1]);
      set.keys[1].store(set.keys[0].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    set.keys[0].store(0, std::memory_order_relaxed);
    if (!set.launches[0]) set.launches[0] = std::make_unique<BoundLaunch>();
    return *set.launches[0];
  }
  /// The launch that was bound last may be found from here on.
  void keep(std::uint64_t key) noexcept {
    sets_[set_of(key)].keys[0].store(key, std::memory_order_relaxed);
  }

 private:
  struct Set {
    std::array<std::atomic<std::uint64_t>, 2> keys{};  // 0: none
    std::array<std::unique_ptr<BoundLaunch>, 2> launches;
  };
  static bool is(const Set& set, std::size_t place, std::uint64_t key) noexcept {
    return set.keys[place].load(std::memory_order_relaxed) == key;
  }
  static std::size_t set_of(std::uint64_t key) noexcept { return key >> 56; }

  std::array<Set, 256> sets_;
};

}  // namespace salvo::window
