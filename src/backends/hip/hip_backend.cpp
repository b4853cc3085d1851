// The HIP backend: HIP C++ compiled by hiprtc, for AMD GPUs.
// SPDX-License-Identifier: MIT
#include "backends/hip/hip_backend.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cuda/cuda_device.hpp"
#include "backends/hip/hip_drivers.hpp"
#include "codegen/c_family/float_options.hpp"
#include "codegen/c_family/hip_dialect.hpp"
#include "codegen/c_family/printer.hpp"

namespace salvo::backends::hip {
namespace {

/// The driver layer is CUDA's, on HIP's functions.
class HipDevice final : public cuda::CudaDevice {
 public:
  HipDevice(const Api& api, const DeviceFacts& facts, const Hiprtc& hiprtc)
      : CudaDevice(api, facts, kName), hiprtc_(hiprtc) {}

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    // Mode `device` compiles as `off` (W50): contraction is never let loose.
    const codegen::c_family::PrintOptions print{
        .contraction = false, .line_directives = true, .may_alias = options.may_alias};
    auto [entry, code] = codegen::c_family::print(kernel, codegen::c_family::hip_dialect(), print);
    return {std::move(entry), std::move(code), compile_options(facts().properties.platform),
            kernel.name};
  }

  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override {
    if (source.language != language()) {
      reporter().fail(Errc::unsupported, "compile user source",
                      fmt::format("HIP compiles {}, not {}", language(), source.language));
    }
    const std::string relaxing = codegen::c_family::relaxing_option(source.options);
    if (!relaxing.empty()) {
      reporter().fail(Errc::invalid_argument, "compile user source",
                      fmt::format("the option {} relaxes floating point", relaxing));
    }
    runtime::UserSource exact = source;
    exact.options = compile_options(facts().properties.platform, source.options);
    return CudaDevice::build_source(exact);
  }

  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    CudaDevice::write(queue, to, offset, source, bytes);
    // HIP promises of no copy that it has read pageable memory when it returns (W14).
    if (bytes != 0) finish(queue);
  }

  bool copy_from(runtime::Queue&, Buffer, runtime::DeviceDriver&, runtime::Queue&, Buffer,
                 std::size_t) override {
    return false;  // through the host: HIP names peers by number, not by context
  }

  // The entry points of graphs are not loaded for HIP.
  std::size_t shortest_replay() const noexcept override { return 0; }
  bool replay(runtime::Queue&, std::span<const runtime::LaunchCommand>) override { return false; }

  runtime::CallCounts driver_calls() const override { return calls(reporter().api()); }

  std::string build_identity() const override {
    return fmt::format("{}; hiprtc {}", facts().properties.platform, hiprtc_.version());
  }

 protected:
  Image compile(const runtime::Program& program) const override {
    const std::string code = hiprtc_.compile(program.code, program.name + ".hip", program.options);
    const auto* first = reinterpret_cast<const std::byte*>(code.data());
    return Image(first, first + code.size());
  }
  std::string_view language() const noexcept override { return "HIP"; }

 private:
  const Hiprtc& hiprtc_;
};

class HipBackend final : public runtime::Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool is_jit() const noexcept override { return true; }

  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    Drivers& drivers = Drivers::instance();
    std::vector<std::unique_ptr<runtime::DeviceDriver>> opened;
    auto [devices, reasons] = drivers.devices();
    if (!devices.empty()) {
      if (std::string reason = drivers.load_compiler(); !reason.empty()) {
        reasons.push_back("there is no run-time compiler: " + std::move(reason));
        devices.clear();
      }
    }
    for (const DeviceFacts& facts : devices) {
      try {
        opened.push_back(std::make_unique<HipDevice>(drivers.api(), facts, drivers.compiler()));
      } catch (const Error& error) {
        reasons.push_back(fmt::format("{}: {}", facts.properties.name, error.what()));
      }
    }
    unavailable_.reset();
    if (opened.empty()) {
      unavailable_ = runtime::Unavailable{fmt::format(
          "{}. HIP needs ROCm 5 or later (on Debian: libamdhip64-5) and an AMD GPU from "
          "gfx900 on whose /dev/kfd you may open",
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
  return std::make_unique<HipBackend>();
}

}  // namespace salvo::backends::hip
