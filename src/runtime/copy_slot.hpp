// Which device has a copy of a storage, and the copy, for threads that hold none of its locks.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace salvo::runtime {

/// Writers take turns by a lock of their own; readers need none. `Atomic` is another only in tests,
/// which look between any two stores.
template <typename Copy, template <typename> class Atomic = std::atomic>
class CopySlot {
 public:
  Copy* get() const noexcept { return copy_.load(std::memory_order_acquire); }
  /// The serial of the device that has it; 0: none has.
  std::uint32_t device() const noexcept { return device_.load(std::memory_order_acquire); }
  /// The copy if it is this device's, null otherwise.
  Copy* on(std::uint32_t device_serial) const noexcept {
    return device() == device_serial ? get() : nullptr;
  }

  /// Puts a copy in the place of what was there. In this order: who sees the device sees its copy.
  /// A thread that launches on the new device holds no lock of the one that had a copy before.
  void publish(Copy* copy, std::uint32_t device_serial) noexcept {
    copy_.store(copy, std::memory_order_release);
    device_.store(device_serial, std::memory_order_release);
  }
  void clear() noexcept {
    device_.store(0, std::memory_order_release);
    copy_.store(nullptr, std::memory_order_release);
  }

 private:
  Atomic<Copy*> copy_{nullptr};
  Atomic<std::uint32_t> device_{0};
};

}  // namespace salvo::runtime
