// Holding launches: capture at the call, placement in groups, and the moments that issue them.
// SPDX-License-Identifier: MIT
#include "window/launch_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "window/hazards.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

/// Spelled out, because comparing arrays calls memcmp.
bool same(const runtime::Dim3& a, const runtime::Dim3& b) noexcept {
  return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/// R5: out of memory says what is in use besides what was asked for.
Error with_memory_words(const Error& failure, runtime::DeviceState& device) {
  if (failure.code() != Errc::out_of_memory) return failure;
  const runtime::PoolStatistics pool = device.pool().statistics();
  Error::Details details = failure.details();
  details.message += fmt::format("; {} holds {} bytes in vectors and {} bytes free for reuse",
                                 device.id(), pool.in_use, pool.cached);
  return Error(std::move(details));
}

}  // namespace

bool is_ready(const detail::CallArgument& argument, const runtime::DeviceState& device) noexcept {
  if (!argument.storage || argument.storage->current_on(device)) return true;
  return argument.overwritten && argument.storage->copy_on(device);
}

bool are_ready(std::span<const detail::CallArgument> arguments,
               const runtime::DeviceState& device) noexcept {
  return std::ranges::all_of(
      arguments, [&](const detail::CallArgument& argument) { return is_ready(argument, device); });
}

bool touches_escaped(std::span<const detail::CallArgument> arguments) noexcept {
  return std::ranges::any_of(arguments, [](const detail::CallArgument& argument) {
    return argument.storage && argument.storage->escaped();
  });
}

LaunchWindow::LaunchWindow(runtime::Core& core)
    : core_(core), explain_(core.environment().explain, core.trace()) {
  settings_.set_background_compile(core.environment().background_compile);
  for (std::size_t i = 0; i < core.devices().size(); ++i) {
    windows_.push_back(std::make_unique<DeviceWindow>());
  }
}

void LaunchWindow::destroy(runtime::Storage* orphans) noexcept {
  while (orphans) delete std::exchange(orphans, orphans->next_orphan());
}

LaunchWindow::~LaunchWindow() {
  for (const auto& window : windows_) {
    destroy(window->orphans);
  }
}

void LaunchWindow::capture(const Call& call, HeldLaunch& launch) {
  launch.reset();
  launch.kernel = call.kernel.get();
  launch.prepared = &call.prepared;
  launch.shape = call.shape;
  launch.where = call.dims.where();
  launch.may_alias = false;
  const std::uint32_t store_unit = call.device.properties().store_unit_bytes;
  launch.arguments.resize(call.arguments.size());
  for (std::size_t p = 0; p < call.arguments.size(); ++p) {
    const detail::CallArgument& given = call.arguments[p];
    const ParameterFacts& facts = call.kernel->parameters[p];
    runtime::Argument& argument = launch.arguments[p];
    if (!facts.is_span) {
      argument.bits = given.bits;
      continue;
    }
    argument.byte_offset = given.byte_offset;
    argument.length = given.length;
    if (!given.storage) continue;
    runtime::DeviceCopy* copy = given.storage->copy_on(call.device);
    if (copy) argument.buffer = copy->buffer;
    add_access(launch, static_cast<std::uint32_t>(p), *given.storage, copy, store_unit);
    launch.accesses.back().overwritten = given.overwritten;
  }
  for (const LiveValue& live : call.kernel->live) {
    std::memcpy(&launch.arguments.emplace_back().bits, live.host, ir::size_of(live.type));
  }
}

Reason LaunchWindow::why_not_joined(const Call& call, const Group& group) const {
  const HeldLaunch& first = *group.members.front();
  if (first.kernel->horizontal_refusal != Reason::none) return first.kernel->horizontal_refusal;
  if (!same(first.shape.block, call.shape.block)) return Reason::block_differs;
  if (first.shape.grid[1] != call.shape.grid[1] || first.shape.grid[2] != call.shape.grid[2]) {
    return Reason::grid_differs;
  }
  if (first.kernel->contraction != call.kernel->contraction) return Reason::contraction_differs;
  if (call.prepared.device_contraction &&
      (!is_granted(*call.kernel, call.prepared) ||
       !std::ranges::all_of(group.members, [&](const auto& m) { return is_granted(*m); }))) {
    return Reason::needs_grant;
  }
  if (group.launches >= settings_.most_members()) return Reason::group_full;
  const DeviceProperties& limits = call.device.properties();
  if (group.grid_x + call.shape.grid[0] > limits.max_grid[0] ||
      (group.grid_x + call.shape.grid[0]) * call.shape.block[0] >
          std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
    return Reason::grid_limit;
  }
  if (group.shared_bytes + call.kernel->shared_bytes > limits.shared_bytes_per_block) {
    return Reason::shared_limit;
  }
  const runtime::ParameterCost cost = group.cost + call.prepared.cost + kMemberCost;
  return limit_passed(limits, cost);
}

Group* LaunchWindow::find_group(const Call& call, std::uint64_t after, Reason& reason) {
  auto& groups = call.window.groups;
  reason = Reason::none;
  if (groups.empty()) return nullptr;
  reason = call.kernel->horizontal_refusal;
  if (reason != Reason::none) return nullptr;
  if (after >= groups.back()->sequence) reason = Reason::dependency;
  for (auto& group : groups) {
    if (group->sequence <= after) continue;
    reason = why_not_joined(call, *group);
    if (reason == Reason::none) return group.get();
  }
  return nullptr;
}

std::unique_ptr<HeldLaunch> LaunchWindow::spare_launch(DeviceWindow& window) {
  if (window.spare_launches.empty()) return std::make_unique<HeldLaunch>();
  auto launch = std::move(window.spare_launches.back());
  window.spare_launches.pop_back();
  return launch;
}

Group& LaunchWindow::new_group(DeviceWindow& window) {
  std::unique_ptr<Group> group;
  if (window.spare_groups.empty()) {
    group = std::make_unique<Group>();
  } else {
    group = std::move(window.spare_groups.back());
    window.spare_groups.pop_back();
  }
  group->grid_x = group->shared_bytes = 0;
  group->launches = 0;
  group->cost = {};
  group->fingerprint = 0;
  group->members.reserve(group->members.size() + 1);
  window.groups.push_back(std::move(group));
  window.groups.back()->sequence = ++window.last_sequence;
  window.unissued.fetch_add(1, std::memory_order_relaxed);
  return *window.groups.back();
}

LaunchWindow::Step LaunchWindow::try_to_hold(const Call& call) {
  DeviceWindow& window = call.window;
  const std::lock_guard lock(window.lock);
  if (exiting_ || touches_escaped(call.arguments)) return Step::too_late;
  std::unique_ptr<HeldLaunch> launch = spare_launch(window);
  capture(call, *launch);
  const std::uint64_t after = latest_conflict(*launch, window.groups);
  const bool current = are_ready(call.arguments, call.device);
  // A launch whose vectors are yet to come is looked at again when they are there.
  const Merge merge = current ? find_producer(call, *launch, after) : Merge{};
  if (merge.group && merge.reason == Reason::none) {
    if (!call.device.is_probed()) {
      launch->reset();
      window.spare_launches.push_back(std::move(launch));
      return Step::probe;
    }
    auto merged = merged_launch(call, merge, *launch);
    explain_merge(call, merge);
    for (const Access& access : launch->accesses) {
      if (access.writes) access.storage->mark_device_newer();
    }
    merge_into(merge, std::move(merged), std::move(launch));
    return Step::done;
  }
  Reason reason = Reason::none;
  Group* group = find_group(call, after, reason);

  const auto give_up = [&](Step step) {
    launch->reset();
    window.spare_launches.push_back(std::move(launch));
    return step;
  };
  if (!group && window.groups.size() >= settings_.most_groups() && scopes().batched == 0) {
    return give_up(Step::make_room);
  }
  if (!current) return give_up(Step::upload);
  if (merge.group) explain_merge(call, merge);

  if (!group && !window.groups.empty()) counters_.refuse(reason);
  if (explain_.listening() && (group || !window.groups.empty())) {
    explain_pair(call, group ? *group : *window.groups.back(), group ? Reason::none : reason);
  }
  keep(window, call.kernel, call.prepared, group ? group->sequence : window.last_sequence + 1);
  if (!group) group = &new_group(window);
  // From here on nothing throws: a launch is held and marked, or neither.
  group->members.push_back(std::move(launch));
  ++group->launches;
  group->grid_x += call.shape.grid[0];
  group->shared_bytes += call.kernel->shared_bytes;
  group->cost = group->cost + call.prepared.cost + kMemberCost;
  group->fingerprint = fingerprint_with(group->fingerprint, *call.kernel);
  HeldLaunch& held = *group->members.back();
  stamp(held, group->sequence, group->members.size() - 1);
  for (const Access& access : held.accesses) {
    if (access.writes) access.storage->mark_device_newer();
  }
  return Step::done;
}

void LaunchWindow::hold(const Call& call) {
  for (;;) {
    switch (try_to_hold(call)) {
      case Step::done:
        return;
      case Step::make_room: {
        Failures failures;
        {
          const std::lock_guard issue(call.device.issue_lock());
          issue_oldest(call.device, 1, failures);
        }
        throw_first(std::move(failures));
        break;
      }
      case Step::upload:
        bring_to_device(call.device, call.arguments);
        break;
      case Step::probe:
        call.device.float_probe();
        break;
      case Step::too_late:
        run_now(call);
        return;
    }
  }
}

bool LaunchWindow::held_uses(const DeviceWindow& window, const runtime::DeviceCopy& copy) noexcept {
  return copy.last_bound > window.issued_through;
}

void LaunchWindow::keep(DeviceWindow& window, const std::shared_ptr<KernelRecord>& kernel,
                        Prepared& prepared, std::uint64_t sequence) {
  if (!prepared.is_kept) window.kernels.emplace_back(kernel, &prepared);
  prepared.is_kept = true;
  prepared.last_held = sequence;
}

bool LaunchWindow::adopt(const runtime::DeviceState& device, runtime::Storage& storage) noexcept {
  DeviceWindow& window = window_of(device);
  const std::lock_guard lock(window.lock);
  const runtime::DeviceCopy* copy = storage.copy_on(device);
  if (!copy || !held_uses(window, *copy)) return false;
  storage.set_next_orphan(std::exchange(window.orphans, &storage));
  return true;
}

bool LaunchWindow::retire(runtime::DeviceState& device, runtime::Storage& storage) {
  DeviceWindow& window = window_of(device);
  const std::lock_guard issue(device.issue_lock());
  const std::lock_guard lock(window.lock);
  const runtime::DeviceCopy* copy = storage.copy_on(device);
  if (!copy) return true;
  return !held_uses(window, *copy) && storage.drop_copy(device);
}

bool LaunchWindow::hand_over(runtime::DeviceState& device, runtime::DeviceState& heir,
                             runtime::Storage& storage) {
  DeviceWindow& window = window_of(device);
  const std::scoped_lock issue(device.issue_lock(), heir.issue_lock());
  std::unique_ptr<runtime::DeviceCopy> copy;
  try {
    copy = storage.copy_to_peer(device, heir);
  } catch (const Error& failure) {
    // The road through the host makes room first.
    if (failure.code() != Errc::out_of_memory) throw;
  }
  if (!copy) return false;
  {
    const std::lock_guard lock(window.lock);
    const runtime::DeviceCopy* old = storage.copy_on(device);
    if (old && !held_uses(window, *old) && storage.replace_copy(device, copy)) return true;
  }
  heir.pool().free({copy->buffer, std::move(copy->uses)});
  return false;
}

bool LaunchWindow::try_upload(runtime::DeviceState& device,
                              std::span<const detail::CallArgument> arguments) {
  return std::ranges::all_of(arguments, [&](const detail::CallArgument& argument) {
    return !argument.storage || argument.storage->make_current(device, argument.overwritten);
  });
}

void LaunchWindow::relieve(runtime::DeviceState& device) {
  issue_all();
  const std::lock_guard issue(device.issue_lock());
  device.finish_all();
  device.pool().trim();
}

void LaunchWindow::bring_to_device(runtime::DeviceState& device,
                                   std::span<const detail::CallArgument> arguments) {
  bool relieved = false;
  for (;;) {
    bool flush = false;
    for (const detail::CallArgument& argument : arguments) {
      if (is_ready(argument, device)) continue;
      if (argument.storage->on_other_device(device)) {
        argument.storage->leave_for(device);
        continue;
      }
      DeviceWindow& window = window_of(device);
      const std::lock_guard lock(window.lock);
      const runtime::DeviceCopy* copy = argument.storage->copy_on(device);
      flush = flush || (copy && held_uses(window, *copy));  // W17
    }
    if (flush) issue_all();
    try {
      const std::lock_guard issue(device.issue_lock());
      if (try_upload(device, arguments)) return;
      continue;
    } catch (...) {
      const Error failure = current_failure();
      if (failure.code() != Errc::out_of_memory || relieved) {
        throw CallFailed{with_memory_words(failure, device)};
      }
    }
    relieve(device);  // R5: once, then the request is tried again
    relieved = true;
  }
}

void LaunchWindow::upload(runtime::DeviceState& device,
                          std::span<const detail::CallArgument> arguments) {
  try {
    bring_to_device(device, arguments);
  } catch (const CallFailed& failure) {
    throw Error(failure.error);
  }
}

void LaunchWindow::run_now(const Call& call) {
  issue_all();  // W7
  run_with(call.device, call.arguments, [&] {
    HeldLaunch& launch = call.window.immediate;
    try {
      capture(call, launch);
      if (call.stream) {
        for (const Access& access : launch.accesses) call.stream->use(*access.copy, access.writes);
      }
      launch_single(call.device, launch, call.stream);
    } catch (...) {
      launch.reset();
      throw;
    }
    Counters::raise(counters_.issued);
    for (const Access& access : launch.accesses) {
      if (access.writes) access.storage->mark_device_newer();
    }
    launch.reset();
  });
}

void LaunchWindow::clear_fused_cache() {
  for (const auto& device : core_.devices()) {
    const std::lock_guard issue(device->issue_lock());
    window_of(*device).plans.clear();
  }
  fused_cache_.clear();
  epilogue_cache_.clear();
}

void LaunchWindow::clear_launch_cache() {
  Failures failures;
  for (const auto& device : core_.devices()) {
    const std::lock_guard issue(device->issue_lock());
    try {
      device->finish(device->driver().queue());
    } catch (...) {
      failures.push_back(current_failure());
    }
    window_of(*device).plans.clear();
    device->clear_executables();
  }
  fused_cache_.clear();
  epilogue_cache_.clear();
  keep_pending(std::move(failures));
}

std::uint64_t LaunchWindow::held_count() const {
  std::uint64_t held = 0;
  for (const auto& window : windows_) {
    const std::lock_guard lock(window->lock);
    for (const auto& group : window->groups) held += group->launches;
  }
  return held;
}

void LaunchWindow::explain_pair(const Call& call, const Group& group, Reason reason) {
  explain_.say({Decision::Kind::horizontal, reason == Reason::none, reason,
                group.members.back()->kernel->kernel.name + "+" + call.kernel->kernel.name,
                call.device.id(), ""});
}

}  // namespace salvo::window
