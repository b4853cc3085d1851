// The OpenCL backend: every device of every platform.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_backend.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_device.hpp"
#include "backends/opencl/opencl_error.hpp"

namespace salvo::backends::opencl {
namespace {

/// What a process knows of its OpenCL drivers, found by the first backend that asks (P1).
class Drivers {
 public:
  const Api& api() const noexcept { return api_; }

  /// The devices, or the reasons why there are none. A failed search is made again.
  std::pair<std::vector<DeviceFacts>, std::vector<std::string>> devices() {
    const std::lock_guard lock(mutex_);
    if (devices_.empty()) {
      obstacles_.clear();
      search();
    }
    return {devices_, obstacles_};
  }

 private:
  void search() {
    if (!loaded_) {
      const std::string reason = api_.load();
      if (!reason.empty()) return obstacles_.push_back(reason);
      loaded_ = true;
    }
    cl_uint count = 0;
    const cl_int status = api_.GetPlatformIDs(0, nullptr, &count);
    if (status != CL_SUCCESS || count == 0) {
      return obstacles_.push_back(fmt::format("{} loaded, but it knows no platform ({})",
                                              api_.shared_object.name(), status_name(status)));
    }
    std::vector<cl_platform_id> platforms(count);
    check(api_.GetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs",
          Errc::backend_unavailable);
    for (cl_platform_id platform : platforms) search(platform);
  }

  void search(cl_platform_id platform) {
    try {
      cl_uint count = 0;
      const cl_int status = api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
      if (status == CL_DEVICE_NOT_FOUND || (status == CL_SUCCESS && count == 0)) {
        return obstacles_.push_back(name_of(platform) + ": no device");
      }
      check(status, "clGetDeviceIDs", Errc::backend_unavailable);
      std::vector<cl_device_id> ids(count);
      check(api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr),
            "clGetDeviceIDs", Errc::backend_unavailable);
      for (cl_device_id id : ids) {
        DeviceFacts facts = read_facts(api_, id);
        if (facts.obstacle.empty()) {
          devices_.push_back(std::move(facts));
        } else {
          obstacles_.push_back(fmt::format("{}: {}", facts.properties.name, facts.obstacle));
        }
      }
    } catch (const Error& error) {
      // A platform that fails must not hide the others.
      obstacles_.push_back(fmt::format("{}: {}", name_of(platform), error.what()));
    }
  }

  std::string name_of(cl_platform_id platform) const {
    char name[256] = "";
    const cl_int status =
        api_.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr);
    return status == CL_SUCCESS ? name : "a platform without a name";
  }

  std::mutex mutex_;
  Api api_;
  bool loaded_ = false;
  std::vector<DeviceFacts> devices_;
  std::vector<std::string> obstacles_;
};

Drivers& drivers() {
  // Never destroyed: drivers tear themselves down at exit, in an order nobody can rely on.
  static Drivers& instance = *new Drivers;
  return instance;
}

class OpenclBackend final : public runtime::Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
    std::vector<std::string> reasons;
    try {
      auto [devices, obstacles] = drivers().devices();
      reasons = std::move(obstacles);
      for (const DeviceFacts& facts : devices) {
        try {
          opened.push_back(std::make_unique<OpenclDevice>(drivers().api(), facts));
        } catch (const Error& error) {
          reasons.push_back(fmt::format("{}: {}", facts.properties.name, error.what()));
        }
      }
    } catch (const Error& error) {
      reasons.push_back(error.what());
    }
    if (opened.empty()) {
      unavailable_ = runtime::Unavailable{fmt::format("{}", fmt::join(reasons, "; "))};
    } else {
      unavailable_.reset();
    }
    return opened;
  }

  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace

const Api& shared_api() noexcept {
  return drivers().api();
}

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<OpenclBackend>();
}

}  // namespace salvo::backends::opencl
