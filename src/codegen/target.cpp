// Prints the source of a kernel for any target, with or without its device (K15).
// SPDX-License-Identifier: MIT
#include "codegen/target.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/c_family/cuda_dialect.hpp"
#include "codegen/c_family/hip_dialect.hpp"
#include "codegen/c_family/metal_dialect.hpp"
#include "codegen/c_family/opencl_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/llvm/emitter.hpp"
#include "codegen/ptx/emitter.hpp"
#include "codegen/spirv/emitter.hpp"
#include "codegen/wgsl/printer.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen {
namespace {

struct Target {
  std::string_view name;
  std::string (*source)(const ir::Kernel& kernel);
};

template <const c_family::Dialect& (*dialect)()>
std::string c_source(const ir::Kernel& kernel) {
  return c_family::print(kernel, dialect(), {}).code;
}

std::string metal_source(const ir::Kernel& kernel) {
  return c_family::print_metal(kernel).code;
}
std::string ptx_source(const ir::Kernel& kernel) {
  return ptx::emit(kernel, {}).code;
}
std::string llvm_source(const ir::Kernel& kernel) {
  return llvm::emit(llvm::lower(kernel, {}), {}).code;
}
std::string spirv_text(const ir::Kernel& kernel) {
  return spirv::disassemble(spirv::emit(kernel, {}).words);
}
std::string kernel_spirv_text(const ir::Kernel& kernel) {
  spirv::Options options;
  options.flavour = spirv::Flavour::kernel;
  options.fma_rounds_once = true;
  options.exact_divide_sqrt = true;
  return spirv::disassemble(spirv::emit(kernel, options).words);
}

std::string wgsl_source(const ir::Kernel& kernel) {
  return wgsl::print(kernel).code;
}

constexpr std::array kTargets{
    Target{"CUDA/PTX", ptx_source},
    Target{"CUDA/C", c_source<c_family::cuda_dialect>},
    Target{"HIP", c_source<c_family::hip_dialect>},
    Target{"Metal", metal_source},
    Target{"OpenCL", c_source<c_family::opencl_dialect>},
    Target{"Vulkan", spirv_text},
    Target{"LevelZero", kernel_spirv_text},
    Target{"WebGPU", wgsl_source},
    Target{"Native", llvm_source},
};

}  // namespace

std::vector<std::string_view> targets() {
  std::vector<std::string_view> names;
  for (const Target& target : kTargets) names.push_back(target.name);
  return names;
}

std::string source(const ir::Kernel& kernel, std::string_view target) {
  for (const Target& known : kTargets) {
    if (known.name == target) return known.source(kernel);
  }
  throw Error(Errc::invalid_argument, fmt::format("no source target is called '{}'; there are: {}",
                                                  target, fmt::join(targets(), ", ")));
}

}  // namespace salvo::codegen
