// What is known of a device of the family, as its driver describes it.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_properties.hpp"

#include "backends/cuda_family/cuda_family_error.hpp"

namespace salvo::backends::cuda_family {

DeviceQuery::DeviceQuery(const Api& api, std::string_view backend, int index)
    : api_(api), backend_(backend) {
  check(api_.DeviceGet(&ordinal_, index), "cuDeviceGet");
}

std::string DeviceQuery::name() const {
  char name[256] = "";
  check(api_.DeviceName(name, sizeof(name) - 1, ordinal_), "cuDeviceGetName");
  return name;
}

int DeviceQuery::driver_version() const {
  int version = 0;
  check(api_.DriverVersion(&version), "cuDriverGetVersion");
  return version;
}

std::size_t DeviceQuery::memory_bytes() const {
  std::size_t bytes = 0;
  check(api_.DeviceMemory(&bytes, ordinal_), "cuDeviceTotalMem");
  return bytes;
}

std::uint32_t DeviceQuery::attribute(int what) const {
  int result = 0;
  check(api_.DeviceValue(&result, what, ordinal_), "cuDeviceGetAttribute");
  return static_cast<std::uint32_t>(result);
}

void DeviceQuery::check(Result status, std::string_view operation) const {
  Reporter(api_, backend_).check(status, operation, Errc::backend_unavailable);
}

void set_common_features(DeviceProperties& properties) noexcept {
  properties.fp64 = true;
  properties.fp16_storage = true;
  properties.atomics_i64 = true;
  properties.atomics_f32 = true;
  properties.atomics_f64 = true;
  properties.warp_operations = true;
  properties.fast_fma = true;
}

}  // namespace salvo::backends::cuda_family
