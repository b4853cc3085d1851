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
      pool_(*driver_),
      streams_(*driver_) {}

DeviceState::~DeviceState() {
  try {
    driver_->finish(driver_->queue());
  } catch (...) {
    // A lost device finishes nothing; its handles are released all the same.
  }
  built_.clear();
  sources_.clear();
  pool_.trim();
}

namespace {

/// Whether trying again is pointless: the kernel, not the moment, is at fault.
bool is_lasting(const Error& failure) {
  return failure.code() == Errc::compile_failed || failure.code() == Errc::unsupported ||
         failure.code() == Errc::invalid_kernel;
}

}  // namespace

Executable& DeviceState::executable(const ir::Kernel& kernel, const ir::Digest& digest,
                                    const TranslateOptions& options, const Program* program) {
  const std::lock_guard lock(build_lock_);
  Built& built = built_[{digest, options.device_contraction, options.may_alias}];
  if (built.failure) std::rethrow_exception(built.failure);
  if (!built.executable) {
    try {
      built.executable =
          program ? driver_->build(kernel, *program, {})
                  : driver_->build(kernel, driver_->translate(kernel, options), {});
    } catch (const Error& failure) {
      if (is_lasting(failure)) built.failure = std::current_exception();
      throw;
    }
  }
  return *built.executable;
}

std::shared_ptr<Executable> DeviceState::executable(const UserSource& source) {
  std::vector<std::string> key{source.language, source.code, source.entry};
  key.insert(key.end(), source.options.begin(), source.options.end());
  const std::lock_guard lock(build_lock_);
  std::shared_ptr<Executable>& known = sources_[std::move(key)];
  if (!known) known = driver_->build_source(source);
  return known;
}

void DeviceState::forget_failure(const ir::Digest& digest, const TranslateOptions& options) {
  const std::lock_guard lock(build_lock_);
  const auto found = built_.find({digest, options.device_contraction, options.may_alias});
  if (found != built_.end()) found->second.failure = nullptr;
}

void DeviceState::clear_executables() {
  const std::lock_guard lock(build_lock_);
  built_.clear();
  sources_.clear();
  ++generation_;
}

}  // namespace salvo::runtime
