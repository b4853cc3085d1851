// The OpenCL functions this backend calls, loaded at run time.
// SPDX-License-Identifier: MIT
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS  // clCreateCommandQueue: 1.2 drivers have no other
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <memory>
#include <string>
#include <type_traits>

#include "runtime/library.hpp"

namespace salvo::backends::opencl {

// All of OpenCL 1.2, so that any driver with a loader has them.
// clang-format off
#define SALVO_OPENCL_FUNCTIONS(apply) \
  apply(BuildProgram)                 \
  apply(CreateBuffer)                 \
  apply(CreateCommandQueue)           \
  apply(CreateContext)                \
  apply(CreateKernel)                 \
  apply(CreateProgramWithBinary)      \
  apply(CreateProgramWithSource)      \
  apply(EnqueueBarrierWithWaitList)   \
  apply(EnqueueCopyBuffer)            \
  apply(EnqueueMapBuffer)             \
  apply(EnqueueMarkerWithWaitList)    \
  apply(EnqueueNDRangeKernel)         \
  apply(EnqueueReadBuffer)            \
  apply(EnqueueUnmapMemObject)        \
  apply(EnqueueWriteBuffer)           \
  apply(Finish)                       \
  apply(Flush)                        \
  apply(GetDeviceIDs)                 \
  apply(GetDeviceInfo)                \
  apply(GetEventInfo)                 \
  apply(GetEventProfilingInfo)        \
  apply(GetKernelArgInfo)             \
  apply(GetKernelInfo)                \
  apply(GetKernelWorkGroupInfo)       \
  apply(GetPlatformIDs)               \
  apply(GetPlatformInfo)              \
  apply(GetProgramBuildInfo)          \
  apply(GetProgramInfo)               \
  apply(ReleaseCommandQueue)          \
  apply(ReleaseContext)               \
  apply(ReleaseEvent)                 \
  apply(ReleaseKernel)                \
  apply(ReleaseMemObject)             \
  apply(ReleaseProgram)               \
  apply(SetKernelArg)                 \
  apply(WaitForEvents)
// clang-format on

/// The function table. `GetDeviceInfo` is clGetDeviceInfo, and so on; each counts its calls.
struct Api {
  runtime::Library shared_object;
#define SALVO_OPENCL_DECLARE(name) runtime::Function<decltype(&::cl##name)> name;
  SALVO_OPENCL_FUNCTIONS(SALVO_OPENCL_DECLARE)
#undef SALVO_OPENCL_DECLARE

  /// Fills the table. Returns why it cannot be used, or an empty string.
  std::string load();
  runtime::CallCounts calls() const;
};

/// Objects of OpenCL, given back when they go.
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
using EventHandle = Handle<cl_event, &Api::ReleaseEvent>;

}  // namespace salvo::backends::opencl
