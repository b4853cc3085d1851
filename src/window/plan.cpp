// Remembers which fused kernel a group became, so that a window that repeats does no analysis
// (W79).
// SPDX-License-Identifier: MIT
#include "window/plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "window/limits.hpp"

namespace salvo::window {
namespace {

const ir::Digest& digest_of(const Group& group, std::uint32_t member) {
  return group.members[member]->prepared->digest;
}

/// Table sizes. A group of one kernel gets the same size whatever its count, so that it compiles
/// once (W38); in a mixed group they come in powers of two. Where that would pass a limit that the
/// members themselves keep, they fit exactly (W31).
void size_tables(Plan& plan, const DeviceProperties& limits, const Group& group) {
  constexpr std::uint32_t kUsual = 8;
  std::vector<std::uint32_t> padded;
  runtime::ParameterCost cost;
  for (const Plan::Run& run : plan.runs) {
    std::uint32_t slots = std::bit_ceil(run.count);
    if (plan.runs.size() == 1 && run.count > 1) {
      slots = run.count <= kUsual ? kUsual : std::max(slots, std::bit_ceil(plan.most_members));
    }
    const runtime::ParameterCost each =
        group.members[plan.order[run.first]]->prepared->cost + kMemberCost;
    for (std::uint32_t slot = 0; slot < slots; ++slot) cost = cost + each;
    padded.push_back(slots);
  }
  const bool fits = limit_passed(limits, cost) == Reason::none;
  for (std::size_t i = 0; i < padded.size(); ++i) {
    plan.runs[i].slots = fits ? padded[i] : plan.runs[i].count;
  }
}

bool is_for(const Plan& plan, const Group& group, bool may_alias, std::uint32_t most_members) {
  return plan.may_alias == may_alias && plan.most_members == most_members &&
         std::ranges::equal(plan.kernels, group.members, {}, {},
                            [](const auto& member) { return member->kernel->serial; });
}

}  // namespace

bool any_aliases(const Group& group) noexcept {
  return std::ranges::any_of(group.members, [](const auto& member) { return member->may_alias; });
}

Plan make_plan(const runtime::DeviceState& device, const Group& group, std::uint32_t most_members,
               FusedKey& key) {
  Plan plan;
  plan.may_alias = any_aliases(group);
  plan.most_members = most_members;
  for (const auto& member : group.members) plan.kernels.push_back(member->kernel->serial);
  plan.order.resize(group.members.size());
  std::iota(plan.order.begin(), plan.order.end(), 0U);
  std::ranges::stable_sort(plan.order, {}, [&](auto member) { return digest_of(group, member); });
  for (std::uint32_t i = 0; i < plan.order.size(); ++i) {
    if (i > 0 && digest_of(group, plan.order[i]) == digest_of(group, plan.order[i - 1])) {
      ++plan.runs.back().count;
    } else {
      plan.runs.push_back({i, 1, 1});
    }
  }
  size_tables(plan, device.properties(), group);
  key = {device.serial(), plan.may_alias, group.members.front()->prepared->device_contraction, {}};
  for (const Plan::Run& run : plan.runs) {
    key.bodies.push_back({digest_of(group, plan.order[run.first]), run.slots});
  }
  return plan;
}

void bind_members(const Plan& plan, const Group& group, bool repeats,
                  std::vector<runtime::Argument>& arguments, runtime::LaunchShape& shape) {
  constexpr std::uint32_t kUnused = std::numeric_limits<std::int32_t>::max();
  arguments.clear();
  const auto member = [&](std::uint32_t position) -> const HeldLaunch& {
    return *group.members[plan.order[position]];
  };
  const auto pad = [&](runtime::Argument argument, std::uint32_t count) {
    if (count == 0) return;
    argument.repeats = repeats ? count : 1;
    arguments.insert(arguments.end(), repeats ? 1 : count, argument);
  };
  for (const Plan::Run& run : plan.runs) {
    const std::size_t parameters = member(run.first).arguments.size();
    for (std::size_t p = 0; p < parameters; ++p) {
      for (std::uint32_t slot = 0; slot < run.count; ++slot) {
        arguments.push_back(member(run.first + slot).arguments[p]);
      }
      // Unused slots repeat the first: an argument must be something, and nothing touches it.
      runtime::Argument unused = member(run.first).arguments[p];
      unused.access = runtime::AccessMode::none;
      pad(unused, run.slots - run.count);
    }
  }
  const auto scalar = [&](std::uint32_t value) { arguments.emplace_back().bits = value; };
  const auto scalars = [&](std::uint32_t value, std::uint32_t count) {
    runtime::Argument argument;
    argument.bits = value;
    pad(argument, count);
  };
  std::uint32_t next_block = 0;
  for (const Plan::Run& run : plan.runs) {
    const std::uint32_t unused = run.slots - run.count;
    for (std::uint32_t slot = 0; slot < run.count; ++slot) {
      scalar(next_block);
      next_block += member(run.first + slot).shape.grid[0];
    }
    scalars(kUnused, unused);
    for (std::uint32_t slot = 0; slot < run.count; ++slot) {
      scalar(member(run.first + slot).shape.grid[0]);
    }
    scalars(0, unused);
  }
  shape = group.members.front()->shape;
  shape.grid[0] = next_block;
}

Plan* PlanCache::find(const Group& group, bool may_alias, std::uint32_t most_members) {
  const auto [first, last] = plans_.equal_range(group.fingerprint);
  for (auto one = first; one != last; ++one) {
    if (is_for(one->second, group, may_alias, most_members)) return &one->second;
  }
  return nullptr;
}

Plan& PlanCache::add(const Group& group, Plan plan) {
  return plans_.emplace(group.fingerprint, std::move(plan))->second;
}

}  // namespace salvo::window
