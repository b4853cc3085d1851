// What is known of a device of the family, as its driver describes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/cuda_family/cuda_family_api.hpp"
#include "salvo/properties.hpp"

namespace salvo::backends::cuda_family {

/// Asked once in a process (P1). What stays 0 or false a driver need not know.
struct DeviceFacts {
  Ordinal ordinal = 0;
  int capability = 0;                      // CUDA; 90: Hopper
  int driver_version = 0;                  // in the driver's own numbers
  bool pools = false;                      // stream-ordered memory
  std::uint32_t largest_shared_bytes = 0;  // of a block that asks for it
  DeviceProperties properties;
  std::string obstacle;  // why it cannot be used; empty if it can
};

/// Asks the driver about one of its devices. What it does not answer throws
/// Errc::backend_unavailable, naming the call.
class DeviceQuery {
 public:
  DeviceQuery(const Api& api, std::string_view backend, int index);

  Ordinal ordinal() const noexcept { return ordinal_; }
  std::string name() const;
  int driver_version() const;
  std::size_t memory_bytes() const;
  /// An attribute by the driver's own number.
  template <class Attribute>
  std::uint32_t value(Attribute what) const {
    return attribute(static_cast<int>(what));
  }
  /// The same where an older driver may not know the attribute.
  template <class Attribute>
  int value_or(Attribute what, int otherwise) const {
    int result = 0;
    return api_.DeviceValue(&result, static_cast<int>(what), ordinal_) == kSuccess ? result
                                                                                   : otherwise;
  }

 private:
  void check(Result status, std::string_view operation) const;
  std::uint32_t attribute(int what) const;

  const Api& api_;
  const std::string_view backend_;
  Ordinal ordinal_ = 0;
};

/// Room for kernel parameters: more than the old 4 KiB from CUDA 12.1 on.
inline constexpr std::uint64_t kSmallParameterBytes = 4096;
inline constexpr std::uint64_t kLargeParameterBytes = 32'764;

/// What every device of the family has whose architecture the backends accept.
void set_common_features(DeviceProperties& properties) noexcept;

}  // namespace salvo::backends::cuda_family
