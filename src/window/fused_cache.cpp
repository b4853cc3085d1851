// Fused kernels made so far, good and failed, by what they consist of.
// SPDX-License-Identifier: MIT
#include "window/fused_cache.hpp"

#include <utility>

namespace salvo::window {

std::shared_ptr<FusedKernel> FusedCache::find(const FusedKey& key) {
  const std::lock_guard lock(lock_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<FusedKernel> FusedCache::add(FusedKey key, ir::Kernel kernel) {
  auto made = std::make_shared<FusedKernel>();
  made->digest = ir::hash(kernel);
  made->kernel = std::move(kernel);
  const std::lock_guard lock(lock_);
  return entries_.try_emplace(std::move(key), std::move(made)).first->second;
}

void FusedCache::clear() {
  const std::lock_guard lock(lock_);
  entries_.clear();
}

}  // namespace salvo::window
