// Launches that run at once (W7, W64): the shortest way from a call to the driver (P17).
// SPDX-License-Identifier: MIT
#include <cstring>

#include "window/hazards.hpp"
#include "window/launch_window.hpp"

namespace salvo::window {
namespace {

/// These are done with the issue lock held. False if an argument is not ready.
bool bind(const LaunchCall& call, Immediate& launch) {
  const std::uint32_t store_unit = call.device.properties().store_unit_bytes;
  launch.arguments.resize(call.arguments.size() + call.kernel.live.size());
  launch.spans.clear();
  launch.may_alias = false;
  const ParameterFacts* next_facts = call.kernel.parameters.data();
  runtime::Argument* next = launch.arguments.data();
  for (const detail::CallArgument& given : call.arguments) {
    const ParameterFacts& facts = *next_facts++;
    runtime::Argument& argument = *next++;
    argument.bits = given.bits;
    if (!facts.is_span) continue;
    argument.byte_offset = given.byte_offset;
    argument.length = given.length;
    argument.access = facts.access;
    argument.buffer = {};
    if (!given.storage) continue;
    if (!is_ready(given, call.device)) return false;
    runtime::DeviceCopy* const copy = given.storage->copy_on(call.device);
    argument.buffer = copy->buffer;
    const ByteRange bytes =
        touched_bytes(given.byte_offset, given.length, facts.element_bytes, store_unit);
    for (const Immediate::BoundSpan& other : launch.spans) {
      launch.may_alias =
          launch.may_alias || (other.storage == given.storage && (other.writes || facts.writes) &&
                               other.bytes.overlaps(bytes));
    }
    // Read while the driver works, rather than waited for by the next atomic operation after it.
    if (facts.writes) __builtin_prefetch(&copy->written_by, 1);
    launch.spans.push_back({given.storage, copy, bytes, facts.writes});
  }
  for (const LiveValue& live : call.kernel.live) {
    *next = {};
    std::memcpy(&next++->bits, live.host, ir::size_of(live.type));
  }
  return true;
}

std::uint32_t& scratch_mark_of(const LaunchCall& call) {
  return call.stream ? call.stream->scratch_mark() : call.device.scratch_mark();
}

void start(const LaunchCall& call, Immediate& launch, runtime::Executable& executable) {
  runtime::DeviceState& device = call.device;
  call.device.refuse_if_closed();
  if (call.stream) {
    for (const Immediate::BoundSpan& span : launch.spans) {
      call.stream->use(*span.copy, span.writes);
    }
  } else {
    call.issuing.unsubmitted = true;
  }
  runtime::Queue& queue = call.stream ? call.stream->queue() : device.driver().queue();
  runtime::LaunchShape shape = call.shape;
  shape.ticket = device.launches().next_ticket();
  device.launch(queue, scratch_mark_of(call), executable, shape, launch.arguments);
  const std::uint64_t ticket = device.launches().add(queue, call.kernel.name, call.dims.where());
  for (const Immediate::BoundSpan& span : launch.spans) {
    if (!span.writes) continue;
    span.copy->written_by = ticket;
    span.storage->mark_device_newer();
  }
}

}  // namespace

void LaunchWindow::run_now(const LaunchCall& call, bool ready) {
  issue_all();  // W7
  for (;; ready = false) {
    if (!ready) bring_to_device(call.device, call.arguments);
    const runtime::DeviceState::IssueTurn turn(call.device);
    Immediate& launch = call.issuing.immediate;
    try {
      // Another thread may have moved a vector away, or written it on the host, meanwhile.
      if (!bind(call, launch) && !(try_upload(call.device, call.arguments) && bind(call, launch))) {
        continue;
      }
      runtime::Executable& executable =
          Issuer::executable_of(call.device, call.prepared, launch.may_alias);
      // What was bound may have moved meanwhile.
      if (call.device.make_scratch(scratch_mark_of(call), executable)) continue;
      start(call, launch, executable);
    } catch (...) {
      throw CallFailed{current_failure()};
    }
    Counters::raise(counters_.issued);
    return;
  }
}

}  // namespace salvo::window
