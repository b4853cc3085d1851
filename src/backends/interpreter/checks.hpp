// Shadow memory: which bytes were written, and who touched them in this launch.
// SPDX-License-Identifier: MIT
//
// A data race is two accesses of the same bytes by different threads of one launch, at least one of
// them a write, not both atomic, with no barrier of their block between. Threads of different
// blocks are never ordered. Storing the same value twice is a race all the same: devices promise
// nothing for it, least of all for stores of unlike sizes.
//
// Granules of 1, 2, 4 or 8 bytes have a record each. The size is the largest that divides every
// address and size that the launch can use, so that granules never make two neighbours look like
// one. Records are never cleared: each names a moment, and moments only grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace salvo::backends::interpreter {

/// How a launch can touch a piece of memory, from a look at the kernel alone.
struct MemoryUse {
  bool reads = false;
  bool writes = false;  // plain stores
  bool atomics = false;
  std::uint64_t alignment = 0;  // sizes, strides and offsets or-ed together

  MemoryUse& operator|=(const MemoryUse& other) noexcept {
    reads |= other.reads;
    writes |= other.writes;
    atomics |= other.atomics;
    alignment |= other.alignment;
    return *this;
  }
};

/// Who makes an access, and which earlier accesses can still conflict with it.
struct Accessor {
  static constexpr unsigned kWorkerBits = 6;
  static constexpr unsigned kThreadBits = 12;

  std::uint64_t moment = 0;       // a new one for each block, and after each barrier of it
  std::uint64_t launch_from = 0;  // first moment of the launch: older records are void
  std::uint64_t block_from = 0;   // first moment of the block
  std::uint32_t worker = 0;       // blocks of one worker run one after another
  bool across_blocks = true;      // whether accesses of other blocks conflict
};

enum class AccessKind : std::uint8_t { Read, Write, Atomic };

/// The earlier access that a new one races with.
struct Conflict {
  AccessKind kind = AccessKind::Read;
  bool same_block = false;
  bool thread_known = false;  // false if several threads made it
  std::uint32_t thread = 0;
  std::uint64_t moment = 0;  // 0: no conflict
  std::uint32_t worker = 0;

  explicit operator bool() const noexcept { return moment != 0; }
};

/// Race records of one piece of memory.
class RaceShadow {
 public:
  /// Gets ready for a launch. Where no access can race, later checks are skipped.
  void prepare(std::size_t bytes, const MemoryUse& use);
  bool active() const noexcept { return active_; }

  /// Records an access of `bytes` bytes at `at` unless it conflicts with an earlier one.
  Conflict access(AccessKind kind, std::uint64_t at, std::uint32_t bytes, std::uint32_t thread,
                  const Accessor& who) noexcept;

 private:
  using Record = std::uint64_t;  // moment, worker, kMany, kForeign, thread; 0: none

  Conflict access_granule(AccessKind kind, std::uint64_t granule, std::uint32_t thread,
                          const Accessor& who) noexcept;

  // Plain writes need the last one only: an earlier one is ordered before it, or was a conflict.
  // Reads do not exclude each other and atomics neither, so their records have flags for more.
  std::vector<Record> reads_;
  std::vector<Record> writes_;
  std::vector<Record> atomics_;
  bool track_reads_ = false;
  bool track_writes_ = false;
  bool track_atomics_ = false;
  bool active_ = false;
  unsigned shift_ = 0;
};

/// Memory of the device: its bytes and their shadows.
class Allocation {
 public:
  /// Zeroed bytes of its own, none of which count as written. Throws std::bad_alloc.
  explicit Allocation(std::size_t bytes);
  /// Bytes of the host, all written; they must outlive this.
  Allocation(std::byte* data, std::size_t bytes) noexcept : data_(data), bytes_(bytes) {}

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// A flag per byte, 1 if it was written; null once all were.
  std::uint8_t* written() const noexcept { return written_.get(); }
  void mark_written(std::size_t offset, std::size_t bytes) noexcept;
  void mark_unwritten(std::size_t offset, std::size_t bytes);
  /// Copies bytes together with whether they were written.
  void copy_from(const Allocation& from, std::size_t from_offset, std::size_t to_offset,
                 std::size_t bytes);
  /// Drops the flags if every byte was written by now.
  void settle() noexcept;
  RaceShadow& races() noexcept { return races_; }

  /// Contents to go back to.
  struct Snapshot {
    std::vector<std::byte> data;
    std::vector<std::uint8_t> written;  // empty: all
  };
  Snapshot save() const;
  void restore(const Snapshot& snapshot);

 private:
  void need_flags();

  struct Free {
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> owned_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::uint8_t, Free> written_;
  RaceShadow races_;
};

}  // namespace salvo::backends::interpreter
