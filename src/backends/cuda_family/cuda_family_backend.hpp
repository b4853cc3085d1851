// A backend on a driver of the family: it opens the devices that the driver knows.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/cuda_family/cuda_family_drivers.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::cuda_family {

class FamilyBackend final : public runtime::Backend {
 public:
  /// Loads nothing until `open`. A device that cannot be opened throws; `advice` ends the reason
  /// why there is none.
  using OpenDevice = std::function<std::unique_ptr<runtime::DeviceDriver>(const DeviceFacts&)>;
  FamilyBackend(std::string_view name, Drivers& drivers, OpenDevice open_device,
                std::string_view advice = {});

  std::string_view name() const noexcept override { return name_; }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override;
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  const std::string_view name_;
  Drivers& drivers_;
  const OpenDevice open_device_;
  const std::string_view advice_;
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace salvo::backends::cuda_family
