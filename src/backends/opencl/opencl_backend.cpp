// The OpenCL backend: every device of every platform.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_backend.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/opencl/opencl_device.hpp"
#include "backends/opencl/opencl_drivers.hpp"
#include "backends/opencl/opencl_error.hpp"

namespace salvo::backends::opencl {
namespace {

class OpenclBackend final : public runtime::Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
    std::vector<std::string> reasons;
    try {
      Drivers& drivers = Drivers::instance();
      auto [devices, obstacles] = drivers.devices();
      reasons = std::move(obstacles);
      for (const DeviceFacts& facts : devices) {
        try {
          opened.push_back(std::make_unique<OpenclDevice>(drivers.api(), facts));
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
  return Drivers::instance().api();
}

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<OpenclBackend>();
}

}  // namespace salvo::backends::opencl
