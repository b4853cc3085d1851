// Compiled kernels kept on disk: what a program may ask about them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace salvo {

/// Look-ups of compiled kernels on disk, which are hits + misses + rejected, and what was stored.
struct DiskCacheCounts {
  std::uint64_t hits = 0;    // loaded instead of compiled
  std::uint64_t misses = 0;  // not there
  std::uint64_t rejected =
      0;  // there, but damaged, made for something else or refused by the driver
  std::uint64_t stored = 0;
  std::uint64_t unwritable = 0;  // could not be stored: read-only or full disk
  std::uint64_t evicted = 0;     // removed, least recently used first, to stay under the limit
  friend bool operator==(const DiskCacheCounts&, const DiskCacheCounts&) = default;
};

/// The disk cache of a runtime (W73).
struct DiskCacheReport {
  bool enabled = false;
  std::string folder;             // empty: no place for one was found or given
  std::uint64_t entries = 0;      // on disk now
  std::uint64_t bytes = 0;        // that they take
  std::uint64_t limit_bytes = 0;  // that they may take
  DiskCacheCounts this_runtime;
  DiskCacheCounts lifetime;  // of every process, since the cache was cleared
};

}  // namespace salvo
