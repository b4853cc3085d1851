// A device in use: its driver, the lock around it, its memory pool and its compiled kernels.
// SPDX-License-Identifier: MIT
#include "runtime/device_state.hpp"

#include <algorithm>

#include "runtime/backend_names.hpp"

namespace salvo::runtime {
namespace {

std::uint32_t next_serial() noexcept {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

}  // namespace

DeviceState::DeviceState(std::shared_ptr<Backend> backend, std::unique_ptr<DeviceDriver> driver,
                         std::string id, std::uint32_t ordinal)
    : backend_(std::move(backend)),
      driver_(std::move(driver)),
      id_(std::move(id)),
      backend_name_(backend_->name()),
      backend_index_(static_cast<std::size_t>(
          std::ranges::find(kBackendNames, backend_name_) - kBackendNames.begin())),
      ordinal_(ordinal),
      serial_(next_serial()),
      pool_(*driver_) {}

DeviceState::~DeviceState() {
  built_.clear();
  pool_.trim();
}

Executable& DeviceState::executable(const ir::Kernel& kernel, const ir::Digest& digest,
                                    const TranslateOptions& options) {
  const std::lock_guard lock(build_lock_);
  Built& built = built_[{digest, options.device_contraction, options.may_alias}];
  if (!built.executable && !built.failure) {
    try {
      built.executable = driver_->build(kernel, driver_->translate(kernel, options), {});
    } catch (...) {
      built.failure = std::current_exception();
    }
  }
  if (built.failure) std::rethrow_exception(built.failure);
  return *built.executable;
}

void DeviceState::clear_executables() {
  const std::lock_guard lock(build_lock_);
  built_.clear();
  ++generation_;
}

}  // namespace salvo::runtime
