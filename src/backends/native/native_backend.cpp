// The backend that compiles kernels for the host's cores with LLVM.
// SPDX-License-Identifier: MIT
#include "backends/native/native_backend.hpp"

#include <utility>

#include "backends/native/native_device.hpp"
#include "backends/native/native_error.hpp"

namespace salvo::backends::native {
namespace {

class NativeBackend final : public runtime::Backend {
 public:
  explicit NativeBackend(Settings settings) : settings_(std::move(settings)) {}

  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return false; }  // never held (W4)
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> devices;
    const Api& api = llvm_api(settings_.llvm);
    if (api.reason.empty()) {
      devices.push_back(std::make_unique<NativeDevice>(api, settings_));
    } else {
      unavailable_ = runtime::Unavailable{api.reason};
    }
    return devices;
  }

 private:
  const Settings settings_;
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings) {
  return std::make_unique<NativeBackend>(settings);
}

}  // namespace salvo::backends::native
