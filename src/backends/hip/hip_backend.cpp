// The HIP backend: HIP C++ compiled by hiprtc, for AMD GPUs.
// SPDX-License-Identifier: MIT
#include "backends/hip/hip_backend.hpp"

#include <utility>

#include <fmt/format.h>

#include "backends/cuda_family/cuda_family_device.hpp"
#include "backends/hip/hip_api.hpp"
#include "codegen/c_family/hip_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/features.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::hip {
namespace {

using cuda_family::DeviceFacts;
using cuda_family::FamilyDevice;

class HipDevice final : public FamilyDevice {
 public:
  HipDevice(const Api& api, const DeviceFacts& facts, const Hiprtc& hiprtc)
      : FamilyDevice(api, facts, kName), hiprtc_(hiprtc) {}

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    codegen::require(kernel, facts().properties, kName);
    // Mode `device` compiles as `off` (W50): contraction is never let loose.
    const codegen::c_family::PrintOptions print{
        .contraction = false, .line_directives = true, .may_alias = options.may_alias};
    auto [entry, code] = codegen::c_family::print(kernel, codegen::c_family::hip_dialect(), print);
    return {std::move(entry), std::move(code), compile_options(facts().properties.platform),
            kernel.name};
  }

  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override {
    runtime::UserSource exact = source;
    exact.options = compile_options(facts().properties.platform, source.options);
    return FamilyDevice::build_source(exact);
  }

  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    FamilyDevice::write(queue, to, offset, source, bytes);
    // HIP promises of no copy that it has read pageable memory when it returns (W14).
    if (bytes != 0) finish(queue);
  }

  bool copy_from(runtime::Queue&, Buffer, std::size_t, runtime::DeviceDriver&, runtime::Queue&,
                 Buffer, std::size_t, std::size_t) override {
    return false;  // through the host: HIP names peers by number, not by context
  }

  // The entry points of graphs are not loaded for HIP.
  std::size_t shortest_replay() const noexcept override { return 0; }
  bool replay(runtime::Queue&, std::span<const runtime::LaunchCommand>) override { return false; }

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

std::unique_ptr<runtime::DeviceDriver> open_device(const DeviceFacts& facts) {
  if (const std::string reason = drivers().load_compiler(); !reason.empty()) {
    throw Error(Error::Details{.code = Errc::backend_unavailable,
                               .message = "there is no run-time compiler: " + reason,
                               .backend = std::string(kName),
                               .operation = "load hiprtc"});
  }
  return std::make_unique<HipDevice>(drivers().api(), facts, drivers().compiler());
}

constexpr std::string_view kAdvice =
    ". HIP needs ROCm 5 or later (on Debian: libamdhip64-5) and an AMD GPU from gfx900 on whose "
    "/dev/kfd you may open";

}  // namespace

std::unique_ptr<runtime::Backend> make_backend() {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(
      kName, [] { return drivers().devices(); }, open_device, kAdvice);
}

}  // namespace salvo::backends::hip
