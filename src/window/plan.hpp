// Remembers which fused kernel a group became, so that a window that repeats does no analysis
// (W79).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/device_state.hpp"
#include "window/fused_cache.hpp"
#include "window/held_launch.hpp"

namespace salvo::window {

/// How the members of a group map to the arguments of its fused kernel. Valid for any group of the
/// same kernels in the same order, because dependencies are judged anew whenever a group is formed,
/// and no size, pointer or scalar is part of it.
struct Plan {
  /// Members that run one body: positions `first` to `first + count - 1` of `order`.
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t slots = 0;
  };
  std::vector<std::uint64_t> kernels;  // serials in the group's order: what the plan is for
  bool may_alias = false;
  std::uint32_t most_members = 0;
  std::vector<std::uint32_t> order;  // the group's members in canonical order (W38)
  std::vector<Run> runs;
  std::shared_ptr<FusedKernel> fused;
};

/// Continues the fingerprint of a group with one more member.
inline std::uint64_t fingerprint_with(std::uint64_t fingerprint, const KernelRecord& kernel) {
  return (fingerprint ^ kernel.serial) * 0x9E3779B97F4A7C15ULL;
}

/// Whether two spans of a member overlap and one is written, for any member.
bool any_aliases(const Group& group) noexcept;

/// Makes the plan of a group but for its fused kernel, and the key of that.
Plan make_plan(const runtime::DeviceState& device, const Group& group, std::uint32_t most_members,
               FusedKey& key);

/// The fused kernel's arguments in the order fuse_horizontally documents, and its dims. With
/// `repeats` equal slots that follow each other are one argument. `arguments` keeps its capacity
/// from one group to the next.
void bind_members(const Plan& plan, const Group& group, bool repeats,
                  std::vector<runtime::Argument>& arguments, runtime::LaunchShape& shape);

/// Plans of one device, guarded by its issue lock.
class PlanCache {
 public:
  /// The plan for such a group; null if there is none.
  Plan* find(const Group& group, bool may_alias, std::uint32_t most_members);
  Plan& add(const Group& group, Plan plan);
  void clear() { plans_.clear(); }

 private:
  std::unordered_multimap<std::uint64_t, Plan> plans_;  // by fingerprint
};

}  // namespace salvo::window
