// Where a kernel stores to some of its memories, and what decides whether and where a thread does.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::fusion {

/// One step on the way from a kernel's start to a store.
struct PathStep {
  enum class Kind : std::uint8_t { condition, loop };
  Kind kind = Kind::condition;
  ir::ValueId value = ir::kNoValue;  // the condition, or the For
  bool taken = true;                 // condition: the arm
};

/// A store and all that must hold for a thread to reach it.
struct StoreSite {
  ir::ValueId store = ir::kNoValue;
  std::vector<PathStep> path;
  /// The path says all of it: no loop on it ends early, no While or Switch, and conditions and
  /// loop bounds depend on nothing but the launch and the thread.
  bool exact = true;
  /// The index, too, depends on nothing but the launch and the thread.
  bool known_index = true;
};

/// Whether a value is the global thread id along x, in some integer type that holds it.
bool is_global_id(const ir::Kernel& kernel, ir::ValueId id);

/// All stores to memories marked in `memories`, in program order. A step that depends on data is
/// left out and the site marked: what remains of its path still holds wherever it stores.
std::vector<StoreSite> find_store_sites(const ir::Kernel& kernel,
                                        const std::vector<bool>& memories);

/// By node: whether it depends on nothing but dims, positions, scalars, lengths and the counters of
/// loops whose bounds do not either, and the host can compute it.
std::vector<bool> launch_values(const ir::Kernel& kernel);

/// Parameters, scalars and lengths alike, that the sites' paths and indexes read.
std::vector<std::uint32_t> parameters_read(const ir::Kernel& kernel,
                                           const std::vector<StoreSite>& sites);

}  // namespace salvo::fusion
