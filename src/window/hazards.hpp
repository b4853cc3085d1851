// Which held groups a launch must come after (W8, W11, W13).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "window/held_launch.hpp"

namespace salvo::window {

/// The bytes of its allocation that a span argument touches, widened to whole store units (W13).
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool overlaps(const ByteRange& other) const noexcept {
    return begin < other.end && other.begin < end;
  }
};
inline ByteRange touched_bytes(std::uint64_t byte_offset, std::uint64_t length,
                               std::uint32_t element_bytes, std::uint32_t store_unit) noexcept {
  ByteRange range{byte_offset, byte_offset + length * element_bytes};
  if (store_unit > 1) {
    range.begin = range.begin / store_unit * store_unit;
    range.end = (range.end + store_unit - 1) / store_unit * store_unit;
  }
  return range;
}

/// Adds the access of one span argument, which `launch` has already, and keeps `may_alias`. `copy`
/// is null if the vector is not on the device yet. `store_unit` is the device's smallest store that
/// leaves its neighbours alone, in bytes.
void add_access(HeldLaunch& launch, std::uint32_t parameter, runtime::Storage& storage,
                runtime::DeviceCopy* copy, std::uint32_t store_unit);

/// Whether two accesses touch the same bytes and one writes.
bool conflicts(const Access& a, const Access& b) noexcept;
bool conflicts(const HeldLaunch& a, const HeldLaunch& b) noexcept;

/// The sequence of the latest held group that `launch` conflicts with, 0 if none. Looks at the
/// stamps of each allocation; where parts of one are bound, at the byte ranges of held members.
std::uint64_t latest_conflict(const HeldLaunch& launch,
                              std::span<const std::unique_ptr<Group>> held);

/// The members of `group` that `launch` conflicts with, which conflicts with no later group.
struct MemberConflicts {
  std::size_t count = 0;   // above 1: at least two
  std::size_t member = 0;  // the latest found
};
MemberConflicts member_conflicts(const HeldLaunch& launch, const Group& group);

/// Marks the allocations that `launch` touches as read or written by a member of the group
/// `sequence`.
void stamp(HeldLaunch& launch, std::uint64_t sequence, std::size_t member) noexcept;

}  // namespace salvo::window
