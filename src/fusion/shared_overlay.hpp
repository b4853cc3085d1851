// Shared memory of a fused kernel: a block runs one member, so arrays of different members share.
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/hash.hpp"
#include "ir/kernel.hpp"

namespace salvo::fusion {

/// A shared array of constant size. Two may be one only if they are declared alike on every target:
/// of one element, and both or neither used by atomics, for which some targets have other types.
struct SharedArray {
  struct Type {
    ir::Digest element;
    bool atomic = false;
    friend auto operator<=>(const Type&, const Type&) = default;
  };
  Type type;
  std::uint32_t count = 0;  // elements
  std::uint32_t element_bytes = 0;
  ir::MemoryId memory = ir::kNone;  // in the kernel that declares it
};

/// The shared arrays of a kernel, by type and the longest of a type first.
std::vector<SharedArray> shared_arrays(const ir::Kernel& kernel);

/// The arrays that a fused kernel needs (W31): the longest arrays of a type of all members are one,
/// so are the second longest, and so on. No smaller sum of arrays holds every member, and it does
/// not depend on the order of the members.
class SharedOverlay {
 public:
  /// Makes room for one more member, whose arrays are as `shared_arrays` gives them.
  void add(std::span<const SharedArray> member);
  void clear() noexcept { arrays_.clear(); }

  /// By type and the longest of a type first. Each is as the member with the longest declares it.
  std::span<const SharedArray> arrays() const noexcept { return arrays_; }
  /// For each array of a member that was added, the position in `arrays()` of where it is.
  std::vector<std::size_t> places(std::span<const SharedArray> member) const;

  /// What `ir::Kernel::shared_bytes` is of a kernel that declares these arrays in their order, with
  /// `member` added.
  std::uint64_t bytes_with(std::span<const SharedArray> member) const noexcept;

 private:
  std::vector<SharedArray> arrays_;
};

}  // namespace salvo::fusion
