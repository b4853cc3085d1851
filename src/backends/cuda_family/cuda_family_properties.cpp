// What is known of a device of the family, as its driver describes it.
// SPDX-License-Identifier: MIT
#include "backends/cuda_family/cuda_family_properties.hpp"

namespace salvo::backends::cuda_family {

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
