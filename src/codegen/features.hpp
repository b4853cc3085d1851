// What a kernel needs of its device, checked by every backend before it translates (K1, K8, W57).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.hpp"
#include "passes/access.hpp"
#include "salvo/properties.hpp"

namespace salvo::codegen {

/// Features as refusals name them: a backend adds what its API calls them.
struct FeatureNames {
  std::string_view fp64 = "f64";
  std::string_view fp16 = "f16";
  std::string_view int64 = "i64";
  std::string_view atomics_i64 = "64-bit atomics";
  std::string_view atomics_f32 = "f32 atomic add";
  std::string_view atomics_f64 = "f64 atomic add";
  std::string_view warp_operations = "warp operations";
  std::string_view dynamic_shared = "dynamic shared memory";
};

/// What one kernel needs and one device lacks. Refers to neither after it is made.
class Requirements {
 public:
  /// Compares the kernel with DeviceProperties, and its user code with the backend.
  Requirements(const ir::Kernel& kernel, const DeviceProperties& device, std::string_view backend,
               const FeatureNames& names = {});

  const passes::Summary& needs() const noexcept { return needs_; }
  /// For what DeviceProperties does not tell.
  void need(bool needed, bool present, std::string_view what);
  /// Throws Errc::unsupported, naming all that is lacking, if anything is.
  void check() const;

 private:
  const passes::Summary needs_;
  const std::string kernel_;
  const std::string device_;
  const std::string backend_;
  std::vector<std::string> lacks_;
};

/// For backends whose devices tell all in their DeviceProperties.
void require(const ir::Kernel& kernel, const DeviceProperties& device, std::string_view backend,
             const FeatureNames& names = {});

}  // namespace salvo::codegen
