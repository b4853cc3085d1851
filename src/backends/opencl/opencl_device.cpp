// One OpenCL device: memory and work.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_device.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/opencl/opencl_error.hpp"

namespace salvo::backends::opencl {

using runtime::Argument;
using runtime::Buffer;
using runtime::HostBlock;
using runtime::LaunchShape;

namespace {

ContextHandle open_context(const Api& api, cl_device_id device) {
  cl_int status = CL_SUCCESS;
  ContextHandle context(api.CreateContext(nullptr, 1, &device, nullptr, nullptr, &status), {&api});
  check(status, "clCreateContext", Errc::backend_unavailable);
  return context;
}

QueueHandle open_queue(const Api& api, cl_context context, cl_device_id device, Errc otherwise) {
  cl_int status = CL_SUCCESS;
  QueueHandle queue(api.CreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status),
                    {&api});
  check(status, "clCreateCommandQueue", otherwise);
  return queue;
}

}  // namespace

OpenclDevice::OpenclDevice(const Api& api, const DeviceFacts& facts)
    : api_(api),
      facts_(facts),
      context_(open_context(api, facts.id)),
      queue_(open_queue(api, context_.get(), facts.id, Errc::backend_unavailable)) {}

// Memory.

Buffer OpenclDevice::allocate(std::size_t bytes) {
  // Some drivers allocate at first use and take any size here.
  if (bytes > facts_.properties.memory_bytes) {
    throw Error(Error::Details{.code = Errc::out_of_memory,
                               .message = fmt::format("{} bytes were asked of a device that has {}",
                                                      bytes, facts_.properties.memory_bytes),
                               .backend = std::string(kName),
                               .operation = "clCreateBuffer"});
  }
  cl_int status = CL_SUCCESS;
  // Memory of the driver's own: a buffer on host memory would let launches alias host objects.
  cl_mem memory = api_.CreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &status);
  check(status, "clCreateBuffer", Errc::out_of_memory);
  return {.handle = reinterpret_cast<std::uintptr_t>(memory), .bytes = bytes};
}

void OpenclDevice::release(Buffer buffer) noexcept {
  if (buffer) api_.ReleaseMemObject(memory_of(buffer));
}

HostBlock OpenclDevice::allocate_host(std::size_t bytes) {
  cl_int status = CL_SUCCESS;
  cl_mem memory = api_.CreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                    bytes, nullptr, &status);
  check(status, "clCreateBuffer", Errc::out_of_memory);
  void* data = api_.EnqueueMapBuffer(queue_.get(), memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                     bytes, 0, nullptr, nullptr, &status);
  if (status != CL_SUCCESS) {
    api_.ReleaseMemObject(memory);
    fail(status, "clEnqueueMapBuffer", Errc::out_of_memory);
  }
  return {data, bytes, reinterpret_cast<std::uintptr_t>(memory)};
}

void OpenclDevice::release_host(HostBlock block) noexcept {
  const auto memory = reinterpret_cast<cl_mem>(block.handle);
  if (!memory) return;
  api_.EnqueueUnmapMemObject(queue_.get(), memory, block.data, 0, nullptr, nullptr);
  api_.ReleaseMemObject(memory);
}

// Launches.

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
    if (plan.offset) {
      set(sizeof(offset), &offset);
    } else if (offset != 0) {
      throw Error(Error::Details{
          .code = Errc::unsupported,
          .message =
              "a view that does not start with its vector cannot be passed to OpenCL C source",
          .backend = std::string(kName),
          .operation = "launch"});
    }
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

// Transfers. Reads wait, and so may be the first to hear of a launch that failed.

void OpenclDevice::write(runtime::Queue& queue, Buffer to, std::size_t offset, const void* source,
                         std::size_t bytes) {
  if (bytes == 0) return;
  check_late(api_.EnqueueWriteBuffer(handle_of(queue), memory_of(to), CL_TRUE, offset, bytes,
                                     source, 0, nullptr, nullptr),
             "clEnqueueWriteBuffer", Errc::transfer_failed);
}

void OpenclDevice::read(runtime::Queue& queue, void* target, Buffer from, std::size_t offset,
                        std::size_t bytes) {
  if (bytes == 0) return;
  check_late(api_.EnqueueReadBuffer(handle_of(queue), memory_of(from), CL_TRUE, offset, bytes,
                                    target, 0, nullptr, nullptr),
             "clEnqueueReadBuffer", Errc::transfer_failed);
}

void OpenclDevice::copy(runtime::Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                        std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  check(api_.EnqueueCopyBuffer(handle_of(queue), memory_of(from), memory_of(to), from_offset,
                               to_offset, bytes, 0, nullptr, nullptr),
        "clEnqueueCopyBuffer", Errc::transfer_failed);
}

void OpenclDevice::write_async(runtime::Queue& queue, Buffer to, std::size_t offset,
                               const HostBlock& from, std::size_t from_offset, std::size_t bytes) {
  if (bytes == 0) return;
  check(api_.EnqueueWriteBuffer(handle_of(queue), memory_of(to), CL_FALSE, offset, bytes,
                                static_cast<const std::byte*>(from.data) + from_offset, 0, nullptr,
                                nullptr),
        "clEnqueueWriteBuffer", Errc::transfer_failed);
}

void OpenclDevice::read_async(runtime::Queue& queue, const HostBlock& to, std::size_t to_offset,
                              Buffer from, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  check(api_.EnqueueReadBuffer(handle_of(queue), memory_of(from), CL_FALSE, offset, bytes,
                               static_cast<std::byte*>(to.data) + to_offset, 0, nullptr, nullptr),
        "clEnqueueReadBuffer", Errc::transfer_failed);
}

// Order.

void OpenclDevice::submit(runtime::Queue& queue) {
  check(api_.Flush(handle_of(queue)), "clFlush", Errc::launch_failed);
}

void OpenclDevice::finish(runtime::Queue& queue) {
  check_late(api_.Finish(handle_of(queue)), "clFinish", Errc::launch_failed);
}

std::unique_ptr<runtime::Queue> OpenclDevice::make_queue(int) {
  // Priorities are an extension that few drivers have; without it all queues are equal.
  return std::make_unique<OpenclQueue>(
      open_queue(api_, context_.get(), facts_.id, Errc::out_of_memory));
}

std::unique_ptr<runtime::Event> OpenclDevice::make_event() {
  return std::make_unique<OpenclEvent>();
}

void OpenclDevice::record(runtime::Queue& queue, runtime::Event& event) {
  cl_event made = nullptr;
  check(api_.EnqueueMarkerWithWaitList(handle_of(queue), 0, nullptr, &made),
        "clEnqueueMarkerWithWaitList", Errc::launch_failed);
  static_cast<OpenclEvent&>(event).handle = {made, {&api_}};
  submit(queue);  // a queue that is not flushed need not start, and another may wait for this point
}

void OpenclDevice::wait(runtime::Queue& queue, runtime::Event& event) {
  const cl_event recorded = static_cast<OpenclEvent&>(event).handle.get();
  if (!recorded) return;  // nothing to wait for, as in CUDA
  check(api_.EnqueueBarrierWithWaitList(handle_of(queue), 1, &recorded, nullptr),
        "clEnqueueBarrierWithWaitList", Errc::launch_failed);
}

void OpenclDevice::wait(runtime::Event& event) {
  const cl_event recorded = static_cast<OpenclEvent&>(event).handle.get();
  if (!recorded) return;
  check_late(api_.WaitForEvents(1, &recorded), "clWaitForEvents", Errc::launch_failed);
}

bool OpenclDevice::reached(runtime::Event& event) {
  const cl_event recorded = static_cast<OpenclEvent&>(event).handle.get();
  if (!recorded) return true;
  cl_int state = CL_QUEUED;
  check(api_.GetEventInfo(recorded, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state,
                          nullptr),
        "clGetEventInfo", Errc::launch_failed);
  if (state < 0) fail_late(state, "clGetEventInfo", Errc::launch_failed);
  return state == CL_COMPLETE;
}

double OpenclDevice::elapsed_ms(runtime::Event& first, runtime::Event& second) {
  const auto moment = [&](runtime::Event& event) {
    const cl_event recorded = static_cast<OpenclEvent&>(event).handle.get();
    if (!recorded) fail(CL_INVALID_EVENT, "clGetEventProfilingInfo", Errc::invalid_argument);
    wait(event);
    cl_ulong nanoseconds = 0;
    check(api_.GetEventProfilingInfo(recorded, CL_PROFILING_COMMAND_END, sizeof(nanoseconds),
                                     &nanoseconds, nullptr),
          "clGetEventProfilingInfo", Errc::unsupported);
    return nanoseconds;
  };
  const cl_ulong from = moment(first);
  const cl_ulong to = moment(second);
  return (static_cast<double>(to) - static_cast<double>(from)) * 1e-6;
}

}  // namespace salvo::backends::opencl
