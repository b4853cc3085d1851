// The file operations of the disk cache: whole reads, atomic writes, counts shared by processes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "salvo/disk_cache.hpp"

namespace salvo::runtime {

struct ReadFile {
  enum class State : std::uint8_t { read, absent, unreadable };
  State state = State::absent;
  std::vector<std::byte> bytes;
};
/// A file of more than `most_bytes` is unreadable: no memory is asked for it.
ReadFile read_file(const std::filesystem::path& path, std::uint64_t most_bytes);

/// The file appears with all of `bytes` or not at all, also if the machine stops meanwhile. Makes
/// the folder, for the user alone. False if that fails; nothing is left behind then.
bool write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Sets the time of last use to now; a file that is not ours keeps its time.
void touch_file(const std::filesystem::path& path) noexcept;

/// Whether a file is a temporary one of write_file_atomically, which a crash has left.
bool is_temporary(const std::filesystem::path& path);

/// Adds to the counts that all processes share. False if that is not possible now: the file is
/// held by another process, cannot be written, or is a link, whose target is not ours.
bool add_shared_counts(const std::filesystem::path& file, const DiskCacheCounts& more) noexcept;
/// All zero if there is no such file or it is damaged.
DiskCacheCounts read_shared_counts(const std::filesystem::path& file);

}  // namespace salvo::runtime
