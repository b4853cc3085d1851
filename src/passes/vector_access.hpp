// Neighbouring loads or stores of a thread that can be one wide access.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::passes {

/// Two or four loads, or as many stores, of neighbouring leaves of one size.
struct VectorAccess {
  std::vector<ir::ValueId> nodes;  // by address
  ir::ValueId leader = ir::kNoValue;
  std::uint32_t bytes = 0;         // of all, a power of two: 16 at most
  std::int64_t leader_offset = 0;  // bytes from the first leaf to the leader's
};

struct VectorAccesses {
  std::vector<VectorAccess> accesses;
  /// By node: which access it is a part of, or ir::kNone. Empty if there are no accesses.
  std::vector<std::uint32_t> part_of;
  /// By parameter: what the address of a span's first element must be a multiple of.
  std::vector<std::uint32_t> alignments;

  bool rests_on_alignment() const noexcept;
  /// The access that a node is a part of; null if none.
  const VectorAccess* of(ir::ValueId node) const noexcept {
    return node < part_of.size() && part_of[node] != ir::kNone ? &accesses[part_of[node]] : nullptr;
  }
};

/// What a target does at once.
struct VectorWishes {
  bool spans = true;   // where VectorAccesses::alignments are kept
  bool shared = true;  // its shared arrays are aligned to 16 bytes
  bool mixed = true;   // leaves of one size and several types
};

/// Finds accesses that a target may do at once, each in the place of its leader: of loads the first
/// in the order of the kernel, of stores the last. Each is a multiple of its size away from where
/// its array begins, and nothing that it is moved past can touch the same bytes. `may_alias`: spans
/// that overlap a written one, a bit per parameter; beyond 64: may.
VectorAccesses find_vector_accesses(const ir::Kernel& kernel, std::uint64_t may_alias,
                                    const VectorWishes& wishes = {});

}  // namespace salvo::passes
