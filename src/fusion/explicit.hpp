// Explicit fusion: whether a vector between two kernels can be left out, and the kernel without it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::fusion {

/// One of the two kernels.
struct FusedPart {
  const ir::Kernel& kernel;
  std::uint32_t intermediate = 0;  // position among its parameters
  std::uint32_t live = 0;          // parameters at its end that stay at the end
};

/// What makes leaving out the intermediate unsound.
struct FuseObstacle {
  std::string words;                    // "x stores at another element than its own"
  ir::LocationId location = ir::kNone;  // in the kernel that is at fault
  const ir::Kernel* kernel = nullptr;
};

/// The first obstacle found; none if `fuse_through` may be called (W49).
std::optional<FuseObstacle> find_obstacle(const FusedPart& producer, const FusedPart& consumer);

/// The consumer with the producer's body at each load of the intermediate. Parameters: the
/// producer's, the consumer's, then the live ones of each in that order, all without the
/// intermediate. An element that the producer's guard leaves out is zero.
ir::Kernel fuse_through(const FusedPart& producer, const FusedPart& consumer);

/// Two spans of the fused kernel that must not share bytes: the producer's part reads one, at times
/// after the consumer's part wrote the other.
struct DisjointSpans {
  std::uint32_t read = 0;  // parameters of the fused kernel
  std::uint32_t written = 0;
  /// All of it happens at one element in one thread, reads first: the same start is no overlap.
  bool in_place = false;
};
std::vector<DisjointSpans> spans_kept_apart(const FusedPart& producer, const FusedPart& consumer);

}  // namespace salvo::fusion
