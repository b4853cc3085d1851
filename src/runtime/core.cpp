// The inside of a Runtime: environment, backends, devices, and the held work beside them.
// SPDX-License-Identifier: MIT
#include "runtime/core.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <ranges>

#include "runtime/backend_names.hpp"
#include "runtime/log.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {
namespace {

/// Opens one backend; nothing it throws stops the others.
std::vector<std::unique_ptr<DeviceDriver>> open(Backend& backend, BackendInfo& info) {
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  try {
    drivers = backend.open();
    if (const auto& why = backend.unavailable()) info.reason = why->reason;
  } catch (const std::exception& failure) {
    info.reason = failure.what();
  }
  info.available = !drivers.empty();
  if (drivers.empty() && info.reason.empty()) info.reason = "no device";
  if (drivers.empty() && is_logging()) {
    log(LogLevel::note, fmt::format("{} is not available: {}", info.name, info.reason));
  }
  return drivers;
}

}  // namespace

void check_backend_name(std::string_view name) {
  if (backend_index(name) == kBackends.size()) {
    throw Error(
        Errc::invalid_argument,
        fmt::format("there is no backend '{}'; the backends are {}", name,
                    fmt::join(kBackends | std::views::transform(&KnownBackend::name), ", ")));
  }
}

Core::Core(Environment environment, std::vector<std::unique_ptr<Backend>> backends,
           const std::string& cache_folder)
    : environment_(std::move(environment)) {
  if (!cache_folder.empty()) {
    // Absolute, because the program may change its current folder.
    disk_cache_ = std::make_shared<DiskCache>(std::filesystem::absolute(cache_folder),
                                              environment_.cache_bytes);
  }
  if (!environment_.trace.empty()) trace_ = std::make_shared<Trace>(environment_.trace);
  std::ranges::stable_sort(backends, {},
                           [](const auto& one) { return backend_index(one->name()); });
  for (auto& owned : backends) {
    const std::shared_ptr<Backend> backend = std::move(owned);
    BackendInfo info{std::string(backend->name()), false, ""};
    if (const auto variable = environment_.hidden_by(info.name)) {
      info.reason = "hidden by " + *variable;
    } else {
      std::uint32_t number = 0;
      for (auto& driver : open(*backend, info)) {
        auto state = std::make_unique<DeviceState>(
            backend, std::move(driver), fmt::format("{}:{}", info.name, number++),
            static_cast<std::uint32_t>(devices_.size()),
            environment_.disk_cache ? disk_cache_ : nullptr, trace_);
        // After a fork the driver is left alone: taking it down could wait for threads that are
        // the parent's (W61).
        devices_.push_back(std::shared_ptr<DeviceState>(state.release(), [](DeviceState* one) {
          if (!one->is_inherited()) delete one;
        }));
        devices_.back()->set_scratch_drain(environment_.scratch_drain);
      }
    }
    infos_.push_back(std::move(info));
  }
}

Core::~Core() {
  set_held_work(nullptr);
}

void Core::end_trace() {
  if (!trace_) return;
  for (const auto& device : devices_) {
    const std::lock_guard issue(device->issue_lock());
    device->settle_times();
  }
  if (!trace_->close()) {
    throw Error(Errc::io,
                fmt::format("SALVO_TRACE={}: the trace is not complete", environment_.trace));
  }
}

void Core::set_held_work(HeldWork* work) noexcept {
  held_work_ = work;
  for (const auto& device : devices_) device->set_held_work(work);
}

std::shared_ptr<DeviceState> Core::best() const {
  if (!environment_.device.empty()) return find(environment_.device, "SALVO_DEVICE: ");
  if (devices_.empty()) throw Error(Errc::no_device, "no device was found; see `salvo info`");
  // An accelerator first, then the host's cores: those that work on its memory as it is before
  // those that keep copies, and a compiler before an interpreter.
  const auto worth = [](const auto& device) {
    if (!device->properties().is_cpu) return 3;
    if (device->driver().works_on_host_memory()) return 2;
    return device->is_jit() ? 1 : 0;
  };
  return *std::ranges::max_element(devices_, {}, worth);
}

std::shared_ptr<DeviceState> Core::get(std::string_view id) const {
  return find(id, "");
}

std::shared_ptr<DeviceState> Core::find(std::string_view id, std::string_view asked_by) const {
  for (const auto& device : devices_) {
    if (device->id() == id) return device;
  }
  std::vector<std::string> ids;
  for (const auto& device : devices_) ids.push_back(device->id());
  throw Error(
      Errc::no_device,
      fmt::format("{}there is no device '{}'; the devices are {}; `salvo info` says why "
                  "others are missing",
                  asked_by, id, ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "))));
}

std::vector<std::shared_ptr<DeviceState>> Core::by_backend(std::string_view backend) const {
  check_backend_name(backend);
  std::vector<std::shared_ptr<DeviceState>> found;
  std::ranges::copy_if(devices_, std::back_inserter(found),
                       [&](const auto& device) { return device->backend_name() == backend; });
  return found;
}

}  // namespace salvo::runtime
