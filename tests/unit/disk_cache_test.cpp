// The disk cache's folder: healing, eviction, disks that cannot be written, and many processes.
// SPDX-License-Identifier: MIT
#include "runtime/disk_cache.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <thread>

#include "temporary_folder.hpp"

namespace salvo::runtime {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kPlenty = std::uint64_t{64} << 20U;

CacheKey key_of(std::uint64_t number) {
  CacheKey key;
  key.code = {number, ~number};
  return key;
}

/// Bytes that no other key has.
std::vector<std::byte> binary_of(std::uint64_t number, std::size_t bytes = 1000) {
  std::mt19937_64 random(number);
  std::vector<std::byte> binary(bytes);
  for (std::byte& byte : binary) byte = static_cast<std::byte>(random());
  return binary;
}

class DiskCacheFolder : public testing::Test {
 protected:
  fs::path file_of(std::uint64_t number) const {
    return folder.path() / (entry_name(key_of(number)) + ".salvo");
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
  }
  static void write(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  tests::TemporaryFolder folder;
  DiskCache cache{folder.path(), kPlenty};
};

TEST_F(DiskCacheFolder, GivesBackWhatWasStored) {
  EXPECT_EQ(cache.find(key_of(1)).result, CacheLookup::absent);
  cache.store(key_of(1), binary_of(1));
  const DiskCache::Found found = cache.find(key_of(1));
  EXPECT_EQ(found.result, CacheLookup::found);
  EXPECT_EQ(found.binary, binary_of(1));
  cache.accept(key_of(1));
  EXPECT_EQ(cache.counts(), (DiskCacheCounts{.hits = 1, .misses = 1, .stored = 1}));

  DiskCache second(folder.path(), kPlenty);
  EXPECT_EQ(second.find(key_of(1)).binary, binary_of(1));
  second.accept(key_of(1));
  const DiskCacheReport report = second.report();
  EXPECT_EQ(report.entries, 1U);
  EXPECT_EQ(report.bytes, fs::file_size(file_of(1)));
  EXPECT_EQ(report.this_runtime, (DiskCacheCounts{.hits = 1}));
  EXPECT_EQ(report.lifetime, (DiskCacheCounts{.hits = 2, .misses = 1, .stored = 1}));
}

TEST_F(DiskCacheFolder, IsMadeForTheUserAloneWhenSomethingIsStored) {
  const fs::path deep = folder.path() / "a" / "b";
  DiskCache fresh(deep, kPlenty);
  fresh.find(key_of(1));
  EXPECT_FALSE(fs::exists(deep));
  fresh.store(key_of(1), binary_of(1));
  EXPECT_EQ(fs::status(deep).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fresh.find(key_of(1)).binary, binary_of(1));
}

TEST_F(DiskCacheFolder, RemovesDamagedEntriesAndHeals) {
  const auto damage = [&](CacheLookup expected) {
    EXPECT_EQ(cache.find(key_of(1)).result, expected);
    EXPECT_FALSE(fs::exists(file_of(1)));
    EXPECT_EQ(cache.find(key_of(1)).result, CacheLookup::absent);
    cache.store(key_of(1), binary_of(1));
    EXPECT_EQ(cache.find(key_of(1)).binary, binary_of(1));
  };
  cache.store(key_of(1), binary_of(1));
  fs::resize_file(file_of(1), fs::file_size(file_of(1)) - 1);
  damage(CacheLookup::truncated);
  fs::resize_file(file_of(1), 0);
  damage(CacheLookup::truncated);
  write(file_of(1), "something else altogether");
  damage(CacheLookup::not_an_entry);
  cache.store(key_of(2), binary_of(2));
  fs::rename(file_of(2), file_of(1));  // a whole entry under the name of another
  damage(CacheLookup::other_code);
  cache.store(key_of(1), binary_of(1));
  fs::remove(file_of(1));
  fs::create_directory(file_of(1));
  damage(CacheLookup::unreadable);
  EXPECT_EQ(cache.counts().rejected, 5U);
}

TEST_F(DiskCacheFolder, APipeOfAnEntrysNameStopsNothing) {
  ASSERT_EQ(mkfifo(file_of(1).c_str(), S_IRUSR | S_IWUSR), 0);
  EXPECT_EQ(cache.find(key_of(1)).result, CacheLookup::unreadable);
  cache.store(key_of(1), binary_of(1));
  EXPECT_EQ(cache.find(key_of(1)).binary, binary_of(1));
}

TEST_F(DiskCacheFolder, AFileLargerThanTheCacheIsRemovedUnread) {
  write(file_of(1), "sparse");
  fs::resize_file(file_of(1), std::uint64_t{1} << 40U);  // of which a copy fits in no memory
  EXPECT_EQ(cache.find(key_of(1)).result, CacheLookup::unreadable);
  EXPECT_FALSE(fs::exists(file_of(1)));
  cache.store(key_of(1), binary_of(1));
  EXPECT_EQ(cache.find(key_of(1)).binary, binary_of(1));
}

TEST_F(DiskCacheFolder, ALinkInThePlaceOfTheCountsIsNotWrittenThrough) {
  const fs::path other = folder.path() / "other";
  write(other, "of somebody else");
  fs::create_symlink(other, folder.path() / "counts.salvo");
  cache.store(key_of(1), binary_of(1));
  EXPECT_EQ(cache.find(key_of(1)).binary, binary_of(1));
  std::ifstream file(other);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "of somebody else");
}

TEST_F(DiskCacheFolder, AnEntryThatTheDriverRefusesIsRemoved) {
  cache.store(key_of(1), binary_of(1));
  ASSERT_EQ(cache.find(key_of(1)).result, CacheLookup::found);
  cache.refuse(key_of(1));
  EXPECT_FALSE(fs::exists(file_of(1)));
  EXPECT_EQ(cache.counts(), (DiskCacheCounts{.rejected = 1, .stored = 1}));
}

TEST_F(DiskCacheFolder, KeepsNothingThatIsEmptyOrLargerThanItself) {
  DiskCache small(folder.path(), 500);
  small.store(key_of(1), {});
  small.store(key_of(2), binary_of(2, 500));
  EXPECT_EQ(small.counts(), DiskCacheCounts{});
  EXPECT_EQ(files(), 0U);
}

TEST_F(DiskCacheFolder, EvictsTheLeastRecentlyUsedFirst) {
  DiskCache small(folder.path(), 5 * 1200);  // five entries of 1152 bytes
  const auto now = fs::file_time_type::clock::now();
  for (std::uint64_t i = 0; i < 5; ++i) {
    small.store(key_of(i), binary_of(i));
    fs::last_write_time(file_of(i), now - std::chrono::minutes(50 - i));
  }
  ASSERT_EQ(small.counts().evicted, 0U);
  ASSERT_EQ(small.find(key_of(0)).result, CacheLookup::found);
  small.accept(key_of(0));  // the oldest becomes the latest
  small.store(key_of(5), binary_of(5));
  EXPECT_TRUE(fs::exists(file_of(0)));
  EXPECT_FALSE(fs::exists(file_of(1)));
  EXPECT_FALSE(fs::exists(file_of(2)));  // a tenth of the room is freed ahead
  EXPECT_TRUE(fs::exists(file_of(3)));
  EXPECT_TRUE(fs::exists(file_of(5)));
  EXPECT_EQ(small.counts().evicted, 2U);
  EXPECT_LE(small.report().bytes, 5U * 1200U);
}

TEST_F(DiskCacheFolder, CountsWhatOtherProcessesStoredTowardsItsLimit) {
  for (std::uint64_t i = 0; i < 20; ++i) cache.store(key_of(i), binary_of(i));
  DiskCache small(folder.path(), 5 * 1200);
  small.store(key_of(20), binary_of(20));
  EXPECT_LE(small.report().bytes, 5U * 1200U);
  EXPECT_EQ(small.find(key_of(20)).binary, binary_of(20));
}

TEST_F(DiskCacheFolder, ClearRemovesItsOwnFilesAlone) {
  cache.store(key_of(1), binary_of(1));
  write(file_of(2).string() + ".0123456789abcdef.tmp", "half of an ent");
  write(folder.path() / "notes.txt", "the user's own");
  write(folder.path() / "notes.salvo", "the user's own");
  cache.clear();
  EXPECT_EQ(files(), 2U);
  EXPECT_TRUE(fs::exists(folder.path() / "notes.txt"));
  EXPECT_TRUE(fs::exists(folder.path() / "notes.salvo"));
  EXPECT_EQ(cache.report().lifetime, DiskCacheCounts{});
  cache.store(key_of(1), binary_of(1));
  EXPECT_EQ(cache.find(key_of(1)).binary, binary_of(1));
}

TEST_F(DiskCacheFolder, WhatCrashedWritersLeftIsRemovedInTime) {
  const fs::path old = file_of(1).string() + ".0123456789abcdef.tmp";
  const fs::path young = file_of(1).string() + ".fedcba9876543210.tmp";
  write(old, "half of an ent");
  write(young, "half of an ent");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.store(key_of(2), binary_of(2));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));  // its writer may live
}

TEST_F(DiskCacheFolder, DamagedCountsStartAnew) {
  cache.find(key_of(1));
  ASSERT_EQ(cache.report().lifetime.misses, 1U);
  write(folder.path() / "counts.salvo", "nonsense");
  EXPECT_EQ(cache.report().lifetime, DiskCacheCounts{});
  cache.find(key_of(1));
  EXPECT_EQ(cache.report().lifetime.misses, 1U);
}

TEST_F(DiskCacheFolder, AFolderThatCannotBeMadeIsNoFailure) {
  write(folder.path() / "file", "not a folder");
  DiskCache nowhere(folder.path() / "file" / "cache", kPlenty);
  EXPECT_EQ(nowhere.find(key_of(1)).result, CacheLookup::absent);
  nowhere.store(key_of(1), binary_of(1));
  EXPECT_EQ(nowhere.counts(), (DiskCacheCounts{.misses = 1, .unwritable = 1}));
  EXPECT_EQ(nowhere.report().entries, 0U);
  nowhere.clear();
}

/// The counts of a cache in `folder` after `work`, in a process whose rights `restrict` takes away.
DiskCacheCounts in_another_process(const fs::path& folder, void (*restrict)(),
                                   void (*work)(DiskCache&)) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t process = fork();
  if (process == 0) {
    restrict();
    DiskCache cache(folder, kPlenty);
    work(cache);
    const DiskCacheCounts counts = cache.counts();
    _exit(::write(ends[1], &counts, sizeof(counts)) == sizeof(counts) ? 0 : 1);
  }
  close(ends[1]);
  DiskCacheCounts counts;
  EXPECT_EQ(read(ends[0], &counts, sizeof(counts)), static_cast<ssize_t>(sizeof(counts)));
  close(ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
  return counts;
}

TEST_F(DiskCacheFolder, AReadOnlyFolderIsRead) {
  cache.store(key_of(1), binary_of(1));
  fs::permissions(file_of(1), static_cast<fs::perms>(0444));
  fs::permissions(folder.path(), static_cast<fs::perms>(0555));
  const auto counts = in_another_process(
      folder.path(),
      [] {
        constexpr uid_t kNobody = 65534;  // the superuser would write all the same
        if (geteuid() == 0 && seteuid(kNobody) != 0) _exit(2);
      },
      [](DiskCache& restricted) {
        if (restricted.find(key_of(1)).binary == binary_of(1)) restricted.accept(key_of(1));
        restricted.store(key_of(2), binary_of(2));
      });
  EXPECT_EQ(counts, (DiskCacheCounts{.hits = 1, .unwritable = 1}));
  EXPECT_EQ(files(), 2U);  // the entry and the counts of this process
}

TEST_F(DiskCacheFolder, AFullDiskLeavesNothingBehind) {
  const auto counts = in_another_process(
      folder.path(),
      [] {
        const rlimit limit{500, 500};  // no file may grow further: as if the disk were full
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
        std::signal(SIGXFSZ, SIG_IGN);
      },
      [](DiskCache& full) {
        full.store(key_of(1), binary_of(1));
        full.store(key_of(2), binary_of(2, 100));
      });
  EXPECT_EQ(counts, (DiskCacheCounts{.stored = 1, .unwritable = 1}));
  EXPECT_EQ(files(), 2U);  // the small entry and the counts
  EXPECT_EQ(cache.find(key_of(2)).binary, binary_of(2, 100));
}

/// Looks up and stores entries of a few keys, all too many for the limit; 1 if one was bad.
int hammer(const fs::path& folder, std::uint64_t seed, int rounds) {
  constexpr std::uint64_t kKeys = 12;
  DiskCache cache(folder, 8 * 20'000);
  std::mt19937_64 random(seed);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t number = random() % kKeys;
    const std::vector<std::byte> expected = binary_of(number, 10'000 + 1'000 * number);
    const DiskCache::Found found = cache.find(key_of(number));
    if (found.result == CacheLookup::found) {
      if (found.binary != expected) return 1;
      cache.accept(key_of(number));
      if (random() % 8 == 0) cache.refuse(key_of(number));
    } else {
      // Renaming is atomic, so not even a killed writer leaves anything but whole entries.
      if (found.result != CacheLookup::absent) return 1;
      cache.store(key_of(number), expected);
    }
  }
  return 0;
}

TEST_F(DiskCacheFolder, ProcessesThatAreKilledAtRandomNeverLeaveABadEntry) {
  constexpr int kLasting = 2;
  constexpr int kVictims = 15;
  const auto start = [&](std::uint64_t seed, int rounds) {
    const pid_t process = fork();
    if (process == 0) _exit(hammer(folder.path(), seed, rounds));
    return process;
  };
  std::vector<pid_t> lasting;
  for (int i = 0; i < kLasting; ++i) lasting.push_back(start(static_cast<std::uint64_t>(i), 500));
  std::mt19937_64 random(std::random_device{}());
  int killed = 0;
  for (int i = 0; i < kVictims; ++i) {
    const pid_t victim = start(100 + static_cast<std::uint64_t>(i), 1'000'000);
    ASSERT_GT(victim, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    kill(victim, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(victim, &status, 0), victim);
    EXPECT_FALSE(WIFEXITED(status)) << "a bad entry was read";
    if (WIFSIGNALED(status)) ++killed;
  }
  for (const pid_t process : lasting) {
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "a bad entry was read";
  }
  EXPECT_EQ(killed, kVictims);
  EXPECT_EQ(hammer(folder.path(), 1, 100), 0);
  EXPECT_GT(cache.report().lifetime.hits, 0U);
  EXPECT_GT(cache.report().lifetime.evicted, 0U);
}

TEST_F(DiskCacheFolder, ThreadsShareIt) {
  std::vector<std::thread> threads;
  std::vector<int> bad(4, -1);
  for (std::size_t t = 0; t < bad.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t number = (i * (t + 1)) % 16;
        const DiskCache::Found found = cache.find(key_of(number));
        if (found.result == CacheLookup::found) {
          cache.accept(key_of(number));
          if (found.binary != binary_of(number)) return;
        } else {
          cache.store(key_of(number), binary_of(number));
        }
      }
      bad[t] = 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, std::vector<int>(4, 0));
  const DiskCacheCounts counts = cache.counts();
  EXPECT_EQ(counts.hits + counts.misses, 800U);
  EXPECT_EQ(counts.rejected, 0U);
  EXPECT_EQ(cache.report().entries, 16U);
}

}  // namespace
}  // namespace salvo::runtime
