// Issuing groups one by one: each as what it is, with what failed noted and the others issued all
// the same (W58).
// SPDX-License-Identifier: MIT
#include "window/issuer.hpp"

#include <algorithm>
#include <utility>

#include "window/launched.hpp"

namespace salvo::window {

void Issuer::issue(runtime::DeviceState& device, Issuing& issuing, Failures& failures) {
  const Round round{device, issuing, failures};
  const std::size_t count = issuing.groups.size();
  const std::size_t shortest = device.driver().shortest_replay();
  std::size_t next = 0;
  while (next < count) {
    std::size_t end = count;
    if (shortest > 0 && end - next >= shortest) {
      const std::size_t ready = describe(round, next);
      if (ready >= shortest && replay(round, next, ready)) {
        next += ready;
        continue;
      }
      end = next + std::max<std::size_t>(ready, 1);
    }
    for (; next < end; ++next) {
      Group& group = *issuing.groups[next];
      const std::uint64_t fallbacks = counters_.fallbacks;
      const std::size_t failed = failures.size();
      issue_group(round, group);
      group.as_planned = counters_.fallbacks == fallbacks && failures.size() == failed;
    }
  }
}

void Issuer::issue_group(const Round& round, Group& group) {
  if (group.members.size() > 1 && issue_fused(round, group)) return;
  for (auto& launch : group.members) issue_single(round, *launch);
}

void Issuer::issue_single(const Round& round, HeldLaunch& launch) {
  if (!launch.parts.empty()) return issue_merged(round, launch);
  try {
    launch_single(round, launch);
    count_issued(launch);
  } catch (...) {
    note_failed(round, launch, current_failure());
  }
}

void Issuer::count_issued(const HeldLaunch& launch) noexcept {
  Counters::raise(counters_.issued);
  count_merges(launch);
}

void Issuer::count_merges(const HeldLaunch& launch) noexcept {
  for (std::size_t k = 1; k < launch.parts.size(); ++k) Counters::raise(counters_.epilogue_merges);
}

void Issuer::note_failed(const Round& round, const HeldLaunch& launch, const Error& failure) {
  for (const auto& part : launch.parts) note_failed(round, *part, failure);
  if (!launch.parts.empty()) return;
  Counters::raise(counters_.failed);
  round.failures.push_back(located(failure, launch.kernel->kernel.name, launch.where));
  for (const Access& access : launch.accesses) {
    if (!access.overwritten || failure.details().may_have_started) continue;
    try {
      access.storage->upload_kept_bytes(round.device);
    } catch (...) {
      round.failures.push_back(
          located(current_failure(), launch.kernel->kernel.name, launch.where));
    }
  }
}

runtime::Executable& Issuer::executable_of(runtime::DeviceState& device, Prepared& prepared,
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

void Issuer::launch_single(const Round& round, HeldLaunch& launch) {
  runtime::DeviceState& device = round.device;
  device.refuse_if_closed();
  runtime::Executable& executable = executable_of(device, *launch.prepared, launch.may_alias);
  const runtime::Dim3& block = launch.shape.block;
  if (!launch.parts.empty() &&
      std::uint64_t{block[0]} * block[1] * block[2] > executable.max_threads_per_block()) {
    throw Error(Errc::launch_failed, "the merged kernel takes smaller blocks than its producer");
  }
  round.issuing.unsubmitted = true;
  runtime::Queue& queue = device.driver().queue();
  launch.shape.ticket = device.launches().next_ticket();
  device.launch(queue, device.scratch_mark(), executable, launch.shape, launch.arguments);
  note_launched(device, queue, launch);
}

}  // namespace salvo::window
