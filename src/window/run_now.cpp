// Launches that run at once (W7, W64): the shortest way from a call to the driver (P17).
// SPDX-License-Identifier: MIT
#include "window/launch_window.hpp"

namespace salvo::window {
namespace {

std::uint32_t& scratch_mark_of(runtime::DeviceState& device, runtime::StreamState* stream) {
  return stream ? stream->scratch_mark() : device.scratch_mark();
}

/// The issue lock is held. False if it was let go of meanwhile, and nothing was launched: what was
/// bound may have moved.
bool start(runtime::DeviceState& device, Issuing& issuing, runtime::StreamState* stream,
           const std::string& kernel, const Dims& dims, BoundLaunch& launch) {
  if (device.make_scratch(scratch_mark_of(device, stream), *launch.executable)) return false;
  device.refuse_if_closed();
  if (stream) {
    for (const BoundLaunch::Span& span : launch.spans) {
      if (span.copy) stream->use(*span.copy, span.writes);
    }
  } else {
    issuing.unsubmitted = true;
  }
  runtime::Queue& queue = stream ? stream->queue() : device.driver().queue();
  launch.shape.ticket = device.launches().next_ticket();
  device.driver().launch(queue, *launch.executable, launch.shape, launch.arguments);
  const std::uint64_t ticket = device.launches().add(queue, kernel, dims.where());
  for (const BoundLaunch::Span& span : launch.spans) {
    if (!span.writes || !span.copy) continue;
    span.copy->written_by = ticket;
    span.storage->mark_device_newer();
  }
  return true;
}

}  // namespace

void LaunchWindow::run_now(const LaunchCall& call, bool ready) {
  issue_all();  // W7
  const std::uint64_t key = KnownLaunches::key_of(call.kernel, call.dims, call.arguments);
  for (;; ready = false) {
    if (!ready) bring_to_device(call.device, call.arguments);
    const runtime::DeviceState::IssueTurn turn(call.device);
    BoundLaunch& launch = call.issuing.known.make_place(key);
    try {
      // Another thread may have moved a vector away, or written it on the host, meanwhile.
      if (!launch.bind(call) && !(try_upload(call.device, call.arguments) && launch.bind(call))) {
        continue;
      }
      if (!start(call.device, call.issuing, call.stream, call.kernel.name, call.dims, launch)) {
        continue;
      }
    } catch (...) {
      throw CallFailed{current_failure()};
    }
    call.issuing.known.keep(key);
    Counters::raise(counters_.issued);
    return;
  }
}

bool LaunchWindow::run_again(runtime::DeviceState& device, const KernelRecord& kernel,
                             const Dims& dims, std::span<const detail::CallArgument> arguments,
                             runtime::StreamState* stream, Reason refused) {
  // The explanation and the trace are told of decisions, and losses looked for, on the whole way.
  if (explain_.listening() || device.launches().has_losses()) return false;
  Issuing& issuing = window_of(device).issuing;
  const std::uint64_t key = KnownLaunches::key_of(kernel, dims, arguments);
  if (!issuing.known.has(key)) return false;
  issue_all();  // what is held comes first (W7)
  const runtime::DeviceState::IssueTurn turn(device);
  BoundLaunch* const launch = issuing.known.find(key);
  if (!launch || !launch->take(kernel, dims, arguments, device)) return false;
  try {
    if (!start(device, issuing, stream, kernel.name, dims, *launch)) return false;
  } catch (...) {
    counters_.refuse(refused);
    throw CallFailed{current_failure()};
  }
  issuing.again.raise(refused);
  return true;
}

}  // namespace salvo::window
