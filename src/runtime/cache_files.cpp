// The file operations of the disk cache: whole reads, atomic writes, counts shared by processes.
// SPDX-License-Identifier: MIT
#include "runtime/cache_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "ir/hash.hpp"

namespace salvo::runtime {
namespace {

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags, mode_t mode = 0) noexcept
      : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  explicit operator bool() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  /// False if bytes written earlier turn out to be lost.
  bool close() noexcept { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

  bool read(std::span<std::byte> to) noexcept {
    while (!to.empty()) {
      const ssize_t got = ::read(number_, to.data(), to.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to = to.subspan(static_cast<std::size_t>(got));
    }
    return true;
  }
  bool write(std::span<const std::byte> from) noexcept {
    while (!from.empty()) {
      const ssize_t put = ::write(number_, from.data(), from.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      from = from.subspan(static_cast<std::size_t>(put));
    }
    return true;
  }

 private:
  int number_;
};

constexpr std::string_view kTemporarySuffix = ".tmp";

/// Unlike those of all other threads, processes and machines that share the folder.
std::filesystem::path temporary_name(const std::filesystem::path& path) {
  std::random_device random;
  const std::uint64_t number = (std::uint64_t{random()} << 32U) | random();
  std::filesystem::path name = path;
  name += fmt::format(".{:016x}{}", number, kTemporarySuffix);
  return name;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code ignored;  // writing into the folder tells whether it is there
  std::filesystem::create_directories(folder.parent_path(), ignored);
  ::mkdir(folder.c_str(), S_IRWXU);
}

/// The counts' file: magic number, the counts, a checksum.
using SharedCounts = std::array<std::uint64_t, 8>;
constexpr std::uint64_t kCountsMagic = 0x53544E554F434C53;
constexpr std::array kCounted{&DiskCacheCounts::hits,       &DiskCacheCounts::misses,
                              &DiskCacheCounts::rejected,   &DiskCacheCounts::stored,
                              &DiskCacheCounts::unwritable, &DiskCacheCounts::evicted};
static_assert(kCounted.size() + 2 == std::tuple_size_v<SharedCounts>);

std::uint64_t checksum_of(const SharedCounts& words) {
  return ir::hash_bytes(words.data(), sizeof(words) - sizeof(words.back())).low;
}

DiskCacheCounts read_counts(Descriptor& file) {
  SharedCounts words{};
  DiskCacheCounts counts;
  const bool whole = file.read(std::as_writable_bytes(std::span(words))) &&
                     words.front() == kCountsMagic && words.back() == checksum_of(words);
  if (!whole) return counts;
  for (std::size_t i = 0; i < kCounted.size(); ++i) counts.*kCounted[i] = words[i + 1];
  return counts;
}

}  // namespace

ReadFile read_file(const std::filesystem::path& path, std::uint64_t most_bytes) {
  ReadFile result;
  // O_NONBLOCK: a pipe of this name must not stop the program.
  Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (errno != ENOENT && errno != ENOTDIR) result.state = ReadFile::State::unreadable;
    return result;
  }
  result.state = ReadFile::State::unreadable;
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
      std::cmp_greater(status.st_size, most_bytes)) {
    return result;
  }
  result.bytes.resize(static_cast<std::size_t>(status.st_size));
  if (file.read(result.bytes)) result.state = ReadFile::State::read;
  return result;
}

bool write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::filesystem::path temporary = temporary_name(path);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL;
  constexpr mode_t kMode = S_IRUSR | S_IWUSR;
  if (struct stat status{}; ::stat(path.parent_path().c_str(), &status) != 0) {
    make_folder(path.parent_path());
  }
  Descriptor file(temporary, kFlags, kMode);
  if (!file) return false;
  // Without fsync the name can reach the disk before the bytes.
  const bool written = file.write(bytes) && ::fsync(file.number()) == 0;
  if (file.close() && written && ::rename(temporary.c_str(), path.c_str()) == 0) return true;
  ::unlink(temporary.c_str());
  return false;
}

void touch_file(const std::filesystem::path& path) noexcept {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

bool is_temporary(const std::filesystem::path& path) {
  return path.native().ends_with(kTemporarySuffix);
}

bool add_shared_counts(const std::filesystem::path& path, const DiskCacheCounts& more) noexcept {
  Descriptor file(path, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  // Never waits: a process that is stopped while it holds the lock must stop no other.
  if (!file || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return false;
  const DiskCacheCounts before = read_counts(file);
  SharedCounts words{kCountsMagic};
  for (std::size_t i = 0; i < kCounted.size(); ++i) {
    words[i + 1] = before.*kCounted[i] + more.*kCounted[i];
  }
  words.back() = checksum_of(words);
  return ::lseek(file.number(), 0, SEEK_SET) == 0 && file.write(std::as_bytes(std::span(words)));
}

DiskCacheCounts read_shared_counts(const std::filesystem::path& path) {
  Descriptor file(path, O_RDONLY | O_NONBLOCK);
  return file ? read_counts(file) : DiskCacheCounts{};
}

}  // namespace salvo::runtime
