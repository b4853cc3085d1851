// The HIP runtime, loaded at run time into the table of the driver it is shaped after.
// SPDX-License-Identifier: MIT
#include "backends/hip/hip_api.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda_family/cuda_family_error.hpp"
#include "backends/hip/hip_properties.hpp"

namespace salvo::backends::hip {
namespace {

using cuda_family::Context;
using cuda_family::Ordinal;

// clang-format off
// apply(entry of the table, what CUDA calls it in messages, HIP's symbol). Parameters and results
// are the same in registers, whatever their C types.
#define SALVO_HIP_FUNCTIONS(apply)                                                          \
  apply(Init, "cuInit", "hipInit")                                                          \
  apply(DriverVersion, "cuDriverGetVersion", "hipDriverGetVersion")                         \
  apply(DeviceCount, "cuDeviceGetCount", "hipGetDeviceCount")                               \
  apply(DeviceGet, "cuDeviceGet", "hipDeviceGet")                                           \
  apply(DeviceName, "cuDeviceGetName", "hipDeviceGetName")                                  \
  apply(DeviceMemory, "cuDeviceTotalMem", "hipDeviceTotalMem")                              \
  apply(DeviceValue, "cuDeviceGetAttribute", "hipDeviceGetAttribute")                       \
  apply(StreamPriorities, "cuCtxGetStreamPriorityRange", "hipDeviceGetStreamPriorityRange") \
  apply(MemAlloc, "cuMemAlloc", "hipMalloc")                                                \
  apply(MemFree, "cuMemFree", "hipFree")                                                    \
  apply(HostAlloc, "cuMemHostAlloc", "hipHostMalloc")                                       \
  apply(HostFree, "cuMemFreeHost", "hipHostFree")                                           \
  apply(HostRegister, "cuMemHostRegister", "hipHostRegister")                               \
  apply(HostUnregister, "cuMemHostUnregister", "hipHostUnregister")                         \
  apply(CopyToDevice, "cuMemcpyHtoDAsync", "hipMemcpyHtoDAsync")                            \
  apply(CopyToHost, "cuMemcpyDtoHAsync", "hipMemcpyDtoHAsync")                              \
  apply(CopyWithin, "cuMemcpyDtoDAsync", "hipMemcpyDtoDAsync")                              \
  apply(PointerValue, "cuPointerGetAttribute", "hipPointerGetAttribute")                    \
  apply(StreamCreate, "cuStreamCreateWithPriority", "hipStreamCreateWithPriority")          \
  apply(StreamDestroy, "cuStreamDestroy", "hipStreamDestroy")                               \
  apply(StreamSynchronize, "cuStreamSynchronize", "hipStreamSynchronize")                   \
  apply(StreamWait, "cuStreamWaitEvent", "hipStreamWaitEvent")                              \
  apply(EventCreate, "cuEventCreate", "hipEventCreateWithFlags")                            \
  apply(EventDestroy, "cuEventDestroy", "hipEventDestroy")                                  \
  apply(EventRecord, "cuEventRecord", "hipEventRecord")                                     \
  apply(EventSynchronize, "cuEventSynchronize", "hipEventSynchronize")                      \
  apply(EventQuery, "cuEventQuery", "hipEventQuery")                                        \
  apply(EventElapsed, "cuEventElapsedTime", "hipEventElapsedTime")                          \
  apply(ModuleLoad, "cuModuleLoadDataEx", "hipModuleLoadDataEx")                            \
  apply(ModuleUnload, "cuModuleUnload", "hipModuleUnload")                                  \
  apply(ModuleKernel, "cuModuleGetFunction", "hipModuleGetFunction")                        \
  apply(KernelValue, "cuFuncGetAttribute", "hipFuncGetAttribute")                           \
  apply(ActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                        \
        "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor")
// clang-format on

std::string_view hip_name(std::string_view operation) {
#define SALVO_HIP_NAME(entry, cuda_name, symbol) \
  if (operation == cuda_name) return symbol;
  SALVO_HIP_FUNCTIONS(SALVO_HIP_NAME)
#undef SALVO_HIP_NAME
  if (operation == "cuLaunchKernel") return "hipModuleLaunchKernel";
  return operation == "cuDevicePrimaryCtxRetain" ? "hipSetDevice" : operation;
}

/// What CUDA has in another shape.
struct Shaped {
  runtime::Function<const char* (*)(Result)> error_name;
  runtime::Function<const char* (*)(Result)> error_text;
  runtime::Function<Result (*)(int*)> get_device;
  runtime::Function<Result (*)(int)> set_device;
  decltype(Api::Launch) launch;
  runtime::Function<Result (*)(void*, int)> properties;
  /// Where `properties` writes the architecture's name, a string of up to 256 characters.
  std::size_t architecture_at = 0;
};

/// Process-wide, as the runtime is; never destroyed, since it tears itself down at exit.
Shaped& shaped() {
  static Shaped& functions = *new Shaped;
  return functions;
}

Result error_name(Result status, const char** text) {
  *text = shaped().error_name(status);
  return kSuccess;
}
Result error_text(Result status, const char** text) {
  *text = shaped().error_text(status);
  return kSuccess;
}

// Contexts: the device's number and one, so that none is null.

Context context_of(int device) {
  return reinterpret_cast<Context>(static_cast<std::uintptr_t>(device) + 1);
}
int device_of(Context context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 1);
}
std::vector<int>& devices_before() {
  static thread_local std::vector<int> devices;
  return devices;
}

Result context_get(Context* context) {
  int device = 0;
  const Result status = shaped().get_device(&device);
  *context = context_of(device);
  return status;
}
Result context_push(Context context) {
  int before = 0;
  Result status = shaped().get_device(&before);
  if (status == kSuccess) status = shaped().set_device(device_of(context));
  if (status == kSuccess) devices_before().push_back(before);
  return status;
}
Result context_pop(Context* context) {
  const int before = devices_before().back();
  devices_before().pop_back();
  *context = context_of(before);
  return shaped().set_device(before);
}
Result primary_retain(Context* context, Ordinal device) {
  *context = context_of(device);
  return kSuccess;
}
Result primary_release(Ordinal) {
  return kSuccess;
}

/// The list of a launch's parameters ends with another word than CUDA's.
Result launch(cuda_family::KernelHandle kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
              cuda_family::Stream stream, void** parameters, void** extra) {
  void* const kEnd = reinterpret_cast<void*>(std::uintptr_t{3});
  std::array<void*, 5> list{};
  if (extra) {
    std::copy_n(extra, 4, list.begin());
    list[4] = kEnd;
  }
  return shaped().launch(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                         parameters, extra ? list.data() : nullptr);
}

std::string resolve(Api& api) {
  std::string missing;
#define SALVO_HIP_RESOLVE(entry, cuda_name, symbol) \
  if (!api.entry.resolve(api.shared_object, symbol)) missing += " " symbol;
  SALVO_HIP_FUNCTIONS(SALVO_HIP_RESOLVE)
#undef SALVO_HIP_RESOLVE
  Shaped& own = shaped();
  const auto also = [&](auto& function, const char* symbol) {
    if (!function.resolve(api.shared_object, symbol)) missing += fmt::format(" {}", symbol);
  };
  also(own.error_name, "hipGetErrorName");
  also(own.error_text, "hipGetErrorString");
  also(own.get_device, "hipGetDevice");
  also(own.set_device, "hipSetDevice");
  also(own.launch, "hipModuleLaunchKernel");
  // The structure grew in ROCm 6, and the function that fills the new one has a name of its own.
  own.architecture_at = 1160;
  if (!own.properties.resolve(api.shared_object, "hipGetDevicePropertiesR0600")) {
    own.architecture_at = 396;
    also(own.properties, "hipGetDeviceProperties");
  }
  return missing;
}

runtime::CallCounts counts(const Api& api) {
  const Shaped& own = shaped();
#define SALVO_HIP_COUNT(entry, cuda_name, symbol) {symbol, api.entry.calls()},
  return {SALVO_HIP_FUNCTIONS(SALVO_HIP_COUNT){"hipGetErrorName", own.error_name.calls()},
          {"hipGetErrorString", own.error_text.calls()},
          {"hipGetDevice", own.get_device.calls()},
          {"hipSetDevice", own.set_device.calls()},
          {"hipModuleLaunchKernel", own.launch.calls()},
          {"hipGetDeviceProperties", own.properties.calls()}};
#undef SALVO_HIP_COUNT
}

}  // namespace

std::string load(Api& api) {
  api.shared_object =
      runtime::Library::open({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                              "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"});
  if (!api.shared_object) return api.shared_object.reason();
  if (const std::string missing = resolve(api); !missing.empty()) {
    return fmt::format("{} lacks{}", api.shared_object.name(), missing);
  }
  api.name_of = hip_name;
  api.counts = counts;
  api.ErrorName.assign(error_name);
  api.ErrorText.assign(error_text);
  api.ContextGet.assign(context_get);
  api.ContextPush.assign(context_push);
  api.ContextPop.assign(context_pop);
  api.PrimaryRetain.assign(primary_retain);
  api.PrimaryRelease.assign(primary_release);
  api.Launch.assign(launch);
  const Result status = api.Init(0);
  if (status == kSuccess) return {};
  return fmt::format("{} loaded, but hipInit failed: {}", api.shared_object.name(),
                     cuda_family::words(api, status));
}

Drivers& drivers() {
  static Drivers& all = *new Drivers(load, read_facts);
  return all;
}

std::string architecture(int device) {
  // Larger than the structure of any release.
  std::array<char, 8192> properties{};
  const Result status = shaped().properties(properties.data(), device);
  if (status != kSuccess) {
    throw Error(Error::Details{.code = Errc::backend_unavailable,
                               .message = shaped().error_name(status),
                               .backend = "HIP",
                               .operation = "hipGetDeviceProperties"});
  }
  const char* name = properties.data() + shaped().architecture_at;
  return std::string(name, strnlen(name, 256));
}

}  // namespace salvo::backends::hip
