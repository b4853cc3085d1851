// Issuing held groups: as one launch where they fuse, one by one where they do not.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <utility>

#include "fusion/horizontal.hpp"
#include "window/launch_window.hpp"
#include "window/planner.hpp"

namespace salvo::window {

Error located(const Error& failure, const KernelRecord& kernel,
              const std::source_location& where) {
  Error::Details details = failure.details();
  if (details.kernel.empty()) details.kernel = kernel.kernel.name;
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

void LaunchWindow::throw_first(Failures failures) {
  if (failures.empty()) return;
  const Error first = failures.front();
  failures.erase(failures.begin());
  throw first.with_others(std::move(failures));
}

std::vector<std::unique_ptr<Group>> LaunchWindow::detach(DeviceWindow& window, std::size_t most) {
  const std::lock_guard lock(window.lock);
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, window.groups.size()));
  std::vector<std::unique_ptr<Group>> taken(
      std::make_move_iterator(window.groups.begin()),
      std::make_move_iterator(window.groups.begin() + count));
  window.groups.erase(window.groups.begin(), window.groups.begin() + count);
  return taken;
}

void LaunchWindow::recycle(DeviceWindow& window, std::vector<std::unique_ptr<Group>> groups) {
  // What the launches own is let go before the lock is taken: a destructor may free memory.
  for (auto& group : groups) {
    for (auto& launch : group->members) launch->reset();
  }
  const std::lock_guard lock(window.lock);
  for (auto& group : groups) {
    std::ranges::move(group->members, std::back_inserter(window.spare_launches));
    group->members.clear();
    window.spare_groups.push_back(std::move(group));
  }
}

void LaunchWindow::issue_groups(runtime::DeviceState& device,
                                std::vector<std::unique_ptr<Group>> groups, Failures& failures) {
  for (auto& group : groups) issue_group(device, *group, failures);
  recycle(window_of(device), std::move(groups));
}

void LaunchWindow::issue_device(runtime::DeviceState& device, Failures& failures) {
  const std::lock_guard issue(device.issue_lock());
  issue_groups(device, detach(window_of(device), std::numeric_limits<std::ptrdiff_t>::max()),
               failures);
}

void LaunchWindow::issue(runtime::DeviceState& device) {
  Failures failures;
  issue_device(device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::issue_all() {
  Failures failures;
  for (const auto& device : core_.devices()) issue_device(*device, failures);
  throw_first(std::move(failures));
}

void LaunchWindow::flush() {
  Failures failures = take_pending();
  for (const auto& device : core_.devices()) {
    issue_device(*device, failures);
    const std::lock_guard issue(device->issue_lock());
    bool& unsubmitted = window_of(*device).unsubmitted;
    if (!std::exchange(unsubmitted, false)) continue;
    try {
      device->driver().submit(device->driver().queue());
    } catch (...) {
      failures.push_back(current_failure());
    }
  }
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

void LaunchWindow::issue_group(runtime::DeviceState& device, Group& group, Failures& failures) {
  if (group.members.size() > 1 && issue_fused(device, group, failures)) return;
  for (auto& launch : group.members) issue_single(device, *launch, failures);
}

void LaunchWindow::issue_single(runtime::DeviceState& device, HeldLaunch& launch,
                                Failures& failures) {
  try {
    launch_single(device, launch);
    Counters::raise(counters_.issued);
  } catch (...) {
    Counters::raise(counters_.failed);
    failures.push_back(located(current_failure(), *launch.kernel, launch.where));
  }
}

void LaunchWindow::launch_single(runtime::DeviceState& device, HeldLaunch& launch) {
  Prepared& prepared = *launch.prepared;
  if (prepared.generation != device.generation()) {
    prepared.executables = {};
    prepared.generation = device.generation();
  }
  runtime::Executable*& executable = prepared.executables[launch.may_alias ? 1 : 0];
  if (!executable) {
    executable = &device.executable(launch.kernel->kernel, launch.kernel->digest,
                                    translate_options(launch.may_alias),
                                    &prepared.programs[launch.may_alias ? 1 : 0]);
  }
  window_of(device).unsubmitted = true;
  device.driver().launch(device.driver().queue(), *executable, launch.shape, launch.arguments);
}

namespace {

/// Members in canonical order, so that the same set in another order is the same kernel (W38).
void sort_members(Group& group) {
  std::ranges::stable_sort(group.members, {},
                           [](const auto& member) { return member->kernel->digest; });
}

/// Table sizes. A group of one kernel gets the same size whatever its count, so that it compiles
/// once (W38); in a mixed group they come in powers of two. Where that would pass a limit that the
/// members themselves keep, they fit exactly (W31).
void size_tables(FusedKey& key, const DeviceProperties& limits, const Group& group,
                 std::uint32_t most_members) {
  constexpr std::uint32_t kUsual = 8;
  std::vector<std::uint32_t> padded;
  runtime::ParameterCost cost;
  auto member = group.members.begin();
  for (const FusedKey::Body& body : key.bodies) {
    std::uint32_t slots = std::bit_ceil(body.slots);
    if (key.bodies.size() == 1 && body.slots > 1) {
      slots = body.slots <= kUsual ? kUsual : std::max(std::bit_ceil(body.slots), std::bit_ceil(most_members));
    }
    for (std::uint32_t i = 0; i < slots; ++i) cost = cost + (*member)->prepared->cost + kMemberCost;
    std::advance(member, body.slots);
    padded.push_back(slots);
  }
  const auto fits = [](std::uint64_t need, std::uint64_t limit) { return limit == 0 || need <= limit; };
  if (!fits(cost.bytes, limits.parameter_bytes) || !fits(cost.slots, limits.argument_slots) ||
      !fits(cost.push_constant_bytes, limits.push_constant_bytes)) {
    return;
  }
  for (std::size_t i = 0; i < padded.size(); ++i) key.bodies[i].slots = padded[i];
}

FusedKey key_of(const runtime::DeviceState& device, const Group& group,
                std::uint32_t most_members) {
  FusedKey key{device.serial(), false, {}};
  for (const auto& member : group.members) {
    key.may_alias = key.may_alias || member->may_alias;
    if (key.bodies.empty() || key.bodies.back().digest != member->kernel->digest) {
      key.bodies.push_back({member->kernel->digest, 1});
    } else {
      ++key.bodies.back().slots;
    }
  }
  size_tables(key, device.properties(), group, most_members);
  return key;
}

ir::Kernel fuse(const FusedKey& key, const Group& group) {
  std::vector<fusion::Body> bodies;
  auto member = group.members.begin();
  for (const FusedKey::Body& body : key.bodies) {
    bodies.push_back({&(*member)->kernel->kernel, body.slots});
    while (member != group.members.end() && (*member)->kernel->digest == body.digest) ++member;
  }
  return fusion::fuse_horizontally(bodies);
}

/// The fused kernel's arguments, in the order fuse_horizontally documents.
void bind_members(const FusedKey& key, const Group& group, std::vector<runtime::Argument>& arguments,
                  runtime::LaunchShape& shape) {
  const auto scalar = [](std::uint32_t value) {
    runtime::Argument argument;
    argument.bits = value;
    return argument;
  };
  std::vector<runtime::Argument> ranges;
  std::uint32_t next_block = 0;
  std::size_t first = 0;
  for (const FusedKey::Body& body : key.bodies) {
    std::size_t end = first;
    while (end < group.members.size() && group.members[end]->kernel->digest == body.digest) ++end;
    const std::size_t parameters = group.members[first]->arguments.size();
    for (std::size_t p = 0; p < parameters; ++p) {
      for (std::uint32_t slot = 0; slot < body.slots; ++slot) {
        const std::size_t member = first + slot < end ? first + slot : first;
        arguments.push_back(group.members[member]->arguments[p]);
      }
    }
    std::vector<runtime::Argument> counts;
    for (std::uint32_t slot = 0; slot < body.slots; ++slot) {
      const bool used = first + slot < end;
      const std::uint32_t blocks = used ? group.members[first + slot]->shape.grid[0] : 0;
      ranges.push_back(scalar(used ? next_block : std::numeric_limits<std::int32_t>::max()));
      counts.push_back(scalar(blocks));
      next_block += blocks;
    }
    ranges.insert(ranges.end(), counts.begin(), counts.end());
    first = end;
  }
  arguments.insert(arguments.end(), ranges.begin(), ranges.end());
  shape = group.members.front()->shape;
  shape.grid[0] = next_block;
}

}  // namespace

bool LaunchWindow::issue_fused(runtime::DeviceState& device, Group& group, Failures& failures) {
  const auto decline = [&](Reason reason, std::string words) {
    counters_.refuse(reason);
    if (!explain_.listening()) return false;
    std::string names;
    for (const auto& member : group.members) {
      names += (names.empty() ? "" : "+") + member->kernel->kernel.name;
    }
    explain_.say({Decision::Kind::horizontal, false, reason, names, device.id(), std::move(words)});
    return false;
  };
  if (settings_.planner() == Planner::profit) {
    const Reason reason = judge_fusion(device.properties(), group.members);
    if (reason != Reason::none) return decline(reason, "");
  }
  sort_members(group);
  const FusedKey key = key_of(device, group, settings_.most_members());
  std::shared_ptr<FusedKernel> fused = fused_cache_.find(key);
  if (fused && fused->failed) return decline(Reason::failed_before, "");
  Counters::raise(fused ? counters_.cache_hits : counters_.cache_misses);
  const runtime::TranslateOptions options = translate_options(key.may_alias);
  try {
    if (!fused) fused = fused_cache_.add(key, fuse(key, group));
    if (!fused->executable || fused->generation != device.generation()) {
      fused->executable = &device.executable(fused->kernel, fused->digest, options);
      fused->generation = device.generation();
    }
    std::vector<runtime::Argument> arguments;
    runtime::LaunchShape shape;
    bind_members(key, group, arguments, shape);
    const std::uint64_t threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
    if (threads > fused->executable->max_threads_per_block()) {
      throw Error(Errc::launch_failed, "the fused kernel takes smaller blocks than its members");
    }
    window_of(device).unsubmitted = true;
    device.driver().launch(device.driver().queue(), *fused->executable, shape, arguments);
  } catch (...) {
    const Error failure = current_failure();
    if (!fused) fused = fused_cache_.add(key, {});
    fused->failed = true;  // until the cache is cleared (W62)
    device.forget_failure(fused->digest, options);
    if (failure.details().may_have_started) {
      // Running a member twice would change its result: all of them count as failed.
      for (const auto& member : group.members) {
        Counters::raise(counters_.failed);
        failures.push_back(located(failure, *member->kernel, member->where));
      }
      return true;
    }
    Counters::raise(counters_.fallbacks);
    return decline(Reason::build_failed, failure.what());
  }
  Counters::raise(counters_.issued);
  Counters::raise(counters_.fused_groups);
  return true;
}

}  // namespace salvo::window
