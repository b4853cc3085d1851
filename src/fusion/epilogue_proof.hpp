// Proves on the host that a producer stores each element once and whatever its consumer writes
// (W41).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "fusion/store_sites.hpp"
#include "passes/affine.hpp"

namespace salvo::fusion {

enum class Proof : std::uint8_t {
  proved,
  refuted,  // an element is stored twice, or out of bounds, or written by the consumer alone
  unknown,  // W42
};

/// One side of a pair: a kernel without returns, its stores that matter, and one launch of it.
struct LaunchedSites {
  const ir::Kernel& kernel;
  std::span<const StoreSite> sites;
  passes::LaunchFacts facts;
};

/// Beyond this many threads only the closed form can prove anything (W42).
inline constexpr std::uint64_t kMostEnumerated = std::uint64_t{1} << 24;

std::uint64_t thread_count(const passes::LaunchFacts& facts) noexcept;

/// By affine forms, in time that does not depend on the sizes. `length` is that of the vector the
/// producer stores to. The producer's sites are exact; the consumer's indexes are its global id.
Proof prove_closed(const LaunchedSites& producer, const LaunchedSites& consumer,
                   std::uint64_t length);
/// By computing every index.
Proof prove_by_enumeration(const LaunchedSites& producer, const LaunchedSites& consumer,
                           std::uint64_t length);

}  // namespace salvo::fusion
