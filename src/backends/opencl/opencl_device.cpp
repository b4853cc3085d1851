// One OpenCL device: memory, code and work.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_device.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/opencl/opencl_error.hpp"
#include "codegen/c_family/opencl_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "passes/access.hpp"
#include "passes/serialize_block.hpp"

namespace salvo::backends::opencl {
namespace {

using runtime::Argument;
using runtime::Buffer;
using runtime::LaunchShape;

template <auto release>
struct Releaser {
  const Api* api = nullptr;
  template <typename T>
  void operator()(T* handle) const noexcept {
    (api->*release)(handle);
  }
};
template <typename T, auto release>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Releaser<release>>;

using ContextHandle = Handle<cl_context, &Api::ReleaseContext>;
using QueueHandle = Handle<cl_command_queue, &Api::ReleaseCommandQueue>;
using ProgramHandle = Handle<cl_program, &Api::ReleaseProgram>;
using KernelHandle = Handle<cl_kernel, &Api::ReleaseKernel>;

cl_mem memory_of(Buffer buffer) noexcept { return reinterpret_cast<cl_mem>(buffer.handle); }

class OpenclQueue final : public runtime::Queue {
 public:
  explicit OpenclQueue(QueueHandle handle) : handle_(std::move(handle)) {}
  cl_command_queue get() const noexcept { return handle_.get(); }

 private:
  QueueHandle handle_;
};

cl_command_queue handle_of(runtime::Queue& queue) {
  return static_cast<OpenclQueue&>(queue).get();
}

/// How one launch argument becomes kernel arguments.
struct ArgumentPlan {
  bool is_span = false;
  bool length = false;      // span: its length is passed
  std::size_t bytes = 0;    // scalar
};

class OpenclExecutable final : public runtime::Executable {
 public:
  const Api* api = nullptr;
  ProgramHandle program;
  KernelHandle kernel;
  std::vector<ArgumentPlan> plan;  // a launch argument each
  bool serial = false;             // one work-item runs a block; see passes::serialize_block
  bool dynamic_shared = false;
  std::uint32_t max_threads = 1;
  std::uint32_t spill_bytes = 0;
  // A cl_kernel holds its arguments until it is enqueued (P4).
  std::mutex mutex;

  std::uint32_t max_threads_per_block() const noexcept override { return max_threads; }
  std::uint32_t spill_bytes_per_thread() const noexcept override { return spill_bytes; }

  std::vector<std::byte> binary() const override {
    std::size_t bytes = 0;
    check(api->GetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes,
                              nullptr),
          "clGetProgramInfo", Errc::compile_failed);
    std::vector<std::byte> content(bytes);
    auto* target = reinterpret_cast<unsigned char*>(content.data());
    check(api->GetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof(target), &target, nullptr),
          "clGetProgramInfo", Errc::compile_failed);
    return content;
  }
};

class OpenclDevice final : public runtime::DeviceDriver {
 public:
  OpenclDevice(const Api& api, const DeviceFacts& facts) : api_(api), facts_(facts) {
    cl_int status = CL_SUCCESS;
    context_ = {api_.CreateContext(nullptr, 1, &facts_.id, nullptr, nullptr, &status), {&api_}};
    check(status, "clCreateContext", Errc::backend_unavailable);
    QueueHandle queue(api_.CreateCommandQueue(context_.get(), facts_.id, 0, &status), {&api_});
    check(status, "clCreateCommandQueue", Errc::backend_unavailable);
    queue_.emplace(std::move(queue));
  }

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  Buffer allocate(std::size_t bytes) override {
    cl_int status = CL_SUCCESS;
    // Memory of the driver's own: a buffer on host memory would let launches alias host objects.
    cl_mem memory = api_.CreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
    check(status, "clCreateBuffer", Errc::out_of_memory);
    return {reinterpret_cast<std::uintptr_t>(memory), bytes};
  }
  void release(Buffer buffer) noexcept override {
    if (buffer) api_.ReleaseMemObject(memory_of(buffer));
  }

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override;
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::uint32_t preferred_block(const runtime::Executable* executable) const override;
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override;

  runtime::Queue& queue() noexcept override { return *queue_; }
  void launch(runtime::Queue& queue, runtime::Executable& executable, const LaunchShape& shape,
              std::span<const Argument> arguments) override;

  void write(runtime::Queue& queue, Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    if (bytes == 0) return;
    check(api_.EnqueueWriteBuffer(handle_of(queue), memory_of(to), CL_TRUE, offset, bytes, source,
                                  0, nullptr, nullptr),
          "clEnqueueWriteBuffer", Errc::transfer_failed);
  }
  void read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
            std::size_t bytes) override {
    if (bytes == 0) return;
    check(api_.EnqueueReadBuffer(handle_of(queue), memory_of(from), CL_TRUE, offset, bytes, target,
                                 0, nullptr, nullptr),
          "clEnqueueReadBuffer", Errc::transfer_failed);
  }
  void copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
            std::size_t from_offset, std::size_t bytes) override {
    if (bytes == 0) return;
    check(api_.EnqueueCopyBuffer(handle_of(queue), memory_of(from), memory_of(to), from_offset,
                                 to_offset, bytes, 0, nullptr, nullptr),
          "clEnqueueCopyBuffer", Errc::transfer_failed);
  }
  void submit(runtime::Queue& queue) override {
    check(api_.Flush(handle_of(queue)), "clFlush", Errc::launch_failed);
  }
  void finish(runtime::Queue& queue) override {
    check(api_.Finish(handle_of(queue)), "clFinish", Errc::launch_failed);
  }

 private:
  bool runs_serially(const ir::Kernel& kernel) const {
    return facts_.properties.is_cpu && passes::can_serialize_block(kernel);
  }
  void require_features(const ir::Kernel& kernel) const;
  ProgramHandle compile(const runtime::Program& program, std::span<const std::byte> cached);
  void set_arguments(const OpenclExecutable& executable, const LaunchShape& shape,
                     std::span<const Argument> arguments) const;

  template <typename T>
  T kernel_info(cl_kernel kernel, cl_kernel_work_group_info what) const {
    T value{};
    check(api_.GetKernelWorkGroupInfo(kernel, facts_.id, what, sizeof(value), &value, nullptr),
          "clGetKernelWorkGroupInfo", Errc::compile_failed);
    return value;
  }

  const Api& api_;
  const DeviceFacts facts_;
  ContextHandle context_;
  std::optional<OpenclQueue> queue_;
};

void OpenclDevice::require_features(const ir::Kernel& kernel) const {
  const passes::Summary needs = passes::summarize(kernel);
  const DeviceProperties& has = facts_.properties;
  const auto require = [&](bool need, bool there, std::string_view what) {
    if (!need || there) return;
    throw Error(Error::Details{.code = Errc::unsupported,
                               .message = fmt::format("{} has no {}", has.name, what),
                               .backend = std::string(kName),
                               .operation = "translate",
                               .kernel = kernel.name});
  };
  require(needs.needs_fp64, has.fp64, "f64 (cl_khr_fp64)");
  require(needs.needs_atomics_i64, has.atomics_i64,
          "atomics on i64 and u64 (cl_khr_int64_base_atomics and _extended_atomics)");
  require(needs.needs_atomics_f64, has.atomics_f64,
          "atomics on f64 (cl_khr_fp64 and cl_khr_int64_base_atomics)");
  require(needs.has_warp_operation, has.warp_operations,
          "warp operations (cl_khr_subgroups, _subgroup_ballot and _subgroup_shuffle)");
}

runtime::Program OpenclDevice::translate(const ir::Kernel& kernel,
                                         const runtime::TranslateOptions& options) const {
  require_features(kernel);
  const codegen::c_family::PrintOptions print{.contraction = options.device_contraction,
                                              .may_alias = options.may_alias};
  const auto& dialect = codegen::c_family::opencl_dialect();
  auto [entry, code] =
      runs_serially(kernel)
          ? codegen::c_family::print(passes::serialize_block(kernel), dialect, print)
          : codegen::c_family::print(kernel, dialect, print);
  // -w: PoCL's compiler prints warnings on the program's own stderr.
  runtime::Program program{std::move(entry), std::move(code), {"-w"}, kernel.name};
  // No -cl-mad-enable, -cl-fast-relaxed-math or -cl-unsafe-math-optimizations, ever: they override
  // the pragma that keeps multiplies and adds apart.
  if (facts_.offers_exact_divide_sqrt) {
    program.options.push_back("-cl-fp32-correctly-rounded-divide-sqrt");
  }
  return program;
}

ProgramHandle OpenclDevice::compile(const runtime::Program& program,
                                    std::span<const std::byte> cached) {
  cl_int status = CL_SUCCESS;
  ProgramHandle handle(nullptr, {&api_});
  if (cached.empty()) {
    const char* text = program.code.data();
    const std::size_t length = program.code.size();
    handle.reset(api_.CreateProgramWithSource(context_.get(), 1, &text, &length, &status));
    check(status, "clCreateProgramWithSource", Errc::compile_failed);
  } else {
    const auto* bytes = reinterpret_cast<const unsigned char*>(cached.data());
    const std::size_t length = cached.size();
    cl_int binary_status = CL_SUCCESS;
    handle.reset(api_.CreateProgramWithBinary(context_.get(), 1, &facts_.id, &length, &bytes,
                                              &binary_status, &status));
    check(status, "clCreateProgramWithBinary", Errc::compile_failed);
    check(binary_status, "clCreateProgramWithBinary", Errc::compile_failed);
  }
  const std::string options = fmt::format("{}", fmt::join(program.options, " "));
  status = api_.BuildProgram(handle.get(), 1, &facts_.id, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    // The status of the build is what matters: a log that cannot be had stays empty.
    std::size_t length = 0;
    std::string log;
    if (api_.GetProgramBuildInfo(handle.get(), facts_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                                 &length) == CL_SUCCESS) {
      log.resize(length);
      if (api_.GetProgramBuildInfo(handle.get(), facts_.id, CL_PROGRAM_BUILD_LOG, length,
                                   log.data(), nullptr) != CL_SUCCESS) {
        log.clear();
      }
      log.resize(std::min(log.size(), log.find('\0')));
    }
    fail(status, "clBuildProgram", Errc::compile_failed, std::move(log));
  }
  return handle;
}

std::unique_ptr<runtime::Executable> OpenclDevice::build(const ir::Kernel& kernel,
                                                         const runtime::Program& program,
                                                         std::span<const std::byte> cached) {
  auto executable = std::make_unique<OpenclExecutable>();
  executable->api = &api_;
  executable->program = compile(program, cached);
  cl_int status = CL_SUCCESS;
  executable->kernel = {
      api_.CreateKernel(executable->program.get(), program.entry.c_str(), &status), {&api_}};
  check(status, "clCreateKernel", Errc::compile_failed);

  const std::vector<bool> lengths = codegen::c_family::reads_length(kernel);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel.parameters[i];
    const ArgumentPlan plan{parameter.is_span, lengths[i],
                            parameter.is_span ? 0 : ir::size_of(parameter.type)};
    executable->plan.insert(executable->plan.end(), parameter.slots, plan);
  }
  executable->serial = runs_serially(kernel);
  executable->dynamic_shared = kernel.has_dynamic_shared();
  executable->max_threads = facts_.properties.max_threads_per_block;
  if (!executable->serial) {
    const auto limit = kernel_info<std::size_t>(executable->kernel.get(), CL_KERNEL_WORK_GROUP_SIZE);
    executable->max_threads =
        static_cast<std::uint32_t>(std::min<std::size_t>(executable->max_threads, limit));
  }
  if (!facts_.properties.is_cpu) {
    executable->spill_bytes = static_cast<std::uint32_t>(
        kernel_info<cl_ulong>(executable->kernel.get(), CL_KERNEL_PRIVATE_MEM_SIZE));
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
  if (executable) limit = std::min<std::uint64_t>(limit, executable->max_threads_per_block());
  // A CPU pays for each block and gains nothing from small ones; a GPU needs many to fill it.
  const std::uint64_t usual = device.is_cpu ? 1024 : 256;
  return static_cast<std::uint32_t>(std::bit_floor(std::min(usual, std::max<std::uint64_t>(limit, 1))));
}

void OpenclDevice::set_arguments(const OpenclExecutable& executable, const LaunchShape& shape,
                                 std::span<const Argument> arguments) const {
  cl_uint index = 0;
  const auto set = [&](std::size_t bytes, const void* value) {
    check(api_.SetKernelArg(executable.kernel.get(), index++, bytes, value), "clSetKernelArg",
          Errc::launch_failed);
  };
  for (std::size_t i = 0; i < executable.plan.size(); ++i) {
    const ArgumentPlan& plan = executable.plan[i];
    const Argument& argument = arguments[i];
    if (!plan.is_span) {
      set(plan.bytes, &argument.bits);
      continue;
    }
    const cl_mem memory = memory_of(argument.buffer);
    const auto offset = static_cast<cl_long>(argument.byte_offset);
    const auto length = static_cast<cl_long>(argument.length);
    set(sizeof(memory), &memory);
    set(sizeof(offset), &offset);
    if (plan.length) set(sizeof(length), &length);
  }
  if (executable.serial) {
    for (std::uint32_t threads : shape.block) {
      const auto count = static_cast<cl_int>(threads);
      set(sizeof(count), &count);
    }
  }
  // A size of zero is an error to OpenCL; a kernel that is given none must not touch it anyway.
  if (executable.dynamic_shared) set(std::max(shape.dynamic_shared_bytes, 16u), nullptr);
}

void OpenclDevice::launch(runtime::Queue& queue, runtime::Executable& executable,
                          const LaunchShape& shape, std::span<const Argument> arguments) {
  auto& code = static_cast<OpenclExecutable&>(executable);
  if (arguments.size() != code.plan.size()) {
    throw Error(Error::Details{.code = Errc::invalid_argument,
                               .message = fmt::format("the kernel takes {} arguments, not {}",
                                                      code.plan.size(), arguments.size()),
                               .backend = std::string(kName),
                               .operation = "launch"});
  }
  std::array<std::size_t, 3> local{1, 1, 1};
  if (!code.serial) local = {shape.block[0], shape.block[1], shape.block[2]};
  const std::array<std::size_t, 3> global{shape.grid[0] * local[0], shape.grid[1] * local[1],
                                          shape.grid[2] * local[2]};
  const std::lock_guard lock(code.mutex);
  set_arguments(code, shape, arguments);
  check(api_.EnqueueNDRangeKernel(handle_of(queue), code.kernel.get(), 3, nullptr, global.data(),
                                  local.data(), 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel", Errc::launch_failed);
}

}  // namespace

std::unique_ptr<runtime::DeviceDriver> make_device(const Api& api, const DeviceFacts& facts) {
  return std::make_unique<OpenclDevice>(api, facts);
}

}  // namespace salvo::backends::opencl
