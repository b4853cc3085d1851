// A stand-in libamdhip64, of ROCm 5, 6 or 7, that records what is called: devices whose kernels do
// nothing.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "drivers/stand_in.hpp"

namespace {

char elf[64] =
    "\x7f"
    "ELF";

}  // namespace

SALVO_EXPORT StandIn fake_hip;
StandIn fake_hip;
#define SALVO_STAND_IN fake_hip

SALVO_EXPORT const char* hipGetErrorName(int);
const char* hipGetErrorName(int) {
  return "hipErrorStandIn";
}
SALVO_EXPORT const char* hipGetErrorString(int);
const char* hipGetErrorString(int) {
  return "as the test asked";
}

SALVO_FAKE(hipInit, (unsigned), )
SALVO_FAKE(hipDriverGetVersion, (int* version), *version = SALVO_ROCM * 10'000'000 + 200'123)
SALVO_FAKE(hipGetDeviceCount, (int* count), *count = fake_hip.devices)
SALVO_FAKE(hipDeviceGet, (int* device, int index), *device = index)
SALVO_FAKE(hipDeviceGetName, (char* name, int, int), std::strcpy(name, "Stand-in"))
SALVO_FAKE(hipDeviceTotalMem, (std::size_t * bytes, int), *bytes = std::size_t{1} << 34)
// The structure grew in ROCm 6, and its function got another name.
#if SALVO_ROCM < 6
SALVO_FAKE(hipGetDeviceProperties, (char* properties, int),
           std::strcpy(properties + 396, fake_hip.architecture))
#else
SALVO_FAKE(hipGetDevicePropertiesR0600, (char* properties, int),
           std::strcpy(properties + 1160, fake_hip.architecture))
#endif
SALVO_FAKE(hipGetDevice, (int* device), *device = fake_hip.device_of_thread)
SALVO_FAKE(hipSetDevice, (int device), fake_hip.device_of_thread = device)
SALVO_FAKE(hipDeviceGetStreamPriorityRange, (int* least, int* greatest), *least = 1; *greatest = -1)
SALVO_FAKE(hipMalloc, (void** address, std::size_t bytes), *address = std::malloc(bytes);
           ++fake_hip.buffers)
SALVO_FAKE(hipFree, (void* address), std::free(address); --fake_hip.buffers)
SALVO_FAKE(hipHostMalloc, (void** data, std::size_t bytes, unsigned), *data = std::malloc(bytes))
SALVO_FAKE(hipHostFree, (void* data), std::free(data))
SALVO_FAKE(hipHostRegister, (void*, std::size_t, unsigned), )
SALVO_FAKE(hipHostUnregister, (void*), )
SALVO_FAKE(hipMemcpyHtoDAsync, (void* to, void* from, std::size_t bytes, void*),
           std::memcpy(to, from, bytes))
SALVO_FAKE(hipMemcpyDtoHAsync, (void* to, void* from, std::size_t bytes, void*),
           std::memcpy(to, from, bytes))
SALVO_FAKE(hipMemcpyDtoDAsync, (void* to, void* from, std::size_t bytes, void*),
           std::memmove(to, from, bytes))
// One allocation of 4096 bytes at 0x7000 of this device.
SALVO_FAKE(
    hipPointerGetAttribute, (void* value, int what, std::uintptr_t address),
    if (address < 0x7000 || address >= 0x8000) return 1;
    switch (what) {
      case 9:
        *static_cast<int*>(value) = 0;
        break;
      case 11:
        *static_cast<std::uintptr_t*>(value) = 0x7000;
        break;
      default:
        *static_cast<std::size_t*>(value) = 4096;
        break;
    })
SALVO_FAKE(hipStreamCreateWithPriority, (void** stream, unsigned, int), *stream = elf;
           ++fake_hip.streams)
SALVO_FAKE(hipStreamDestroy, (void*), --fake_hip.streams)
SALVO_FAKE(hipStreamSynchronize, (void*), )
SALVO_FAKE(hipStreamWaitEvent, (void*, void*, unsigned), )
SALVO_FAKE(hipEventCreateWithFlags, (void** event, unsigned), *event = elf; ++fake_hip.events)
SALVO_FAKE(hipEventDestroy, (void*), --fake_hip.events)
SALVO_FAKE(hipEventRecord, (void*, void*), )
SALVO_FAKE(hipEventSynchronize, (void*), )
SALVO_FAKE(hipEventQuery, (void*), )
SALVO_FAKE(hipEventElapsedTime, (float* milliseconds, void*, void*), *milliseconds = 1.5f)
SALVO_FAKE(hipModuleLoadDataEx, (void** module, const void*, unsigned, int*, void**), *module = elf;
           ++fake_hip.modules)
SALVO_FAKE(hipModuleUnload, (void*), --fake_hip.modules)
SALVO_FAKE(hipModuleGetFunction, (void** function, void*, const char*), *function = elf)
SALVO_FAKE(hipFuncGetAttribute, (int* value, int what, void*),
           *value = what == 0   ? 1024
                    : what == 3 ? 24
                                : 0)
// Most threads are resident in blocks of 128.
SALVO_FAKE(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
           (int* blocks, void*, int size, std::size_t), *blocks = size == 128 ? 20 : 2048 / size)

SALVO_EXPORT int hipDeviceGetAttribute(int* value, int what, int);
int hipDeviceGetAttribute(int* value, int what, int) {
  if (const int status = fake_hip.answer("hipDeviceGetAttribute")) return status;
  switch (what) {
    case 16:
      *value = 0;
      return 0;
    case 26:
    case 27:
    case 28:
    case 56:
      *value = 1024;
      return 0;
    case 29:
    case 30:
    case 31:
      *value = 0x7fffffff;
      return 0;
    case 63:
      *value = 104;
      return 0;
    case 74:
      *value = 65'536;
      return 0;
    case 87:
      *value = fake_hip.wave_size;
      return 0;
    default:
      return 1;
  }
}

SALVO_EXPORT int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                       unsigned, unsigned, void*, void**, void**);
int hipModuleLaunchKernel(void*, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void*, void**, void** extra) {
  if (const int status = fake_hip.answer("hipModuleLaunchKernel")) return status;
  const unsigned grid[] = {gx, gy, gz};
  const unsigned threads[] = {bx, by, bz};
  std::copy(std::begin(grid), std::end(grid), fake_hip.grid);
  std::copy(std::begin(threads), std::end(threads), fake_hip.threads);
  fake_hip.shared_bytes = shared;
  // A pointer to the block, and one to its size, each after its tag, and what ends the list.
  constexpr std::uintptr_t kTags[] = {1, 2, 3};
  for (int i = 0; i < 3; ++i) {
    constexpr int kInvalidValue = 1;
    if (reinterpret_cast<std::uintptr_t>(extra[2 * i]) != kTags[i]) return kInvalidValue;
  }
  fake_hip.block_bytes = *static_cast<std::size_t*>(extra[3]);
  std::memcpy(fake_hip.block, extra[1], std::min(fake_hip.block_bytes, sizeof(fake_hip.block)));
  return 0;
}

// Up to ROCm 6 the compiler is part of the runtime's library.
#if SALVO_ROCM < 7
#  include "drivers/fake_hiprtc.cpp"
#endif
