// Holding a launch: captured at the call, then placed, or what must happen first (W10-W15).
// SPDX-License-Identifier: MIT
#include <cstring>
#include <utility>

#include "window/hazards.hpp"
#include "window/launch_window.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

/// Fills a launch from a call; spans without a copy on the device yet have none.
void capture(const LaunchCall& call, HeldLaunch& launch) {
  launch.reset();
  launch.kernel = &call.kernel;
  launch.prepared = &call.prepared;
  launch.shape = call.shape;
  launch.where = call.dims.where();
  launch.may_alias = false;
  const std::uint32_t store_unit = call.device.properties().store_unit_bytes;
  launch.arguments.resize(call.arguments.size());
  for (std::size_t p = 0; p < call.arguments.size(); ++p) {
    const detail::CallArgument& given = call.arguments[p];
    const ParameterFacts& facts = call.kernel.parameters[p];
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
  for (const LiveValue& live : call.kernel.live) {
    std::memcpy(&launch.arguments.emplace_back().bits, live.host, ir::size_of(live.type));
  }
}

}  // namespace

Outcome LaunchWindow::try_to_hold(const LaunchCall& call) {
  Held& held = call.held;
  const std::lock_guard lock(held.lock);
  if (exiting_ || touches_escaped(call.arguments)) return Outcome::too_late;
  placer_.end_repetition(call.device, held);
  Recorder& recorder = held.recorder;
  recorder.reserve();
  std::unique_ptr<HeldLaunch> launch = held.spare_launch();
  capture(call, *launch);
  launch->step = recorder.next();
  bool begins_anew = recorder.meet(*launch);
  if (begins_anew && held.groups.empty()) {
    held.keep_repetition({});
    begins_anew = recorder.meet(*launch);
  }
  Placed placed;
  const Outcome outcome =
      begins_anew ? Outcome::begin_anew
                  : placer_.place(call, launch, are_ready(call.arguments, call.device), placed);
  if (outcome == Outcome::done) {
    recorder.add(call.kernel.serial, call.dims, placed.refused_epilogue, placed.refused_horizontal,
                 scopes().batched > 0);
  } else {
    launch->reset();
    held.spare_launches.push_back(std::move(launch));
  }
  return outcome;
}

void LaunchWindow::make_room(runtime::DeviceState& device) {
  Failures failures;
  {
    const runtime::DeviceState::IssueTurn turn(device);
    issue_oldest(device, 1, failures);
  }
  throw_first(std::move(failures));
}

void LaunchWindow::hold(const LaunchCall& call) {
  for (;;) {
    switch (try_to_hold(call)) {
      case Outcome::done:
        return;
      case Outcome::make_room:
        make_room(call.device);
        break;
      case Outcome::begin_anew:
        issue(call.device);
        if (hold_again(call.device, call.kernel, call.dims, call.arguments)) return;
        break;
      case Outcome::upload:
        bring_to_device(call.device, call.arguments);
        break;
      case Outcome::probe:
        call.device.float_probe();
        break;
      case Outcome::too_late:
        run_now(call, are_ready(call.arguments, call.device));
        return;
    }
  }
}

}  // namespace salvo::window
