// A test driver: the HIP functions that the backend uses, carried out by libcuda and NVRTC, so that
// the HIP backend's host path runs on an NVIDIA GPU.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/hip_on_cuda_prelude.hpp"

#define SALVO_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Status = int;
constexpr Status kSuccess = 0;
constexpr Status kNotInitialized = 3;
constexpr Status kNoDevice = 100;
constexpr int kCompilationFailed = 6;

void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

void* cuda() {
  static void* const library = open_first({"libcuda.so.1", "libcuda.so"});
  return library;
}
void* nvrtc() {
  static void* const library = open_first(
      {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
  return library;
}

/// Calls a function by its name; what has no address answers as a driver that was not started.
template <typename... Arguments>
Status call(void* library, const char* symbol, Arguments... arguments) {
  void* const address = library ? dlsym(library, symbol) : nullptr;
  if (!address) return kNotInitialized;
  return reinterpret_cast<Status (*)(Arguments...)>(address)(arguments...);
}

thread_local int device_of_thread = 0;

/// HIP's calls act on the thread's device, which is the first unless it chose another.
Status use_device(int device) {
  static std::mutex mutex;
  static std::array<void*, 64> contexts{};
  const std::lock_guard lock(mutex);
  if (device < 0 || device >= static_cast<int>(contexts.size())) return 101;
  void*& context = contexts[static_cast<std::size_t>(device)];
  if (!context) {
    const Status status = call(cuda(), "cuDevicePrimaryCtxRetain", &context, device);
    if (status != kSuccess) return status;
  }
  device_of_thread = device;
  return call(cuda(), "cuCtxSetCurrent", context);
}

/// A call that needs a current device.
template <typename... Arguments>
Status on_device(const char* symbol, Arguments... arguments) {
  void* current = nullptr;
  Status status = call(cuda(), "cuCtxGetCurrent", &current);
  if (status == kSuccess && !current) status = use_device(device_of_thread);
  return status == kSuccess ? call(cuda(), symbol, arguments...) : status;
}

}  // namespace

/// hip_name passes its parameters on to a CUDA function.
#define SALVO_FORWARD(hip_name, how, parameters, ...) \
  SALVO_EXPORT Status hip_name parameters;            \
  Status hip_name parameters {                        \
    return how(__VA_ARGS__);                          \
  }

using Bytes = std::size_t;
using Unsigned = unsigned;

// The device and the thread's choice of it.

SALVO_EXPORT Status hipInit(unsigned flags);
Status hipInit(unsigned flags) {
  return cuda() ? call(cuda(), "cuInit", flags) : kNoDevice;
}
SALVO_EXPORT Status hipDriverGetVersion(int* version);
Status hipDriverGetVersion(int* version) {
  const Status status = call(cuda(), "cuDriverGetVersion", version);
  *version += 60'000'000;  // 6.0, with CUDA's version for a patch
  return status;
}
SALVO_EXPORT Status hipSetDevice(int device);
Status hipSetDevice(int device) {
  return use_device(device);
}
SALVO_EXPORT Status hipGetDevice(int* device);
Status hipGetDevice(int* device) {
  *device = device_of_thread;
  void* current = nullptr;
  const Status status = call(cuda(), "cuCtxGetCurrent", &current);
  return status == kSuccess && !current ? use_device(device_of_thread) : status;
}
SALVO_FORWARD(hipGetDeviceCount, call, (int* count), cuda(), "cuDeviceGetCount", count)
SALVO_FORWARD(hipDeviceGet, call, (int* device, int index), cuda(), "cuDeviceGet", device, index)
SALVO_FORWARD(hipDeviceGetName, call, (char* name, int bytes, int device), cuda(),
              "cuDeviceGetName", name, bytes, device)
SALVO_FORWARD(hipDeviceTotalMem, call, (Bytes * bytes, int device), cuda(), "cuDeviceTotalMem_v2",
              bytes, device)

SALVO_EXPORT Status hipGetDevicePropertiesR0600(char* properties, int device);
Status hipGetDevicePropertiesR0600(char* properties, int) {
  std::strcpy(properties + 1160, "gfx90a");  // any that the backend takes
  return kSuccess;
}

SALVO_EXPORT Status hipDeviceGetAttribute(int* value, int attribute, int device);
Status hipDeviceGetAttribute(int* value, int attribute, int device) {
  constexpr std::array<std::pair<int, int>, 11> kAttributes{{{16, 18},
                                                             {26, 2},
                                                             {27, 3},
                                                             {28, 4},
                                                             {29, 5},
                                                             {30, 6},
                                                             {31, 7},
                                                             {56, 1},
                                                             {63, 16},
                                                             {74, 8},
                                                             {87, 10}}};
  const auto known = std::ranges::find(kAttributes, attribute, &std::pair<int, int>::first);
  if (known == kAttributes.end()) return 1;
  return call(cuda(), "cuDeviceGetAttribute", value, known->second, device);
}

SALVO_EXPORT const char* hipGetErrorName(Status status);
const char* hipGetErrorName(Status status) {
  const char* text = nullptr;
  return call(cuda(), "cuGetErrorName", status, &text) == kSuccess && text ? text
                                                                           : "hipErrorUnknown";
}
SALVO_EXPORT const char* hipGetErrorString(Status status);
const char* hipGetErrorString(Status status) {
  const char* text = nullptr;
  return call(cuda(), "cuGetErrorString", status, &text) == kSuccess && text
             ? text
             : "there is no CUDA driver to say more";
}

// Memory.

SALVO_FORWARD(hipMalloc, on_device, (std::uint64_t * address, Bytes bytes), "cuMemAlloc_v2",
              address, bytes)
SALVO_FORWARD(hipFree, on_device, (std::uint64_t address), "cuMemFree_v2", address)
SALVO_FORWARD(hipHostMalloc, on_device, (void** data, Bytes bytes, Unsigned flags),
              "cuMemHostAlloc", data, bytes, flags)
SALVO_FORWARD(hipHostFree, on_device, (void* data), "cuMemFreeHost", data)
SALVO_FORWARD(hipHostRegister, on_device, (void* data, Bytes bytes, Unsigned flags),
              "cuMemHostRegister_v2", data, bytes, flags)
SALVO_FORWARD(hipHostUnregister, on_device, (void* data), "cuMemHostUnregister", data)
SALVO_FORWARD(hipMemcpyHtoDAsync, on_device,
              (std::uint64_t to, void* from, Bytes bytes, void* stream), "cuMemcpyHtoDAsync_v2", to,
              static_cast<const void*>(from), bytes, stream)
SALVO_FORWARD(hipMemcpyDtoHAsync, on_device,
              (void* to, std::uint64_t from, Bytes bytes, void* stream), "cuMemcpyDtoHAsync_v2", to,
              from, bytes, stream)
SALVO_FORWARD(hipMemcpyDtoDAsync, on_device,
              (std::uint64_t to, std::uint64_t from, Bytes bytes, void* stream),
              "cuMemcpyDtoDAsync_v2", to, from, bytes, stream)

SALVO_FORWARD(hipPointerGetAttribute, on_device, (void* answer, int what, std::uint64_t address),
              "cuPointerGetAttribute", answer, what, address)

// Streams and events.

SALVO_FORWARD(hipDeviceGetStreamPriorityRange, on_device, (int* least, int* greatest),
              "cuCtxGetStreamPriorityRange", least, greatest)
SALVO_FORWARD(hipStreamCreateWithPriority, on_device, (void** stream, Unsigned flags, int priority),
              "cuStreamCreateWithPriority", stream, flags, priority)
SALVO_FORWARD(hipStreamDestroy, on_device, (void* stream), "cuStreamDestroy_v2", stream)
SALVO_FORWARD(hipStreamSynchronize, on_device, (void* stream), "cuStreamSynchronize", stream)
SALVO_FORWARD(hipStreamWaitEvent, on_device, (void* stream, void* event, Unsigned flags),
              "cuStreamWaitEvent", stream, event, flags)
SALVO_FORWARD(hipEventCreateWithFlags, on_device, (void** event, Unsigned flags), "cuEventCreate",
              event, flags)
SALVO_FORWARD(hipEventDestroy, on_device, (void* event), "cuEventDestroy_v2", event)
SALVO_FORWARD(hipEventRecord, on_device, (void* event, void* stream), "cuEventRecord", event,
              stream)
SALVO_FORWARD(hipEventSynchronize, on_device, (void* event), "cuEventSynchronize", event)
SALVO_FORWARD(hipEventQuery, on_device, (void* event), "cuEventQuery", event)
SALVO_FORWARD(hipEventElapsedTime, on_device, (float* milliseconds, void* first, void* last),
              "cuEventElapsedTime", milliseconds, first, last)

// Code.

SALVO_FORWARD(hipModuleLoadDataEx, on_device,
              (void** module, const void* image, Unsigned count, int* options, void** values),
              "cuModuleLoadDataEx", module, image, count, options, values)
SALVO_FORWARD(hipModuleUnload, on_device, (void* module), "cuModuleUnload", module)
SALVO_FORWARD(hipModuleGetFunction, on_device, (void** function, void* module, const char* name),
              "cuModuleGetFunction", function, module, name)
SALVO_FORWARD(hipFuncGetAttribute, on_device, (int* value, int attribute, void* function),
              "cuFuncGetAttribute", value, attribute, function)
SALVO_FORWARD(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, on_device,
              (int* blocks, void* function, int size, Bytes shared),
              "cuOccupancyMaxActiveBlocksPerMultiprocessor", blocks, function, size, shared)

SALVO_EXPORT Status hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                          unsigned, unsigned, void*, void**, void**);
Status hipModuleLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, void* stream,
                             void** parameters, void** extra) {
  std::array<void*, 5> list{};
  if (extra) {
    // HIP refuses a list that does not end with its own tag; CUDA's is zero.
    if (reinterpret_cast<std::uintptr_t>(extra[4]) != 3) return 1;
    std::copy_n(extra, 4, list.begin());
  }
  return on_device("cuLaunchKernel", function, gx, gy, gz, bx, by, bz, shared, stream, parameters,
                   extra ? list.data() : nullptr);
}

// The compiler: HIP C++ is CUDA C++ after a prelude.

namespace {

struct Program {
  std::string source;
  std::string file;
  void* handle = nullptr;
};

/// The device's architecture, or that of the first GPU this was written for where there is none.
std::string architecture() {
  int major = 0;
  int minor = 0;
  if (call(cuda(), "cuDeviceGetAttribute", &major, 75, 0) != kSuccess ||
      call(cuda(), "cuDeviceGetAttribute", &minor, 76, 0) != kSuccess) {
    return "--gpu-architecture=sm_90";
  }
  return "--gpu-architecture=sm_" + std::to_string(10 * major + minor);
}

/// What NVRTC calls the option; nothing where it has no such.
std::string translated(std::string_view option) {
  if (option == "-ffp-contract=off") return "--fmad=false";
  if (option.starts_with("-std=")) return "-" + std::string(option);
  if (option.starts_with("-D") || option.starts_with("-I")) return std::string(option);
  if (option.starts_with("--offload-arch=")) return architecture();
  return {};
}

}  // namespace

SALVO_FORWARD(hiprtcVersion, call, (int* major, int* minor), nvrtc(), "nvrtcVersion", major, minor)

SALVO_EXPORT Status hiprtcCreateProgram(void**, const char*, const char*, int, const char**,
                                        const char**);
Status hiprtcCreateProgram(void** program, const char* source, const char* name, int, const char**,
                           const char**) {
  *program = new Program{std::string(kHipOnCudaPrelude) + "#line 1\n" + source, name};
  return kSuccess;
}

SALVO_EXPORT Status hiprtcDestroyProgram(void** program);
Status hiprtcDestroyProgram(void** program) {
  auto* const own = static_cast<Program*>(*program);
  if (own->handle) call(nvrtc(), "nvrtcDestroyProgram", &own->handle);
  delete own;
  *program = nullptr;
  return kSuccess;
}

SALVO_EXPORT Status hiprtcCompileProgram(void* program, int count, const char** options);
Status hiprtcCompileProgram(void* program, int count, const char** options) {
  auto& own = *static_cast<Program*>(program);
  const Status created = call(nvrtc(), "nvrtcCreateProgram", &own.handle, own.source.c_str(),
                              own.file.c_str(), 0, nullptr, nullptr);
  if (created != kSuccess) return created;
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string text = translated(options[i]);
    if (!text.empty()) texts.push_back(std::move(text));
  }
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return call(nvrtc(), "nvrtcCompileProgram", own.handle, static_cast<int>(pointers.size()),
              pointers.data()) == kSuccess
             ? kSuccess
             : kCompilationFailed;
}

#define SALVO_FORWARD_PROGRAM(hip_name, nvrtc_name, type)                             \
  SALVO_EXPORT Status hip_name(void* program, type result);                           \
  Status hip_name(void* program, type result) {                                       \
    return call(nvrtc(), nvrtc_name, static_cast<Program*>(program)->handle, result); \
  }
SALVO_FORWARD_PROGRAM(hiprtcGetProgramLogSize, "nvrtcGetProgramLogSize", Bytes*)
SALVO_FORWARD_PROGRAM(hiprtcGetProgramLog, "nvrtcGetProgramLog", char*)
SALVO_FORWARD_PROGRAM(hiprtcGetCodeSize, "nvrtcGetCUBINSize", Bytes*)
SALVO_FORWARD_PROGRAM(hiprtcGetCode, "nvrtcGetCUBIN", char*)
