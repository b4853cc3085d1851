// The WebGPU backend: registered, and never available, since kernels are only printed for it.
// SPDX-License-Identifier: MIT
#include "backends/webgpu/webgpu_backend.hpp"

#include <optional>

namespace salvo::backends::webgpu {
namespace {

class WebgpuBackend final : public runtime::Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    unavailable_ = runtime::Unavailable{
        "Salvo launches nothing through WebGPU; it prints kernels in WGSL for a program that does: "
        "kernel.source(\"WebGPU\") or `salvo source KERNEL --target WebGPU`. To run on the GPU "
        "here, use one of the "
        "other backends: Vulkan has a driver for nearly every one"};
    return {};
  }
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<WebgpuBackend>();
}

}  // namespace salvo::backends::webgpu
