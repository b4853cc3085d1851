// Joining a launch to a held one that writes what it reads, as that one's epilogue (W11, W39-W48).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "window/hazards.hpp"
#include "window/limits.hpp"
#include "window/placer.hpp"

namespace salvo::window {
namespace {

/// Whether `consumer` reads bytes that `producer` writes.
bool feeds(const HeldLaunch& producer, const HeldLaunch& consumer) {
  return std::ranges::any_of(producer.accesses, [&](const Access& written) {
    return written.writes && std::ranges::any_of(consumer.accesses, [&](const Access& read) {
             return read.reads && conflicts(written, read);
           });
  });
}

/// Room for `added` more, so that adding them throws nothing. Grows by doubling, as adding would.
template <class T>
void reserve_more(std::vector<T>& all, std::size_t added) {
  if (all.capacity() - all.size() >= added) return;
  all.reserve(std::max(all.size() + added, 2 * all.capacity()));
}

}  // namespace

bool Placer::has_grant(const KernelRecord& kernel) const {
  return grants_.reason(kernel, Deviation::cross_kernel_contraction).has_value();
}

bool Placer::has_grant(const HeldLaunch& launch) const {
  if (launch.parts.empty()) return has_grant(*launch.kernel);
  return std::ranges::all_of(launch.parts, [&](const auto& part) { return has_grant(*part); });
}

bool Placer::is_granted(const KernelRecord& kernel, const Prepared& prepared) const {
  return !prepared.device_contraction || has_grant(kernel);
}

bool Placer::is_granted(const HeldLaunch& launch) const {
  return !launch.prepared->device_contraction || has_grant(launch);
}

Placer::Merge Placer::find_producer(const Candidate& candidate, const HeldLaunch& launch,
                                    std::uint64_t after) {
  auto& groups = candidate.held.groups;
  if (groups.empty() || !settings_.epilogue_on(candidate.device)) return {};
  // It conflicts with no group later than `after`; what it conflicts with in earlier ones is issued
  // before.
  const auto group = std::ranges::find(groups, after, [](const auto& g) { return g->sequence; });
  if (group == groups.end()) return {};

  const MemberConflicts found = member_conflicts(launch, **group);
  if (found.count == 0) return {};
  Merge merge;
  merge.producer = found.member;
  const HeldLaunch& producer = *(*group)->members[merge.producer];
  if (!feeds(producer, launch)) return {};
  merge.group = group->get();

  if (found.count > 1) {
    merge.reason = Reason::dependency;
    merge.detail = "it conflicts with another launch of the group";
  } else if (merge.group->launches >= settings_.most_members()) {
    merge.reason = Reason::group_full;
  } else {
    judge_merge(candidate, launch, producer, merge);
  }
  return merge;
}

void Placer::judge_merge(const Candidate& candidate, const HeldLaunch& launch,
                         const HeldLaunch& producer, Merge& merge) {
  const auto refuse = [&](Reason reason, std::string_view detail = "") {
    merge.reason = reason;
    merge.detail = detail;
  };
  if (producer.prepared->device_contraction != candidate.prepared.device_contraction) {
    return refuse(Reason::contraction_differs);
  }
  if (!candidate.device.properties().exact_compiler_options)
    return refuse(Reason::inexact_compiler);
  // Before it is probed, a device counts as one that does as it is told; it is probed before the
  // first merge, and then this is asked again.
  if (candidate.prepared.device_contraction ||
      (candidate.device.is_probed() && candidate.device.contracts_anyway())) {
    // Asked once: another thread may take a grant back.
    const auto granted = grants_.reason(candidate.kernel, Deviation::cross_kernel_contraction);
    if (!granted || !has_grant(producer)) return refuse(Reason::needs_grant);
    merge.detail = fmt::format("granted={} reason=\"{}\"",
                               name(Deviation::cross_kernel_contraction), *granted);
  }
  const runtime::TraceScope traced(candidate.device.trace(), "fuse", candidate.kernel.kernel.name,
                                   candidate.device.id());
  EpilogueCache::Verdict verdict = epilogue_cache_.judge(producer, launch);
  merge.producer_values = verdict.producer_values;
  merge.consumer_values = verdict.consumer_values;
  if (verdict.reason != Reason::none) return refuse(verdict.reason, verdict.words);
  merge.kernel = std::move(verdict.merged);
  if (merge.group->members.size() > 1 && merge.kernel->horizontal_refusal != Reason::none) {
    return refuse(merge.kernel->horizontal_refusal);
  }
  // Asked before the source is made, which a target may be unable to do over its limits (W48).
  const Prepared* known = merge.kernel->known_on(candidate.device);
  const Reason over = limit_passed(
      candidate.device.properties(),
      known ? known->cost : candidate.device.driver().parameter_cost(merge.kernel->kernel));
  if (over != Reason::none) return refuse(over);
  try {
    merge.prepared = &merge.kernel->on(candidate.device);
  } catch (const Error& failure) {
    merge.kernel->failed = true;
    return refuse(Reason::build_failed, failure.what());
  }
  merge.reason = merge_limits(candidate, merge);
}

void Placer::fix_values(HeldLaunch& launch, std::uint64_t values) {
  launch.fixed_values |= values;
  // Of a merged launch they are values of its parts, behind each consumer's of which is its range.
  const bool beyond = (values & value_bit(63)) != 0;
  std::size_t base = 0;
  for (const auto& part : launch.parts) {
    part->fixed_values |= beyond ? ~std::uint64_t{0} : base < 63 ? values >> base : 0;
    base += part->arguments.size() + (part == launch.parts.front() ? 0 : 1);
  }
}

void Placer::explain_merge(const Candidate& candidate, const HeldLaunch& launch,
                           const Merge& merge) {
  if (merge.reason != Reason::none) counters_.refuse(merge.reason);
  if (!explain_.listening()) return;
  const HeldLaunch& producer = *merge.group->members[merge.producer];
  explain_.say({Decision::Kind::epilogue, merge.reason == Reason::none, merge.reason,
                producer.kernel->kernel.name + "+" + candidate.kernel.kernel.name,
                candidate.device.id(), merge.detail, SourceLocation::from(launch.where),
                SourceLocation::from(producer.where)});
}

Reason Placer::merge_limits(const Candidate& candidate, const Merge& merge) {
  const auto& members = merge.group->members;
  if (members.size() == 1) return Reason::none;
  runtime::ParameterCost cost;
  for (std::size_t m = 0; m < members.size(); ++m) {
    const Prepared& prepared = m == merge.producer ? *merge.prepared : *members[m]->prepared;
    cost = cost + prepared.cost + kMemberCost;
  }
  return limit_passed(candidate.device.properties(), cost);
}

std::unique_ptr<HeldLaunch> Placer::merged_launch(const Candidate& candidate, const Merge& merge,
                                                  const HeldLaunch& consumer) {
  std::unique_ptr<HeldLaunch>& producer = merge.group->members[merge.producer];
  // A chain grows by what is new: the merged launch that it was takes the next consumer in.
  const bool grows = !producer->parts.empty();
  std::unique_ptr<HeldLaunch> merged;
  if (!grows) {
    merged = candidate.held.spare_launch();
    merged->reset();
    merged->shape = producer->shape;
    merged->where = producer->where;
    merged->may_alias = false;
  }
  HeldLaunch& launch = grows ? *producer : *merged;
  const std::size_t most_added = producer->arguments.size() + consumer.arguments.size() + 1;
  reserve_more(launch.arguments, most_added);
  reserve_more(launch.accesses, producer->accesses.size() + consumer.accesses.size());
  reserve_more(launch.parts, 2);
  candidate.held.keep(*merge.kernel, *merge.prepared, merge.group->sequence);
  candidate.held.keep(candidate.kernel, candidate.prepared, merge.group->sequence);
  // From here on nothing throws.
  launch.kernel = merge.kernel.get();
  launch.prepared = merge.prepared;
  for (Access& access : launch.accesses) {
    // Merging may have made a use of a span unnecessary.
    const ParameterFacts& facts = merge.kernel->parameters[access.parameter];
    access.reads = facts.reads;
    access.writes = facts.writes;
    launch.arguments[access.parameter].access = facts.access;
  }
  const auto append = [&](const HeldLaunch& one) {
    const auto base = static_cast<std::uint32_t>(launch.arguments.size());
    std::ranges::copy(one.arguments, std::back_inserter(launch.arguments));
    for (const Access& access : one.accesses) {
      add_access(launch, base + access.parameter, *access.storage, access.copy,
                 candidate.device.properties().store_unit_bytes);
    }
  };
  if (!grows) append(*producer);
  append(consumer);
  runtime::Argument range;
  range.bits = std::uint64_t{consumer.shape.grid[0]} * consumer.shape.block[0];
  launch.arguments.push_back(range);
  return merged;
}

void Placer::merge_into(const Merge& merge, std::unique_ptr<HeldLaunch> merged,
                        std::unique_ptr<HeldLaunch> consumer) {
  Group& group = *merge.group;
  std::unique_ptr<HeldLaunch>& place = group.members[merge.producer];
  stamp(*consumer, group.sequence, merge.producer);
  if (merged) {
    merged->parts.push_back(std::move(place));
    place = std::move(merged);
  }
  place->parts.push_back(std::move(consumer));
  ++group.launches;
  group.cost = {};
  group.fingerprint = 0;
  for (const auto& member : group.members) {
    group.cost = group.cost + member->prepared->cost + kMemberCost;
    group.fingerprint = fingerprint_with(group.fingerprint, *member->kernel);
  }
}

}  // namespace salvo::window
