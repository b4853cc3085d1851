// Launches of code that the user brought: checked as far as known, never held (R9, R10).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/names.hpp"
#include "window/launch_window.hpp"

namespace salvo::window {
namespace {

[[noreturn]] void refuse(const SourceLaunch& launch, std::string message) {
  Error::Details details;
  details.code = Errc::invalid_argument;
  details.operation = "launch";
  details.kernel = launch.name;
  details.message = std::move(message);
  details.launch = SourceLocation::from(launch.dims.where());
  throw Error(std::move(details));
}

std::string kind_of(bool is_span, std::size_t bytes) {
  return is_span ? "a vector" : fmt::format("a scalar of {} bytes", bytes);
}

/// W57: arity, then kind, then size.
void check(const SourceLaunch& launch) {
  const std::optional<std::vector<runtime::SourceParameter>> taken =
      launch.executable.source_parameters();
  if (!taken) return;
  if (launch.arguments.size() < taken->size()) {
    refuse(launch, fmt::format("argument {} is missing; the kernel takes {}",
                               launch.arguments.size(), taken->size()));
  }
  if (launch.arguments.size() > taken->size()) {
    refuse(launch, fmt::format("argument {} is one too many; the kernel takes {}", taken->size(),
                               taken->size()));
  }
  for (std::size_t i = 0; i < taken->size(); ++i) {
    const detail::SourceArgument& given = launch.arguments[i];
    const runtime::SourceParameter& wanted = (*taken)[i];
    if (given.is_span == wanted.is_span && (given.is_span || given.bytes == wanted.bytes)) continue;
    refuse(launch,
           fmt::format("argument {} is {}; the kernel takes {}", i,
                       kind_of(given.is_span, given.bytes), kind_of(wanted.is_span, wanted.bytes)));
  }
}

}  // namespace

void LaunchWindow::submit(runtime::DeviceState& device, const SourceLaunch& launch) {
  throw_pending();
  const runtime::TraceScope traced(device.trace(), "submit", launch.name, device.id());
  check(launch);
  std::uint32_t usual = device.driver().preferred_block(&launch.executable);
  usual = std::min(usual, launch.executable.max_threads_per_block());
  const runtime::LaunchShape shape = shape_of(device, launch.name, 0, usual, launch.dims);
  if (is_empty(shape)) return;

  if (explain_.listening()) {
    explain_.say({Decision::Kind::window, false, Reason::native_code, launch.name, device.id(), "",
                  SourceLocation::from(launch.dims.where())});
  }
  Counters::raise(counters_.submitted);
  counters_.refuse(Reason::native_code);
  std::vector<detail::CallArgument> values;
  for (const detail::SourceArgument& argument : launch.arguments) values.push_back(argument.value);
  try {
    issue_all();  // W7
    std::uint32_t& scratch_mark =
        launch.stream ? launch.stream->scratch_mark() : device.scratch_mark();
    try {
      const runtime::DeviceState::IssueTurn turn(device);
      device.make_scratch(scratch_mark, launch.executable);
    } catch (...) {
      throw CallFailed{current_failure()};
    }
    run_with(device, values, [&] {
      std::vector<runtime::Argument> arguments;
      for (const detail::CallArgument& value : values) {
        runtime::Argument& argument = arguments.emplace_back();
        argument.byte_offset = value.byte_offset;
        argument.length = value.length;
        argument.bits = value.bits;
        if (!value.storage) continue;
        runtime::DeviceCopy& copy = *value.storage->copy_on(device);
        argument.buffer = copy.buffer;
        if (launch.stream) launch.stream->use(copy, true);
      }
      device.refuse_if_closed();
      if (!launch.stream) window_of(device).issuing.unsubmitted = true;
      runtime::Queue& queue = launch.stream ? launch.stream->queue() : device.driver().queue();
      device.launch(queue, scratch_mark, launch.executable, shape, arguments);
      const std::uint64_t ticket =
          device.launches().add(queue, runtime::lasting_name(launch.name), launch.dims.where());
      Counters::raise(counters_.issued);
      for (const detail::CallArgument& value : values) {
        if (!value.storage) continue;
        value.storage->copy_on(device)->written_by = ticket;
        value.storage->mark_device_newer();
      }
    });
  } catch (const CallFailed& failure) {
    Counters::raise(counters_.failed);
    throw located(failure.error, launch.name, launch.dims.where());
  } catch (...) {
    // Somebody else's failure came up when it was issued; this launch was not made.
    Counters::raise(counters_.failed);
    throw;
  }
}

}  // namespace salvo::window
