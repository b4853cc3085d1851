// What is kept of launches that the device took, until a wait has seen their end (W81).
// SPDX-License-Identifier: MIT
#include "window/launched.hpp"

#include <mutex>

namespace salvo::window {

void note_launched(runtime::DeviceState& device, const runtime::Queue& queue,
                   const HeldLaunch& launch) {
  std::uint64_t ticket = 0;
  if (launch.parts.empty()) {
    ticket = device.launches().add(queue, launch.kernel->name, launch.where);
  }
  for (const auto& part : launch.parts) {
    ticket = device.launches().add(queue, part->kernel->name, part->where);
  }
  for (const Access& access : launch.accesses) {
    if (access.writes) access.copy->written_by = ticket;
  }
}

void check_losses(runtime::DeviceState& device, const KernelRecord& kernel,
                  std::span<const detail::CallArgument> arguments, const Dims& dims) {
  const std::lock_guard issue(device.issue_lock());
  for (std::size_t p = 0; p < arguments.size(); ++p) {
    if (!arguments[p].storage || !kernel.parameters[p].reads) continue;
    const runtime::DeviceCopy* copy = arguments[p].storage->copy_on(device);
    const Error* failure = copy ? device.launches().loss(copy->written_by) : nullptr;
    if (!failure) continue;
    Error::Details details;
    details.code = failure->code();
    details.backend = failure->backend();
    details.operation = "launch";
    details.kernel = kernel.kernel.name;
    details.message = "it reads what a launch that failed was to write: " + failure->message();
    details.launch = SourceLocation::from(dims.where());
    throw Error(std::move(details)).with_others({*failure});
  }
}

}  // namespace salvo::window
