// The two CUDA backends: PTX written here, and CUDA C++ compiled by NVRTC.
// SPDX-License-Identifier: MIT
#include "backends/cuda/cuda_backend.hpp"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/cuda_api.hpp"
#include "backends/cuda_family/cuda_family_device.hpp"
#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/features.hpp"
#include "codegen/ptx/emitter.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::cuda {
namespace {

using cuda_family::Api;
using cuda_family::DeviceFacts;
using cuda_family::FamilyDevice;

class PtxDevice final : public FamilyDevice {
 public:
  PtxDevice(const Api& api, const DeviceFacts& facts) : FamilyDevice(api, facts, kPtxName) {}

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    codegen::require(kernel, facts().properties, kPtxName);
    codegen::ptx::EmitOptions emit;
    emit.contraction = options.device_contraction;
    emit.may_alias = options.may_alias;
    emit.target = codegen::ptx::target_for(facts().driver_version, facts().capability);
    codegen::ptx::Emitted made = codegen::ptx::emit(kernel, emit);
    return {std::move(made.entry), std::move(made.code),       {},
            kernel.name,           std::move(made.alignments), std::move(made.unaligned_entry)};
  }

  std::string build_identity() const override {
    return fmt::format("{}; driver assembler", facts().properties.platform);
  }

 protected:
  Image compile(const runtime::Program& program) const override {
    return assemble(program.code, program.name);
  }
  bool bound(runtime::Program& program, std::uint32_t threads) const override {
    program.code = codegen::ptx::with_launch_bound(program.code, threads);
    return true;
  }
  std::string_view language() const noexcept override { return "PTX"; }
};

class CDevice final : public FamilyDevice {
 public:
  CDevice(const Api& api, const DeviceFacts& facts, const Nvrtc& nvrtc)
      : FamilyDevice(api, with_limits(facts, nvrtc), kCName), nvrtc_(nvrtc) {}

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    codegen::require(kernel, facts().properties, kCName);
    const codegen::c_family::PrintOptions print{.contraction = options.device_contraction,
                                                .line_directives = true,
                                                .may_alias = options.may_alias};
    auto [printed, alignments, unaligned_entry] =
        codegen::c_family::print_with_vectors(kernel, codegen::c_family::cuda_dialect(), print);
    const int arch = nvrtc_.arch_for(facts().capability);
    // The last --fmad wins.
    return {std::move(printed.entry),
            std::move(printed.code),
            {"--std=c++17", "--generate-line-info",
             fmt::format("--gpu-architecture={}_{}", arch == facts().capability ? "sm" : "compute",
                         arch),
             fmt::format("--fmad={}", options.device_contraction)},
            kernel.name,
            std::move(alignments),
            std::move(unaligned_entry)};
  }

  std::string build_identity() const override {
    return fmt::format("{}; NVRTC {}", facts().properties.platform, nvrtc_.version());
  }

 protected:
  Image compile(const runtime::Program& program) const override {
    const std::string result = nvrtc_.compile(program.code, program.name + ".cu", program.options);
    // For a chip newer than the compiler that is PTX, which the driver assembles.
    if (!result.starts_with("\x7f"
                            "ELF"))
      return assemble(result, program.name);
    const auto* first = reinterpret_cast<const std::byte*>(result.data());
    return Image(first, first + result.size());
  }
  bool bound(runtime::Program& program, std::uint32_t threads) const override {
    // Every chip that is supported has as many for a block.
    constexpr std::uint32_t kRegisters = 65'536;
    program.options.push_back(fmt::format("--maxrregcount={}", kRegisters / threads));
    return true;
  }
  std::string_view language() const noexcept override { return "CUDA C"; }

 private:
  static DeviceFacts with_limits(DeviceFacts facts, const Nvrtc& nvrtc) {
    if (nvrtc.version() < 12010)
      facts.properties.parameter_bytes = cuda_family::kSmallParameterBytes;
    if (nvrtc.arch_for(facts.capability) < 80) {
      std::erase_if(facts.properties.cooperative_matrices, [](const CooperativeMatrixShape& shape) {
        return shape.inputs == ir::Scalar::BF16;
      });
    }
    return facts;
  }

  const Nvrtc& nvrtc_;
};

std::unique_ptr<runtime::DeviceDriver> open_ptx(const DeviceFacts& facts) {
  return std::make_unique<PtxDevice>(drivers().api(), facts);
}

std::unique_ptr<runtime::DeviceDriver> open_c(const DeviceFacts& facts) {
  const auto refuse = [](std::string message) {
    throw Error(Error::Details{.code = Errc::backend_unavailable,
                               .message = std::move(message),
                               .backend = std::string(kCName),
                               .operation = "load NVRTC"});
  };
  if (const std::string reason = drivers().load_compiler(); !reason.empty()) refuse(reason);
  const Nvrtc& nvrtc = drivers().compiler();
  if (nvrtc.arch_for(facts.capability) == 0) {
    refuse(fmt::format("{} compiles for no architecture up to {}", nvrtc.shared_object_name(),
                       facts.properties.platform));
  }
  return std::make_unique<CDevice>(drivers().api(), facts, nvrtc);
}

runtime::Found<DeviceFacts> find() {
  return drivers().devices();
}

}  // namespace

std::unique_ptr<runtime::Backend> make_ptx_backend() {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(kPtxName, find, open_ptx);
}

std::unique_ptr<runtime::Backend> make_c_backend() {
  return std::make_unique<runtime::DriverBackend<DeviceFacts>>(kCName, find, open_c);
}

}  // namespace salvo::backends::cuda
