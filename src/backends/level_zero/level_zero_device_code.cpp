// The code side of a Level Zero device: from IR or a user's module to a kernel.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "backends/level_zero/level_zero_device.hpp"
#include "backends/level_zero/level_zero_error.hpp"
#include "backends/level_zero/level_zero_executable.hpp"
#include "codegen/features.hpp"
#include "codegen/spirv/emitter.hpp"
#include "codegen/spirv/entry.hpp"

namespace salvo::backends::level_zero {
namespace {

std::string bytes_of(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

std::vector<std::uint32_t> words_of(std::string_view bytes) {
  std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint32_t));
  return words;
}

constexpr codegen::FeatureNames kFeatures{
    .fp64 = "f64 (ZE_DEVICE_MODULE_FLAG_FP64)",
    .atomics_i64 = "64-bit atomics (ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS)",
    .atomics_f64 =
        "f64 atomic add (ZE_DEVICE_MODULE_FLAG_FP64 and ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS)",
    .warp_operations = "warp operations (subgroups of a size that can be chosen)"};

}  // namespace

runtime::Program LevelZeroDevice::translate(const ir::Kernel& kernel,
                                            const runtime::TranslateOptions& options) const {
  codegen::require(kernel, facts_.properties, kName, kFeatures);
  codegen::spirv::Options spirv = facts_.spirv;
  spirv.contraction = options.device_contraction;
  spirv.may_alias = options.may_alias;
  runtime::Program program{codegen::spirv::kKernelEntry,
                           bytes_of(codegen::spirv::emit(kernel, spirv).words),
                           {},
                           kernel.name};
  // No option that lets the compiler reorder or contract, ever: they override what the module says.
  if (facts_.offers_exact_divide_sqrt) {
    program.options.push_back("-cl-fp32-correctly-rounded-divide-sqrt");
  }
  return program;
}

std::unique_ptr<runtime::Executable> LevelZeroDevice::build(const ir::Kernel& kernel,
                                                            const runtime::Program& program,
                                                            std::span<const std::byte> cached) {
  auto executable = std::make_unique<LevelZeroExecutable>(context_, program.code, program.options,
                                                          cached, program.entry);
  executable->plan(kernel, codegen::spirv::lay_out_entry(kernel));
  return executable;
}

std::unique_ptr<runtime::Executable> LevelZeroDevice::build_source(
    const runtime::UserSource& source) {
  const auto refuse = [&](Errc code, std::string message) {
    throw Error(Error::Details{.code = code,
                               .message = std::move(message),
                               .backend = std::string(kName),
                               .operation = "build_source",
                               .kernel = source.entry});
  };
  if (source.language != "SPIR-V") {
    refuse(Errc::unsupported, fmt::format("LevelZero compiles SPIR-V, not {}", source.language));
  }
  if (!codegen::spirv::is_module(source.code)) {
    refuse(Errc::compile_failed, "the code is no SPIR-V module");
  }
  const std::vector<std::uint32_t> words = words_of(source.code);
  const auto parameters = codegen::spirv::entry_parameters(words, source.entry);
  if (!parameters) {
    refuse(Errc::compile_failed,
           "the module has no kernel of this name, or one with parameters of other types than "
           "pointers to global or shared memory, integers and floats");
  }
  auto executable = std::make_unique<LevelZeroExecutable>(
      context_, source.code, source.options, std::span<const std::byte>{}, source.entry);
  executable->plan(*parameters);
  return executable;
}

runtime::ParameterCost LevelZeroDevice::parameter_cost(const ir::Kernel& kernel) const {
  constexpr std::uint64_t kSpan = 16;  // address, length
  runtime::ParameterCost cost;
  for (const ir::Parameter& parameter : kernel.parameters) {
    const std::uint64_t one =
        parameter.is_span ? kSpan : std::max<std::uint64_t>(4, ir::size_of(parameter.type));
    cost.bytes += one * parameter.slots;
  }
  return cost;
}

std::uint32_t LevelZeroDevice::preferred_block(const runtime::Executable* executable) const {
  // What a kernel spills and how many registers it takes decide.
  if (!executable) return 0;
  return static_cast<const LevelZeroExecutable*>(executable)->preferred_block();
}

}  // namespace salvo::backends::level_zero
