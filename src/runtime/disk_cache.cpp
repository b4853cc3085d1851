// Compiled kernels kept on disk, for all backends and any number of processes at once (W73).
// SPDX-License-Identifier: MIT
#include "runtime/disk_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/cache_files.hpp"
#include "runtime/log.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEntrySuffix = ".salvo";
constexpr std::string_view kCountsName = "counts.salvo";
constexpr std::size_t kNameDigits = 32;
/// Stores between two looks at what other processes have added.
constexpr std::uint64_t kStoresPerListing = 32;
/// A temporary file this old has no living writer.
constexpr auto kTemporaryLife = std::chrono::hours(1);

/// Whether a file's name is one that this cache gives: it may live in a folder with other things.
bool is_named_by_cache(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() > kNameDigits && name.find_first_not_of("0123456789abcdef") == kNameDigits &&
         std::string_view(name).substr(kNameDigits).starts_with(kEntrySuffix);
}

bool remove_file(const fs::path& path) noexcept {
  std::error_code failed;
  return fs::remove(path, failed);
}

}  // namespace

struct DiskCache::Listing {
  struct File {
    fs::path path;
    std::uint64_t bytes = 0;
    fs::file_time_type used;
  };
  std::vector<File> entries;
  std::vector<File> temporaries;
  std::uint64_t bytes = 0;  // of the entries

  /// What is there; files that go away meanwhile are left out.
  explicit Listing(const fs::path& folder) {
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (!is_named_by_cache(at->path())) continue;
      std::error_code gone;
      File file{at->path(), at->file_size(gone), {}};
      if (!gone) file.used = at->last_write_time(gone);
      if (gone) continue;
      const bool temporary = is_temporary(file.path);
      if (!temporary) bytes += file.bytes;
      (temporary ? temporaries : entries).push_back(std::move(file));
    }
  }
};

DiskCache::DiskCache(fs::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

fs::path DiskCache::path_of(const CacheKey& key) const {
  return folder_ / (entry_name(key) + std::string(kEntrySuffix));
}

DiskCache::Found DiskCache::find(const CacheKey& key) noexcept {
  Found found;
  try {
    const fs::path path = path_of(key);
    const ReadFile file = read_file(path, limit_bytes_);
    if (file.state == ReadFile::State::absent) {
      count(&DiskCacheCounts::misses);
      return found;
    }
    found.result = CacheLookup::unreadable;
    if (file.state == ReadFile::State::read) {
      const DecodedEntry entry = decode_entry(key, file.bytes);
      found.result = entry.result;
      found.binary.assign(entry.binary.begin(), entry.binary.end());
      if (found.result == CacheLookup::found && found.binary.empty()) {
        found.result = CacheLookup::corrupt;
      }
    }
    if (found.result != CacheLookup::found) {
      remove_file(path);
      count(&DiskCacheCounts::rejected);
    }
  } catch (const std::exception&) {
    // No memory for a copy of the entry: it is compiled instead.
    found = {CacheLookup::unreadable, {}};
    count(&DiskCacheCounts::rejected);
  }
  return found;
}

void DiskCache::accept(const CacheKey& key) noexcept {
  count(&DiskCacheCounts::hits);
  try {
    touch_file(path_of(key));
  } catch (const std::exception&) {
    // No memory for a path: the entry only seems older than it is.
  }
}

void DiskCache::refuse(const CacheKey& key) noexcept {
  count(&DiskCacheCounts::rejected);
  try {
    remove_file(path_of(key));
  } catch (const std::exception&) {
    // No memory for a path: the entry is replaced when the kernel has been compiled.
  }
}

void DiskCache::store(const CacheKey& key, std::span<const std::byte> binary) noexcept {
  if (binary.empty()) return;
  try {
    const std::vector<std::byte> file = encode_entry(key, binary);
    if (file.size() > limit_bytes_) return;
    if (!write_file_atomically(path_of(key), file)) {
      if (counts().unwritable == 0 && is_logging()) {
        log(LogLevel::warning,
            fmt::format("compiled kernels cannot be kept in {}", folder_.string()));
      }
      count(&DiskCacheCounts::unwritable);
      return;
    }
    count(&DiskCacheCounts::stored);
    make_room(file.size());
  } catch (const std::exception&) {
    // No memory for the file's bytes, or no source of random names.
    count(&DiskCacheCounts::unwritable);
  }
}

void DiskCache::make_room(std::uint64_t added) {
  {
    const std::lock_guard lock(lock_);
    known_bytes_ += added;
    if (until_listing_ > 0 && known_bytes_ <= limit_bytes_) {
      --until_listing_;
      return;
    }
    until_listing_ = kStoresPerListing;
  }
  Listing listing(folder_);
  for (const Listing::File& file : listing.temporaries) {
    if (fs::file_time_type::clock::now() - file.used > kTemporaryLife) remove_file(file.path);
  }
  std::uint64_t bytes = listing.bytes;
  std::uint64_t evicted = 0;
  if (bytes > limit_bytes_) {
    // A tenth less than allowed, so that a full cache is not listed at each store.
    const std::uint64_t target = limit_bytes_ - limit_bytes_ / 10;
    std::ranges::sort(listing.entries, {}, &Listing::File::used);
    for (const Listing::File& file : listing.entries) {
      if (bytes <= target) break;
      if (remove_file(file.path)) ++evicted;
      bytes -= file.bytes;  // also if another process was faster
    }
  }
  if (evicted > 0) count(&DiskCacheCounts::evicted, evicted);
  const std::lock_guard lock(lock_);
  known_bytes_ = bytes;
}

void DiskCache::clear() {
  const Listing listing(folder_);
  std::vector<fs::path> all{folder_ / kCountsName};
  for (const Listing::File& file : listing.entries) all.push_back(file.path);
  for (const Listing::File& file : listing.temporaries) all.push_back(file.path);
  for (const fs::path& path : all) {
    std::error_code failed;
    fs::remove(path, failed);
    if (failed && failed != std::errc::not_a_directory) {  // then there is no such file either
      throw Error(Errc::io,
                  fmt::format("{} cannot be removed: {}", path.string(), failed.message()));
    }
  }
  const std::lock_guard lock(lock_);
  known_bytes_ = 0;
  unsaved_ = {};
}

void DiskCache::count(std::uint64_t DiskCacheCounts::*which, std::uint64_t more) noexcept {
  const std::lock_guard lock(lock_);
  counts_.*which += more;
  unsaved_.*which += more;
  try {
    if (add_shared_counts(folder_ / kCountsName, unsaved_)) unsaved_ = {};
  } catch (const std::exception&) {
    // No memory for a path: the counts are saved with the next ones.
  }
}

DiskCacheCounts DiskCache::counts() const noexcept {
  const std::lock_guard lock(lock_);
  return counts_;
}

DiskCacheReport DiskCache::report() const {
  const Listing listing(folder_);
  DiskCacheReport report;
  report.folder = folder_.string();
  report.entries = listing.entries.size();
  report.bytes = listing.bytes;
  report.limit_bytes = limit_bytes_;
  report.this_runtime = counts();
  report.lifetime = read_shared_counts(folder_ / kCountsName);
  return report;
}

}  // namespace salvo::runtime
