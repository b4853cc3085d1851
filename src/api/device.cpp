// Device handles: finding one, launching on it, waiting for it.
// SPDX-License-Identifier: MIT
#include "salvo/device.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "api/access.hpp"
#include "salvo/error.hpp"
#include "salvo/runtime.hpp"
#include "window/launch_window.hpp"

namespace salvo {

std::vector<Device> Device::all() {
  return Runtime::instance().devices();
}
Device Device::best() {
  return Runtime::instance().best();
}
std::vector<Device> Device::by_backend(std::string_view backend) {
  return Runtime::instance().by_backend(backend);
}
Device Device::get(std::string_view id) {
  return Runtime::instance().get(id);
}

const std::string& Device::id() const noexcept {
  return state_->id();
}
const std::string& Device::backend() const noexcept {
  return state_->backend_name();
}
const DeviceProperties& Device::properties() const noexcept {
  return state_->properties();
}

FloatProbe Device::float_probe() const {
  return state_->float_probe();
}

void Device::synchronize() const {
  if (state_->is_inherited()) runtime::refuse_inherited();
  std::exception_ptr failure;
  try {
    if (runtime::HeldWork* held = state_->held_work()) held->issue(*state_);
  } catch (...) {
    failure = std::current_exception();  // what was issued is waited for all the same
  }
  {
    const std::lock_guard issue(state_->issue_lock());
    state_->finish_all();
  }
  if (failure) std::rethrow_exception(failure);
}

MemoryStatistics Device::memory() const {
  const runtime::PoolStatistics pool = state_->pool().statistics();
  return {pool.in_use, pool.cached, pool.allocations, pool.reuses};
}

void Device::release_cached_memory() const {
  synchronize();
  const std::lock_guard issue(state_->issue_lock());
  state_->finish_all();
  state_->pool().trim();
}

void Device::on_scratch_drain(std::function<void()> reclaim) const {
  state_->on_scratch_drain(std::move(reclaim));
}

namespace detail {

void launch(const std::shared_ptr<runtime::DeviceState>& device,
            const std::shared_ptr<KernelRecord>& kernel, const Dims& dims,
            std::span<const CallArgument> arguments, runtime::StreamState* stream) {
  if (device->is_inherited()) runtime::refuse_inherited();
  window::LaunchWindow* held = api::held_by(*device);
  if (!held) {
    Error::Details details;
    details.code = Errc::no_device;
    details.operation = "launch";
    details.kernel = kernel->kernel.name;
    details.message = fmt::format("the runtime of {} is gone", device->id());
    details.launch = SourceLocation::from(dims.where());
    throw Error(std::move(details));
  }
  held->submit(*device, kernel, dims, arguments, stream);
}

void scalar_out_of_range(const KernelRecord& kernel, std::size_t position, const Dims& dims) {
  Error::Details details;
  details.code = Errc::invalid_argument;
  details.operation = "launch";
  details.kernel = kernel.kernel.name;
  details.message = fmt::format("argument {} does not fit the parameter's integer type", position);
  details.launch = SourceLocation::from(dims.where());
  throw Error(std::move(details));
}

}  // namespace detail
}  // namespace salvo
