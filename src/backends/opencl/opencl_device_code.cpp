// The code side of an OpenCL device: from IR or a user's source to a kernel.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/opencl/opencl_device.hpp"
#include "backends/opencl/opencl_error.hpp"
#include "codegen/c_family/float_options.hpp"
#include "codegen/c_family/opencl_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "codegen/features.hpp"
#include "passes/serialize_block.hpp"
#include "runtime/scratch_budget.hpp"

namespace salvo::backends::opencl {
namespace {

/// Bytes of a scalar kernel argument, by the name of its type; 0 for a type that is no scalar.
std::size_t scalar_bytes(std::string_view type) {
  if (type.starts_with("unsigned ")) type.remove_prefix(9);
  if (type.starts_with('u')) type.remove_prefix(1);
  if (type == "char") return 1;
  if (type == "short" || type == "half") return 2;
  if (type == "int" || type == "float") return 4;
  return type == "long" || type == "double" ? 8 : 0;
}

constexpr codegen::FeatureNames kFeatures{
    .fp64 = "f64 (cl_khr_fp64)",
    .atomics_i64 = "64-bit atomics (cl_khr_int64_base_atomics and _extended_atomics)",
    .atomics_f64 = "f64 atomic add (cl_khr_fp64 and cl_khr_int64_base_atomics)",
    .warp_operations =
        "warp operations (cl_khr_subgroups, _subgroup_ballot and _subgroup_shuffle)"};

}  // namespace

bool OpenclDevice::runs_serially(const ir::Kernel& kernel) const {
  return facts_.properties.is_cpu && passes::can_serialize_block(kernel);
}

runtime::Program OpenclDevice::translate(const ir::Kernel& kernel,
                                         const runtime::TranslateOptions& options) const {
  const codegen::Requirements required(kernel, facts_.properties, kName, kFeatures);
  required.check();
  const codegen::c_family::PrintOptions print{.contraction = options.device_contraction,
                                              .may_alias = options.may_alias};
  const auto& dialect = codegen::c_family::opencl_dialect();
  auto [entry, code] = runs_serially(kernel) ? codegen::c_family::print(
                                                   passes::serialize_block(kernel), dialect, print)
                                             : codegen::c_family::print(kernel, dialect, print);
  // -w: PoCL's compiler prints warnings on the program's own stderr.
  runtime::Program program{std::move(entry), std::move(code), {"-w"}, kernel.name};
  // No -cl-mad-enable, -cl-fast-relaxed-math or -cl-unsafe-math-optimizations, ever: they override
  // the pragma that keeps multiplies and adds apart.
  if (facts_.offers_exact_divide_sqrt) {
    program.options.push_back("-cl-fp32-correctly-rounded-divide-sqrt");
  }
  if (required.needs().uses_lanes) {
    program.options.push_back(facts_.has_opencl_c_3 ? "-cl-std=CL3.0" : "-cl-std=CL2.0");
  }
  return program;
}

ProgramHandle OpenclDevice::compile(std::string_view source,
                                    const std::vector<std::string>& options,
                                    std::span<const std::byte> cached) {
  cl_int status = CL_SUCCESS;
  ProgramHandle program(nullptr, {&api_});
  if (cached.empty()) {
    const char* text = source.data();
    const std::size_t length = source.size();
    program.reset(api_.CreateProgramWithSource(context_.get(), 1, &text, &length, &status));
    check(status, "clCreateProgramWithSource", Errc::compile_failed);
  } else {
    const auto* bytes = reinterpret_cast<const unsigned char*>(cached.data());
    const std::size_t length = cached.size();
    cl_int binary_status = CL_SUCCESS;
    program.reset(api_.CreateProgramWithBinary(context_.get(), 1, &facts_.id, &length, &bytes,
                                               &binary_status, &status));
    check(status, "clCreateProgramWithBinary", Errc::compile_failed);
    check(binary_status, "clCreateProgramWithBinary", Errc::compile_failed);
  }
  const std::string words = fmt::format("{}", fmt::join(options, " "));
  status = api_.BuildProgram(program.get(), 1, &facts_.id, words.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    // The build's status is the news: a log that cannot be had stays empty.
    std::size_t length = 0;
    if (api_.GetProgramBuildInfo(program.get(), facts_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                                 &length) != CL_SUCCESS) {
      length = 0;
    }
    std::string log(length, '\0');
    if (api_.GetProgramBuildInfo(program.get(), facts_.id, CL_PROGRAM_BUILD_LOG, length, log.data(),
                                 nullptr) != CL_SUCCESS) {
      log.clear();
    }
    log.resize(std::min(log.size(), log.find('\0')));
    fail(status, "clBuildProgram", Errc::compile_failed, std::move(log));
  }
  return program;
}

std::unique_ptr<OpenclExecutable> OpenclDevice::load(ProgramHandle program,
                                                     const std::string& entry) {
  auto executable = std::make_unique<OpenclExecutable>();
  executable->api = &api_;
  executable->program = std::move(program);
  cl_int status = CL_SUCCESS;
  executable->kernel = {api_.CreateKernel(executable->program.get(), entry.c_str(), &status),
                        {&api_}};
  check(status, "clCreateKernel", Errc::compile_failed);

  const auto work_group_info = [&](cl_kernel_work_group_info what) {
    return [this, what, kernel = executable->kernel.get()](std::size_t bytes, void* target) {
      return api_.GetKernelWorkGroupInfo(kernel, facts_.id, what, bytes, target, nullptr);
    };
  };
  const auto limit =
      ask<std::size_t>(work_group_info(CL_KERNEL_WORK_GROUP_SIZE), "clGetKernelWorkGroupInfo");
  executable->max_threads = static_cast<std::uint32_t>(
      std::min<std::size_t>(facts_.properties.max_threads_per_block, limit));
  // On CPUs private memory is the host's stack, of which there is enough.
  if (!facts_.properties.is_cpu) {
    executable->spill_bytes = static_cast<std::uint32_t>(
        ask<cl_ulong>(work_group_info(CL_KERNEL_PRIVATE_MEM_SIZE), "clGetKernelWorkGroupInfo"));
  }
  return executable;
}

std::unique_ptr<runtime::Executable> OpenclDevice::build(const ir::Kernel& kernel,
                                                         const runtime::Program& program,
                                                         std::span<const std::byte> cached) {
  auto executable = load(compile(program.code, program.options, cached), program.entry);
  const std::vector<bool> lengths = codegen::c_family::reads_length(kernel);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const ArgumentPlan plan{.is_span = parameter.is_span,
                            .length = lengths[i],
                            .bytes = parameter.is_span ? 0 : ir::size_of(parameter.type)};
    executable->plan.insert(executable->plan.end(), parameter.slots, plan);
  }
  executable->dynamic_shared = kernel.has_dynamic_shared();
  executable->serial = runs_serially(kernel);
  if (executable->serial) executable->max_threads = facts_.properties.max_threads_per_block;
  return executable;
}

std::unique_ptr<runtime::Executable> OpenclDevice::build_source(const runtime::UserSource& source) {
  const auto refuse = [&](std::string message, Errc code = Errc::unsupported) {
    throw Error(Error::Details{.code = code,
                               .message = std::move(message),
                               .backend = std::string(kName),
                               .operation = "build_source",
                               .kernel = source.entry});
  };
  if (source.language != "OpenCL C")
    refuse(fmt::format("OpenCL compiles OpenCL C, not {}", source.language));
  if (const std::string option = codegen::c_family::relaxing_option(source.options);
      !option.empty()) {
    refuse(fmt::format("the option {} relaxes floating point", option), Errc::invalid_argument);
  }
  std::vector<std::string> options = source.options;
  options.push_back("-cl-kernel-arg-info");  // the only way to learn what the arguments are
  auto executable = load(compile(source.code, options, {}), source.entry);
  cl_kernel kernel = executable->kernel.get();
  const auto count = ask<cl_uint>(
      [&](std::size_t bytes, void* target) {
        return api_.GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, bytes, target, nullptr);
      },
      "clGetKernelInfo");
  for (cl_uint i = 0; i < count; ++i) {
    const auto space = ask<cl_kernel_arg_address_qualifier>(
        [&](std::size_t bytes, void* target) {
          return api_.GetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, bytes, target,
                                       nullptr);
        },
        "clGetKernelArgInfo");
    if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) {
      if (i + 1 < count) refuse("local memory is an argument that is not the last");
      executable->dynamic_shared = true;
      continue;
    }
    char type[256] = "";
    check(
        api_.GetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof(type) - 1, type, nullptr),
        "clGetKernelArgInfo", Errc::compile_failed);
    const bool is_span = space != CL_KERNEL_ARG_ADDRESS_PRIVATE;
    const std::size_t bytes = is_span ? 0 : scalar_bytes(type);
    if (!is_span && bytes == 0) refuse(fmt::format("argument {} is of type {}", i, type));
    executable->plan.push_back({.is_span = is_span, .offset = false, .bytes = bytes});
  }
  return executable;
}

runtime::ParameterCost OpenclDevice::parameter_cost(const ir::Kernel& kernel) const {
  constexpr std::uint64_t kSpan = 24;  // buffer, byte offset, length
  runtime::ParameterCost cost;
  for (const ir::Parameter& parameter : kernel.parameters) {
    const std::uint64_t one =
        parameter.is_span ? kSpan : std::max<std::uint64_t>(4, ir::size_of(parameter.type));
    cost.bytes += one * parameter.slots;
  }
  return cost;
}

std::uint32_t OpenclDevice::preferred_block(const runtime::Executable* executable) const {
  const DeviceProperties& device = facts_.properties;
  // On a CPU most kernels are serialised, and then a block has no limit of the kernel's own.
  if (!executable && !device.is_cpu) return 0;
  std::uint64_t limit = std::min<std::uint64_t>(device.max_threads_per_block, device.max_block[0]);
  if (executable) {
    const auto most = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(limit, executable->max_threads_per_block()));
    limit = runtime::within_scratch_budget(most, executable->spill_bytes_per_thread());
  }
  // A CPU pays for each block and gains nothing from small ones; a GPU needs many to fill it.
  const std::uint64_t usual = device.is_cpu ? 1024 : 256;
  return static_cast<std::uint32_t>(
      std::bit_floor(std::min(usual, std::max<std::uint64_t>(limit, 1))));
}

}  // namespace salvo::backends::opencl
