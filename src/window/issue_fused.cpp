// Issuing several launches as one: groups as fused kernels, producers with their consumers, and
// what is done where that fails (W62, W63).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fusion/horizontal.hpp"
#include "runtime/log.hpp"
#include "window/hazards.hpp"
#include "window/issuer.hpp"
#include "window/launched.hpp"
#include "window/planner.hpp"

namespace salvo::window {
namespace {

void log_fallback(const runtime::DeviceState& device, const std::string& kernels,
                  const Error& failure) {
  if (!runtime::is_logging()) return;
  runtime::log(LogLevel::warning,
               fmt::format("{} is launched one by one on {}, because as one launch it failed: {}",
                           kernels, device.id(), failure.what()));
}

std::string names_of(const Group& group) {
  std::string names;
  for (const auto& member : group.members) {
    names += (names.empty() ? "" : "+") + member->kernel->kernel.name;
  }
  return names;
}

ir::Kernel fuse(const Plan& plan, const Group& group) {
  std::vector<fusion::Body> bodies;
  for (const Plan::Run& run : plan.runs) {
    bodies.push_back({group.members[plan.order[run.first]]->prepared->kernel, run.slots});
  }
  return fusion::fuse_horizontally(bodies);
}

}  // namespace

bool Issuer::is_compiling(const CompileJob& job) {
  return settings_.background_compile() && !compiler_.is_done(job);
}

Plan& Issuer::plan_for(const Round& round, const Group& group) {
  PlanCache& plans = round.issuing.plans;
  const std::uint32_t most_members = settings_.most_members();
  if (Plan* known = plans.find(group, any_aliases(group), most_members)) {
    Counters::raise(counters_.cache_hits);
    return *known;
  }
  const runtime::TraceScope traced(round.device.trace(), "fuse", "", round.device.id());
  FusedKey key;
  Plan plan = make_plan(round.device, group, most_members, key);
  plan.fused = fused_cache_.find(key);
  Counters::raise(plan.fused ? counters_.cache_hits : counters_.cache_misses);
  if (!plan.fused) {
    try {
      plan.fused = fused_cache_.add(key, fuse(plan, group));
    } catch (...) {
      fused_cache_.add(key, {})->failed = true;  // not tried again (W62)
      throw;
    }
  }
  return plans.add(group, std::move(plan));
}

bool Issuer::issue_fused(const Round& round, Group& group) {
  runtime::DeviceState& device = round.device;
  const auto decline = [&](Reason reason, std::string words) {
    counters_.refuse(reason);
    if (!explain_.listening()) return false;
    explain_.say({Decision::Kind::horizontal, false, reason, names_of(group), device.id(),
                  std::move(words), SourceLocation::from(group.members.back()->where),
                  SourceLocation::from(group.members.front()->where)});
    return false;
  };
  if (settings_.planner() == Planner::profit) {
    const Reason reason = judge_fusion(device.properties(), group.members);
    if (reason != Reason::none) return decline(reason, "");
  }
  std::shared_ptr<FusedKernel> fused;
  const Prepared& first = *group.members.front()->prepared;
  const runtime::TranslateOptions options =
      translate_options(any_aliases(group), first.device_contraction);
  try {
    const Plan& plan = plan_for(round, group);
    fused = plan.fused;
    if (fused->failed) return decline(Reason::failed_before, "");
    if (!fused->executable || fused->generation != device.generation()) {
      if (is_compiling(
              {device.shared_from_this(), fused, &fused->kernel, fused->digest, options})) {
        return decline(Reason::compiling, "");
      }
      fused->executable = &device.executable(fused->kernel, fused->digest, options);
      fused->generation = device.generation();
    }
    std::vector<runtime::Argument>& arguments = round.issuing.arguments;
    runtime::LaunchShape shape;
    bind_members(plan, group, device.driver().takes_repeats(), arguments, shape);
    const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    if (threads > fused->executable->max_threads_per_block()) {
      throw Error(Errc::launch_failed, "the fused kernel takes smaller blocks than its members");
    }
    round.issuing.unsubmitted = true;
    shape.ticket = device.launches().next_ticket();
    device.launch(device.driver().queue(), device.scratch_mark(), *fused->executable, shape,
                  arguments);
  } catch (...) {
    const Error failure = current_failure();
    if (fused) {
      fused->failed = true;  // until the cache is cleared (W62)
      device.forget_failure(fused->digest, options);
    }
    if (failure.details().may_have_started) {
      // Running a member twice would change its result: all of them count as failed.
      for (const auto& member : group.members) note_failed(round, *member, failure);
      return true;
    }
    Counters::raise(counters_.fallbacks);
    log_fallback(device, names_of(group), failure);
    return decline(Reason::build_failed, failure.what());
  }
  for (const auto& member : group.members) {
    note_launched(device, device.driver().queue(), *member);
    count_merges(*member);
  }
  Counters::raise(counters_.issued);
  Counters::raise(counters_.fused_groups);
  return true;
}

void Issuer::issue_merged(const Round& round, HeldLaunch& launch) {
  runtime::DeviceState& device = round.device;
  if (launch.kernel->failed) return issue_parts(round, launch);
  if (!launch.prepared->executables[launch.may_alias ? 1 : 0] &&
      is_compiling({device.shared_from_this(), launch.kernel->shared_from_this(),
                    launch.prepared->kernel, launch.prepared->digest,
                    translate_options(launch.may_alias, launch.prepared->device_contraction),
                    &launch.prepared->programs[launch.may_alias ? 1 : 0]})) {
    counters_.refuse(Reason::compiling);
    return issue_parts(round, launch);
  }
  try {
    launch_single(round, launch);
    count_issued(launch);
  } catch (...) {
    const Error failure = current_failure();
    launch.kernel->failed = true;  // until the cache is cleared (W62)
    device.forget_failure(launch.prepared->digest,
                          translate_options(launch.may_alias, launch.prepared->device_contraction));
    if (failure.details().may_have_started) return note_failed(round, launch, failure);
    Counters::raise(counters_.fallbacks);
    counters_.refuse(Reason::build_failed);
    log_fallback(device, launch.kernel->kernel.name, failure);
    if (explain_.listening()) {
      explain_.say({Decision::Kind::epilogue, false, Reason::build_failed,
                    launch.kernel->kernel.name, device.id(), failure.what(),
                    SourceLocation::from(launch.where)});
    }
    issue_parts(round, launch);
  }
}

void Issuer::issue_parts(const Round& round, HeldLaunch& launch) {
  std::vector<const HeldLaunch*> missing;
  for (const auto& part : launch.parts) {
    const auto needs = [&](const HeldLaunch* one) { return conflicts(*part, *one); };
    if (std::ranges::any_of(missing, needs)) {
      // W63: it would read what was never written.
      note_failed(
          round, *part,
          Error(Error::Details{.code = Errc::launch_failed,
                               .message = "not issued, because a launch it reads from failed",
                               .backend = round.device.backend_name(),
                               .operation = "launch"}));
      missing.push_back(part.get());
      continue;
    }
    const std::size_t before = round.failures.size();
    issue_single(round, *part);
    if (round.failures.size() > before) missing.push_back(part.get());
  }
}

}  // namespace salvo::window
