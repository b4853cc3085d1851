// Issuing held groups: as one launch where they fuse, one by one where they do not.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "fusion/horizontal.hpp"
#include "runtime/log.hpp"
#include "window/hazards.hpp"
#include "window/launch_window.hpp"
#include "window/launched.hpp"
#include "window/planner.hpp"

namespace salvo::window {

namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

}  // namespace

Error located(const Error& failure, const std::string& kernel, const std::source_location& where) {
  Error::Details details = failure.details();
  if (details.kernel.empty()) details.kernel = kernel;
  if (!details.launch.known()) details.launch = SourceLocation::from(where);
  return Error(std::move(details)).with_others(failure.others());
}

Error current_failure() {
  try {
    throw;
  } catch (const Error& failure) {
    return failure;
  } catch (const std::bad_alloc&) {
    return Error(Errc::out_of_memory, "the host is out of memory");
  } catch (const std::exception& failure) {
    return Error(Errc::launch_failed, failure.what());
  }
}

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

}  // namespace

void LaunchWindow::throw_first(Failures failures) {
  if (failures.empty()) return;
  const Error first = failures.front();
  failures.erase(failures.begin());
  throw first.with_others(std::move(failures));
}

void LaunchWindow::detach(runtime::DeviceState& device, std::size_t most) {
  DeviceWindow& window = window_of(device);
  const std::lock_guard lock(window.lock);
  const bool ends = most == kAll;
  if (Repetition* repeated = window.repeated) {
    if (repeated->is_complete()) {
      repeated->detach_all(window.issuing);
      window.repeated = nullptr;
      window.recorder.encourage();
      counters_.repeated.fetch_add(repeated->launches(), std::memory_order_relaxed);
      return;
    }
    if (!ends && repeated->issued() < repeated->step().issued_before) {
      repeated->detach_oldest(window.issuing);
      return;
    }
  }
  end_repetition(device, window);
  const auto end =
      window.groups.begin() + static_cast<std::ptrdiff_t>(std::min(most, window.groups.size()));
  std::move(window.groups.begin(), end, std::back_inserter(window.issuing));
  window.groups.erase(window.groups.begin(), end);
  if (ends) return keep_repetition(window, window.issuing);
  for (const auto& group : window.issuing) group->is_recorded = window.recorder.note_issued();
}

void LaunchWindow::recycle(const runtime::DeviceState& device) {
  DeviceWindow& window = window_of(device);
  // What nobody uses any more is let go without the lock: a destructor may free memory.
  runtime::Storage* storages = nullptr;
  std::vector<std::shared_ptr<KernelRecord>> kernels;
  {
    const std::lock_guard lock(window.lock);
    window.issued_through = window.issuing.back()->sequence;
    const auto unissued = static_cast<std::uint32_t>(window.issuing.size());
    for (auto& group : window.issuing) {
      if (group->is_recorded && window.recorder.is_on()) {
        window.recorder.keep(std::move(group));
      } else {
        put_back(window, std::move(group));
      }
    }
    std::erase_if(window.kernels, [&](auto& kept) {
      if (kept.second->last_held > window.issued_through) return false;
      kept.second->is_kept = false;
      if (kept.first.use_count() == 1) kernels.push_back(std::move(kept.first));
      return true;
    });
    runtime::Storage* waiting = std::exchange(window.orphans, nullptr);
    while (waiting) {
      runtime::Storage* one = std::exchange(waiting, waiting->next_orphan());
      const runtime::DeviceCopy* copy = one->copy_on(device);
      runtime::Storage*& list = copy && held_uses(window, *copy) ? window.orphans : storages;
      one->set_next_orphan(std::exchange(list, one));
    }
    window.unissued.fetch_sub(unissued, std::memory_order_release);
    window.issuing.clear();
  }
  destroy(storages);
}

void LaunchWindow::issue_oldest(runtime::DeviceState& device, std::size_t most,
                                Failures& failures) {
  DeviceWindow& window = window_of(device);
  detach(device, most);
  if (window.issuing.empty()) return;
  const std::size_t shortest = device.driver().shortest_replay();
  std::size_t next = 0;
  while (next < window.issuing.size()) {
    std::size_t end = window.issuing.size();
    if (shortest > 0 && end - next >= shortest) {
      const std::size_t ready = describe(device, next);
      if (ready >= shortest && replay(device, next, ready)) {
        next += ready;
        continue;
      }
      end = next + std::max<std::size_t>(ready, 1);
    }
    for (; next < end; ++next) {
      Group& group = *window.issuing[next];
      const std::uint64_t fallbacks = counters_.fallbacks;
      const std::size_t failed = failures.size();
      issue_group(device, group, failures);
      if (counters_.fallbacks == fallbacks && failures.size() == failed) continue;
      // What does not work out is decided anew.
      const std::lock_guard lock(window.lock);
      if (group.repetition) group.repetition->abandon();
    }
  }
  recycle(device);
}

void LaunchWindow::issue_device(runtime::DeviceState& device, Failures& failures) {
  if (window_of(device).unissued.load(std::memory_order_acquire) == 0) return;
  if (device.is_reclaiming()) return;  // this thread is issuing
  const runtime::TraceScope traced(device.trace(), "issue", "", device.id());
  const runtime::DeviceState::IssueTurn turn(device);
  issue_oldest(device, kAll, failures);
}

void LaunchWindow::issue(runtime::DeviceState& device) {
  Failures failures;
  issue_device(device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::issue_all() {
  const auto holds = [](const auto& window) {
    return window->unissued.load(std::memory_order_acquire) != 0;
  };
  if (std::ranges::none_of(windows_, holds)) return;
  Failures failures;
  for (const auto& device : core_.devices()) issue_device(*device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::flush_device(runtime::DeviceState& device, Failures& failures) {
  const runtime::TraceScope traced(device.trace(), "flush", "", device.id());
  issue_device(device, failures);
  const std::lock_guard issue(device.issue_lock());
  try {
    device.streams().submit_all();
    if (std::exchange(window_of(device).unsubmitted, false)) {
      device.driver().submit(device.driver().queue());
    }
  } catch (...) {
    failures.push_back(current_failure());
  }
}

void LaunchWindow::flush() {
  Failures failures = take_pending();
  for (const auto& device : core_.devices()) flush_device(*device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::flush(runtime::DeviceState& device) {
  Failures failures = take_pending();
  flush_device(device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::issue_from_destructor() noexcept {
  Failures failures;
  try {
    for (const auto& device : core_.devices()) issue_device(*device, failures);
  } catch (...) {
    failures.push_back(current_failure());
  }
  keep_pending(std::move(failures));
}

void LaunchWindow::keep_failure(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (...) {
    keep_pending({current_failure()});
  }
}

void LaunchWindow::exit() noexcept {
  exiting_ = true;
  compiler_.stop();
  issue_from_destructor();
  Failures failures;
  for (const auto& device : core_.devices()) {
    try {
      device->close();
    } catch (...) {
      failures.push_back(current_failure());
    }
  }
  keep_pending(std::move(failures));
}

void LaunchWindow::issue_group(runtime::DeviceState& device, Group& group, Failures& failures) {
  if (group.members.size() > 1 && issue_fused(device, group, failures)) return;
  for (auto& launch : group.members) issue_single(device, *launch, failures);
}

void LaunchWindow::issue_single(runtime::DeviceState& device, HeldLaunch& launch,
                                Failures& failures) {
  if (!launch.parts.empty()) return issue_merged(device, launch, failures);
  try {
    launch_single(device, launch);
    count_issued(launch);
  } catch (...) {
    note_failed(device, launch, current_failure(), failures);
  }
}

void LaunchWindow::issue_merged(runtime::DeviceState& device, HeldLaunch& launch,
                                Failures& failures) {
  if (launch.kernel->failed) return issue_parts(device, launch, failures);
  if (!launch.prepared->executables[launch.may_alias ? 1 : 0] &&
      is_compiling({device.shared_from_this(), launch.kernel->shared_from_this(),
                    launch.prepared->kernel, launch.prepared->digest,
                    translate_options(launch.may_alias, launch.prepared->device_contraction),
                    &launch.prepared->programs[launch.may_alias ? 1 : 0]})) {
    counters_.refuse(Reason::compiling);
    return issue_parts(device, launch, failures);
  }
  try {
    launch_single(device, launch);
    count_issued(launch);
  } catch (...) {
    const Error failure = current_failure();
    launch.kernel->failed = true;  // until the cache is cleared (W62)
    device.forget_failure(launch.prepared->digest,
                          translate_options(launch.may_alias, launch.prepared->device_contraction));
    if (failure.details().may_have_started) return note_failed(device, launch, failure, failures);
    Counters::raise(counters_.fallbacks);
    counters_.refuse(Reason::build_failed);
    log_fallback(device, launch.kernel->kernel.name, failure);
    if (explain_.listening()) {
      explain_.say({Decision::Kind::epilogue, false, Reason::build_failed,
                    launch.kernel->kernel.name, device.id(), failure.what(),
                    SourceLocation::from(launch.where)});
    }
    issue_parts(device, launch, failures);
  }
}

void LaunchWindow::issue_parts(runtime::DeviceState& device, HeldLaunch& launch,
                               Failures& failures) {
  std::vector<const HeldLaunch*> missing;
  for (const auto& part : launch.parts) {
    const auto needs = [&](const HeldLaunch* one) { return conflicts(*part, *one); };
    if (std::ranges::any_of(missing, needs)) {
      // W63: it would read what was never written.
      note_failed(device, *part,
                  Error(Errc::launch_failed, "not issued, because a launch it reads from failed"),
                  failures);
      missing.push_back(part.get());
      continue;
    }
    const std::size_t before = failures.size();
    issue_single(device, *part, failures);
    if (failures.size() > before) missing.push_back(part.get());
  }
}

void LaunchWindow::count_issued(const HeldLaunch& launch) noexcept {
  Counters::raise(counters_.issued);
  count_merges(launch);
}

void LaunchWindow::count_merges(const HeldLaunch& launch) noexcept {
  for (std::size_t k = 1; k < launch.parts.size(); ++k) Counters::raise(counters_.epilogue_merges);
}

void LaunchWindow::note_failed(runtime::DeviceState& device, const HeldLaunch& launch,
                               const Error& failure, Failures& failures) {
  for (const auto& part : launch.parts) note_failed(device, *part, failure, failures);
  if (!launch.parts.empty()) return;
  Counters::raise(counters_.failed);
  failures.push_back(located(failure, launch.kernel->kernel.name, launch.where));
  for (const Access& access : launch.accesses) {
    if (!access.overwritten || failure.details().may_have_started) continue;
    try {
      access.storage->upload_kept_bytes(device);
    } catch (...) {
      failures.push_back(located(current_failure(), launch.kernel->kernel.name, launch.where));
    }
  }
}

runtime::Executable& LaunchWindow::executable_of(runtime::DeviceState& device, Prepared& prepared,
                                                 bool may_alias) {
  if (prepared.generation != device.generation()) {
    prepared.executables = {};
    prepared.generation = device.generation();
  }
  runtime::Executable*& executable = prepared.executables[may_alias ? 1 : 0];
  if (!executable) {
    executable = &device.executable(*prepared.kernel, prepared.digest,
                                    translate_options(may_alias, prepared.device_contraction),
                                    &prepared.programs[may_alias ? 1 : 0]);
  }
  return *executable;
}

void LaunchWindow::launch_single(runtime::DeviceState& device, HeldLaunch& launch) {
  device.refuse_if_closed();
  runtime::Executable& executable = executable_of(device, *launch.prepared, launch.may_alias);
  const runtime::Dim3& block = launch.shape.block;
  if (!launch.parts.empty() &&
      std::uint64_t{block[0]} * block[1] * block[2] > executable.max_threads_per_block()) {
    throw Error(Errc::launch_failed, "the merged kernel takes smaller blocks than its producer");
  }
  window_of(device).unsubmitted = true;
  runtime::Queue& queue = device.driver().queue();
  launch.shape.ticket = device.launches().next_ticket();
  device.launch(queue, device.scratch_mark(), executable, launch.shape, launch.arguments);
  note_launched(device, queue, launch);
}

bool LaunchWindow::is_compiling(const CompileJob& job) {
  return settings_.background_compile() && !compiler_.is_done(job);
}

namespace {

ir::Kernel fuse(const Plan& plan, const Group& group) {
  std::vector<fusion::Body> bodies;
  for (const Plan::Run& run : plan.runs) {
    bodies.push_back({group.members[plan.order[run.first]]->prepared->kernel, run.slots});
  }
  return fusion::fuse_horizontally(bodies);
}

}  // namespace

Plan& LaunchWindow::plan_for(runtime::DeviceState& device, const Group& group) {
  PlanCache& plans = window_of(device).plans;
  const std::uint32_t most_members = settings_.most_members();
  if (Plan* known = plans.find(group, any_aliases(group), most_members)) {
    Counters::raise(counters_.cache_hits);
    return *known;
  }
  const runtime::TraceScope traced(device.trace(), "fuse", "", device.id());
  FusedKey key;
  Plan plan = make_plan(device, group, most_members, key);
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

bool LaunchWindow::issue_fused(runtime::DeviceState& device, Group& group, Failures& failures) {
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
    const Plan& plan = plan_for(device, group);
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
    std::vector<runtime::Argument>& arguments = window_of(device).arguments;
    runtime::LaunchShape shape;
    bind_members(plan, group, device.driver().takes_repeats(), arguments, shape);
    const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    if (threads > fused->executable->max_threads_per_block()) {
      throw Error(Errc::launch_failed, "the fused kernel takes smaller blocks than its members");
    }
    window_of(device).unsubmitted = true;
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
      for (const auto& member : group.members) note_failed(device, *member, failure, failures);
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

}  // namespace salvo::window
