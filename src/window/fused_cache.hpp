// Fused kernels made so far, good and failed, by what they consist of.
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/hash.hpp"
#include "ir/kernel.hpp"
#include "runtime/backend.hpp"

namespace salvo::window {

/// What a fused kernel is: bodies in canonical order with their table sizes. No size, pointer or
/// scalar of a launch is part of it.
struct FusedKey {
  struct Body {
    ir::Digest digest;
    std::uint32_t slots = 1;
    friend auto operator<=>(const Body&, const Body&) = default;
  };
  std::uint32_t device_serial = 0;
  bool may_alias = false;
  bool device_contraction = false;
  std::vector<Body> bodies;
  friend auto operator<=>(const FusedKey&, const FusedKey&) = default;
};

struct FusedKernel {
  ir::Kernel kernel;
  ir::Digest digest;
  /// Set at first issue, guarded by the device's issue lock; dead once the generation moved on.
  runtime::Executable* executable = nullptr;
  std::uint32_t generation = 0;
  bool failed = false;  // never tried again until the cache is cleared (W62)
};

/// Thread-safe. Entries stay valid while someone holds them, also after `clear`.
class FusedCache {
 public:
  /// The entry for `key`; null if there is none.
  std::shared_ptr<FusedKernel> find(const FusedKey& key);
  std::shared_ptr<FusedKernel> add(FusedKey key, ir::Kernel kernel);
  void clear();

 private:
  std::mutex lock_;
  std::map<FusedKey, std::shared_ptr<FusedKernel>> entries_;
};

}  // namespace salvo::window
