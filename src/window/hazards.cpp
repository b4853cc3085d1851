// Which held groups a launch must come after (W8, W11, W13).
// SPDX-License-Identifier: MIT
#include "window/hazards.hpp"

#include <algorithm>

namespace salvo::window {
namespace {

bool overlap(const Access& a, const Access& b) noexcept {
  return a.storage == b.storage && a.begin < b.end && b.begin < a.end;
}

}  // namespace

void add_access(HeldLaunch& launch, std::uint32_t parameter, runtime::Storage& storage,
                runtime::DeviceCopy* copy, std::uint32_t store_unit) {
  const ParameterFacts& facts = launch.kernel->parameters[parameter];
  runtime::Argument& argument = launch.arguments[parameter];
  argument.access = facts.access;
  const ByteRange bytes =
      touched_bytes(argument.byte_offset, argument.length, facts.element_bytes, store_unit);
  // Written in place: copying one right after its small fields were stored stalls the processor.
  Access& made = launch.accesses.emplace_back();
  made.storage = &storage;
  made.copy = copy;
  made.parameter = parameter;
  made.begin = bytes.begin;
  made.end = bytes.end;
  made.reads = facts.reads;
  made.writes = facts.writes;
  made.whole = bytes.begin == 0 && bytes.end >= storage.bytes();
  for (const Access* other = launch.accesses.data(); other != &made; ++other) {
    launch.may_alias = launch.may_alias || conflicts(made, *other);
  }
}

bool conflicts(const Access& a, const Access& b) noexcept {
  return (a.writes || b.writes) && overlap(a, b);
}

bool conflicts(const HeldLaunch& a, const HeldLaunch& b) noexcept {
  return std::ranges::any_of(a.accesses, [&](const Access& mine) {
    return std::ranges::any_of(b.accesses,
                               [&](const Access& theirs) { return conflicts(mine, theirs); });
  });
}

std::uint64_t latest_conflict(const HeldLaunch& launch,
                              std::span<const std::unique_ptr<Group>> held) {
  std::uint64_t latest = 0;
  bool ranges_decide = false;
  for (const Access& access : launch.accesses) {
    if (!access.copy || !(access.reads || access.writes)) continue;
    const runtime::DeviceCopy& copy = *access.copy;
    if (copy.viewed || !access.whole) {
      ranges_decide = true;
      continue;
    }
    latest = std::max(latest, copy.last_writer);
    if (access.writes) latest = std::max(latest, copy.last_reader);
  }
  if (!ranges_decide) return latest;
  for (std::size_t i = held.size(); i-- > 0 && held[i]->sequence > latest;) {
    const auto touches = [&](const auto& member) { return conflicts(launch, *member); };
    if (std::ranges::any_of(held[i]->members, touches)) return held[i]->sequence;
  }
  return latest;
}

MemberConflicts member_conflicts(const HeldLaunch& launch, const Group& group) {
  const auto compare_all = [&] {
    MemberConflicts found;
    for (std::size_t m = 0; m < group.members.size(); ++m) {
      if (!conflicts(launch, *group.members[m])) continue;
      found.member = m;
      ++found.count;
    }
    return found;
  };
  // Stamps say which member it is, unless several touched an allocation or parts of one are bound.
  MemberConflicts found;
  for (const Access& access : launch.accesses) {
    if (!access.copy || !(access.reads || access.writes)) continue;
    const runtime::DeviceCopy& copy = *access.copy;
    if (copy.viewed || !access.whole) return compare_all();
    const bool conflict =
        copy.last_writer == group.sequence || (access.writes && copy.last_reader == group.sequence);
    if (!conflict) continue;
    if (copy.shared) return compare_all();
    if (found.count == 0 || found.member != copy.last_member) ++found.count;
    found.member = copy.last_member;
  }
  return found;
}

void stamp(HeldLaunch& launch, std::uint64_t sequence, std::size_t member) noexcept {
  for (Access& access : launch.accesses) {
    runtime::DeviceCopy& copy = *access.copy;
    copy.last_bound = std::max(copy.last_bound, sequence);
    if (!(access.reads || access.writes)) continue;
    copy.viewed = copy.viewed || !access.whole;
    // A launch may join an earlier group than the last one that touched the allocation.
    const std::uint64_t latest = std::max(copy.last_reader, copy.last_writer);
    if (sequence > latest) {
      copy.last_member = static_cast<std::uint32_t>(member);
      copy.shared = false;
    } else if (sequence < latest || copy.last_member != member) {
      copy.shared = true;
    }
    if (access.reads) copy.last_reader = std::max(copy.last_reader, sequence);
    if (access.writes) copy.last_writer = std::max(copy.last_writer, sequence);
  }
}

}  // namespace salvo::window
