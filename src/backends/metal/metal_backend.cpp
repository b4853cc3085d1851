// The Metal backend: MSL compiled by the system, for every GPU of a Mac.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_backend.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/metal/metal_device.hpp"
#include "backends/metal/metal_drivers.hpp"
#include "backends/metal/metal_error.hpp"

namespace salvo::backends::metal {
namespace {

class MetalBackend final : public runtime::Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    Drivers& drivers = Drivers::instance();
    std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
    auto [devices, reasons] = drivers.devices();
    for (const DeviceFacts* facts : devices) {
      try {
        opened.push_back(std::make_unique<MetalDevice>(drivers.api(), *facts));
      } catch (const Error& error) {
        reasons.push_back(fmt::format("{}: {}", facts->properties.name, error.what()));
      }
    }
    unavailable_.reset();
    if (opened.empty()) {
      unavailable_ = runtime::Unavailable{
          fmt::format("{}. Metal is a part of macOS (11 or later) and of no other system: there is "
                      "nothing to install, use another backend here",
                      fmt::join(reasons, "; "))};
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

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<MetalBackend>();
}

}  // namespace salvo::backends::metal
