// Compiled kernels kept on disk, for all backends and any number of processes at once (W73).
// SPDX-License-Identifier: MIT
//
// A folder with a file an entry. Files appear whole, by renaming, and are never changed, so readers
// need no lock. Nothing here fails a program: what cannot be read is compiled, what cannot be
// written is not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/cache_entry.hpp"
#include "salvo/disk_cache.hpp"

namespace salvo::runtime {

/// Thread-safe. The folder is made when the first entry is stored.
class DiskCache {
 public:
  DiskCache(std::filesystem::path folder, std::uint64_t limit_bytes);

  struct Found {
    CacheLookup result = CacheLookup::absent;
    std::vector<std::byte> binary;  // never empty if found
  };
  /// An entry that is there but not good is removed. Every `found` is followed by `accept` or
  /// `refuse`, when the driver has loaded the binary or not.
  Found find(const CacheKey& key) noexcept;
  /// Counts the hit and makes the entry the last to be evicted.
  void accept(const CacheKey& key) noexcept;
  void refuse(const CacheKey& key) noexcept;

  /// Keeps `binary`, replacing what is there; an empty one is not kept. Evicts if need be.
  void store(const CacheKey& key, std::span<const std::byte> binary) noexcept;

  /// Removes entries, what crashed writers left, and the counts of all processes. Other files in
  /// the folder stay. Throws Errc::io, naming what could not be removed.
  void clear();

  const std::filesystem::path& folder() const noexcept { return folder_; }
  DiskCacheCounts counts() const noexcept;
  DiskCacheReport report() const;

 private:
  struct Listing;
  std::filesystem::path path_of(const CacheKey& key) const;
  void count(std::uint64_t DiskCacheCounts::*which, std::uint64_t more = 1) noexcept;
  void make_room(std::uint64_t added);

  const std::filesystem::path folder_;
  const std::uint64_t limit_bytes_;
  mutable std::mutex lock_;
  DiskCacheCounts counts_;
  DiskCacheCounts unsaved_;        // not yet added to those of all processes
  std::uint64_t known_bytes_ = 0;  // at the latest listing, and what was stored since
  std::uint64_t until_listing_ = 0;
};

}  // namespace salvo::runtime
