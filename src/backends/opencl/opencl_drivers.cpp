// What a process knows of its OpenCL drivers, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_drivers.hpp"

#include <fmt/format.h>

#include "backends/opencl/opencl_error.hpp"

namespace salvo::backends::opencl {

Drivers& Drivers::instance() {
  static Drivers& instance = *new Drivers;
  return instance;
}

runtime::Found<DeviceFacts> Drivers::devices() {
  return found_.get([this](runtime::Found<DeviceFacts>& found) { search(found); });
}

void Drivers::search(runtime::Found<DeviceFacts>& found) {
  if (!loaded_) {
    const std::string reason = api_.load();
    if (!reason.empty()) return found.obstacles.push_back(reason);
    loaded_ = true;
  }
  cl_uint count = 0;
  const cl_int status = api_.GetPlatformIDs(0, nullptr, &count);
  if (status != CL_SUCCESS || count == 0) {
    return found.obstacles.push_back(fmt::format("{} loaded, but it knows no platform ({})",
                                                 api_.shared_object.name(), status_name(status)));
  }
  std::vector<cl_platform_id> platforms(count);
  check(api_.GetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs",
        Errc::backend_unavailable);
  for (cl_platform_id platform : platforms) search(platform, found);
}

void Drivers::search(cl_platform_id platform, runtime::Found<DeviceFacts>& found) const {
  try {
    cl_uint count = 0;
    const cl_int status = api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
    if (status == CL_DEVICE_NOT_FOUND || (status == CL_SUCCESS && count == 0)) {
      return found.obstacles.push_back(name_of(platform) + ": no device");
    }
    check(status, "clGetDeviceIDs", Errc::backend_unavailable);
    std::vector<cl_device_id> ids(count);
    check(api_.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr),
          "clGetDeviceIDs", Errc::backend_unavailable);
    for (cl_device_id id : ids) found.add(read_facts(api_, id));
  } catch (const Error& error) {
    // A platform that fails must not hide the others.
    found.obstacles.push_back(fmt::format("{}: {}", name_of(platform), error.what()));
  }
}

std::string Drivers::name_of(cl_platform_id platform) const {
  char name[256] = "";
  const cl_int status =
      api_.GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr);
  return status == CL_SUCCESS ? name : "a platform without a name";
}

}  // namespace salvo::backends::opencl
