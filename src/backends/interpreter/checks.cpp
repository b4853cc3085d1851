// Shadow memory: which bytes were written, and who touched them in this launch.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/checks.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

namespace salvo::backends::interpreter {
namespace {

constexpr unsigned kFlagBits = 2;
constexpr unsigned kWorkerShift = Accessor::kThreadBits + kFlagBits;
constexpr unsigned kMomentShift = kWorkerShift + Accessor::kWorkerBits;
constexpr std::uint64_t kThreadMask = (std::uint64_t{1} << Accessor::kThreadBits) - 1;
constexpr std::uint64_t kWorkerMask = (std::uint64_t{1} << Accessor::kWorkerBits) - 1;
// More threads than the one named made such an access in the same interval between barriers.
constexpr std::uint64_t kMany = std::uint64_t{1} << Accessor::kThreadBits;
// A block other than the one named made such an access, too.
constexpr std::uint64_t kForeign = kMany << 1;

std::uint64_t make_record(std::uint32_t thread, const Accessor& who) noexcept {
  return who.moment << kMomentShift | std::uint64_t{who.worker} << kWorkerShift | thread;
}

std::uint64_t moment_of(std::uint64_t record) noexcept {
  return record >> kMomentShift;
}

bool of_same_block(std::uint64_t record, const Accessor& who) noexcept {
  return (record >> kWorkerShift & kWorkerMask) == who.worker &&
         moment_of(record) >= who.block_from;
}

bool conflicts(std::uint64_t record, std::uint32_t thread, const Accessor& who) noexcept {
  if (moment_of(record) < who.launch_from) return false;
  if (!of_same_block(record, who)) return who.across_blocks;
  if ((record & kForeign) != 0 && who.across_blocks) return true;
  return moment_of(record) == who.moment &&
         ((record & kMany) != 0 || (record & kThreadMask) != thread);
}

void note(std::uint64_t& record, std::uint32_t thread, const Accessor& who) noexcept {
  const std::uint64_t own = make_record(thread, who);
  if (moment_of(record) < who.launch_from) {
    record = own;
  } else if (!of_same_block(record, who)) {
    record = own | kForeign;
  } else if (moment_of(record) != who.moment) {
    record = own | (record & kForeign);
  } else if ((record & kThreadMask) != thread) {
    record = own | (record & kForeign) | kMany;
  }
}

Conflict describe(AccessKind kind, std::uint64_t record, std::uint32_t thread,
                  const Accessor& who) noexcept {
  Conflict conflict;
  conflict.kind = kind;
  conflict.moment = moment_of(record);
  conflict.worker = static_cast<std::uint32_t>(record >> kWorkerShift & kWorkerMask);
  conflict.thread = static_cast<std::uint32_t>(record & kThreadMask);
  const bool own = of_same_block(record, who);
  // A record of the own block that conflicts only through kForeign does not name the other.
  conflict.same_block =
      own && conflict.moment == who.moment && ((record & kMany) != 0 || conflict.thread != thread);
  conflict.thread_known = own ? conflict.same_block && conflict.thread != thread : true;
  return conflict;
}

/// calloc rather than new: a large block stays untouched, and costs nothing, until its first use.
void* zeroed(std::size_t bytes) {
  void* memory = std::calloc(std::max<std::size_t>(bytes, 1), 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void RaceShadow::prepare(std::size_t bytes, const MemoryUse& use) {
  active_ = use.writes || (use.atomics && use.reads);
  if (!active_) return;
  shift_ = static_cast<unsigned>(std::min(3, std::countr_zero(use.alignment | 8)));
  const std::size_t granules = (bytes >> shift_) + 1;
  const auto grow = [&](bool track, std::vector<Record>& records) {
    if (track && records.size() < granules) records.resize(granules);
    return track;
  };
  track_reads_ = grow(use.reads, reads_);
  track_writes_ = grow(use.writes, writes_);
  track_atomics_ = grow(use.atomics, atomics_);
}

Conflict RaceShadow::access(AccessKind kind, std::uint64_t at, std::uint32_t bytes,
                            std::uint32_t thread, const Accessor& who) noexcept {
  const std::uint64_t first = at >> shift_;
  const std::uint64_t last = (at + bytes - 1) >> shift_;
  for (std::uint64_t granule = first; granule <= last; ++granule) {
    if (const Conflict conflict = access_granule(kind, granule, thread, who)) return conflict;
  }
  return {};
}

Conflict RaceShadow::access_granule(AccessKind kind, std::uint64_t granule, std::uint32_t thread,
                                    const Accessor& who) noexcept {
  if (track_writes_ && conflicts(writes_[granule], thread, who)) {
    return describe(AccessKind::Write, writes_[granule], thread, who);
  }
  if (track_atomics_ && kind != AccessKind::Atomic && conflicts(atomics_[granule], thread, who)) {
    return describe(AccessKind::Atomic, atomics_[granule], thread, who);
  }
  if (track_reads_ && kind != AccessKind::Read && conflicts(reads_[granule], thread, who)) {
    return describe(AccessKind::Read, reads_[granule], thread, who);
  }
  switch (kind) {
    case AccessKind::Read:
      note(reads_[granule], thread, who);
      break;
    case AccessKind::Write:
      writes_[granule] = make_record(thread, who);
      break;
    case AccessKind::Atomic:
      note(atomics_[granule], thread, who);
      break;
  }
  return {};
}

void Allocation::Free::operator()(void* memory) const noexcept {
  std::free(memory);
}

Allocation::Allocation(std::size_t bytes)
    : owned_(static_cast<std::byte*>(zeroed(bytes))),
      data_(owned_.get()),
      bytes_(bytes),
      written_(static_cast<std::uint8_t*>(zeroed(bytes))) {}

void Allocation::need_flags() {
  if (written_ != nullptr) return;
  written_.reset(static_cast<std::uint8_t*>(zeroed(bytes_)));
  std::memset(written_.get(), 1, bytes_);
}

void Allocation::mark_written(std::size_t offset, std::size_t bytes) noexcept {
  if (written_ == nullptr) return;
  if (bytes == bytes_) {
    written_.reset();
  } else {
    std::memset(written_.get() + offset, 1, bytes);
  }
}

void Allocation::mark_unwritten(std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  need_flags();
  std::memset(written_.get() + offset, 0, bytes);
}

void Allocation::copy_from(const Allocation& from, std::size_t from_offset, std::size_t to_offset,
                           std::size_t bytes) {
  if (bytes == 0) return;
  std::memmove(data_ + to_offset, from.data_ + from_offset, bytes);
  if (from.written_ == nullptr) {
    mark_written(to_offset, bytes);
  } else {
    need_flags();
    std::memmove(written_.get() + to_offset, from.written_.get() + from_offset, bytes);
  }
}

void Allocation::settle() noexcept {
  if (written_ != nullptr && std::memchr(written_.get(), 0, bytes_) == nullptr) written_.reset();
}

Allocation::Snapshot Allocation::save() const {
  Snapshot snapshot;
  snapshot.data.assign(data_, data_ + bytes_);
  if (written_ != nullptr) snapshot.written.assign(written_.get(), written_.get() + bytes_);
  return snapshot;
}

void Allocation::restore(const Snapshot& snapshot) {
  std::copy(snapshot.data.begin(), snapshot.data.end(), data_);
  if (snapshot.written.empty()) {
    written_.reset();
  } else {
    need_flags();
    std::copy(snapshot.written.begin(), snapshot.written.end(), written_.get());
  }
}

}  // namespace salvo::backends::interpreter
