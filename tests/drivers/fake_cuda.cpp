// A stand-in libcuda.so.1: devices whose kernels do nothing; one of them is listed.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "drivers/stand_in.hpp"

namespace {

using Address = unsigned long long;
char elf[64] =
    "\x7f"
    "ELF";
void* const kContexts[] = {elf, elf + 1};  // by device
char* error_log = nullptr;

/// A function is its name, kept.
char* kept_name(const char* name) {
  static char names[16][64];
  static int next = 0;
  char* const kept = names[next++ % 16];
  std::strncpy(kept, name, sizeof(names[0]) - 1);
  return kept;
}

}  // namespace

SALVO_EXPORT StandIn fake_cuda;
StandIn fake_cuda;
#define SALVO_STAND_IN fake_cuda

SALVO_FAKE(cuInit, (unsigned), )
SALVO_FAKE(cuDriverGetVersion, (int* version), *version = fake_cuda.version)
SALVO_FAKE(cuGetErrorName, (int, const char** text), *text = "CUDA_ERROR_STAND_IN")
SALVO_FAKE(cuGetErrorString, (int, const char** text), *text = "as the test asked")
SALVO_FAKE(cuDeviceGetCount, (int* count), *count = 1)
SALVO_FAKE(cuDeviceGet, (int* device, int index), *device = index)
SALVO_FAKE(cuDeviceGetName, (char* name, int, int), std::strcpy(name, "Stand-in"))
SALVO_FAKE(cuDeviceTotalMem_v2, (std::size_t * bytes, int), *bytes = std::size_t{1} << 34)
SALVO_FAKE(cuDevicePrimaryCtxRetain, (void** context, int device), *context = kContexts[device];
           ++fake_cuda.contexts)
SALVO_FAKE(cuDevicePrimaryCtxRelease_v2, (int), --fake_cuda.contexts)
SALVO_FAKE(cuCtxGetCurrent, (void** context),
           *context = fake_cuda.depth ? fake_cuda.contexts_of_thread[fake_cuda.depth - 1] : nullptr)
SALVO_FAKE(cuCtxPushCurrent_v2, (void* context),
           fake_cuda.contexts_of_thread[fake_cuda.depth++] = context)
SALVO_FAKE(cuCtxPopCurrent_v2, (void** context),
           *context = fake_cuda.contexts_of_thread[--fake_cuda.depth])
SALVO_FAKE(cuCtxGetStreamPriorityRange, (int* least, int* greatest), *least = 0; *greatest = -5)
SALVO_FAKE(cuMemAlloc_v2, (Address * address, std::size_t bytes),
           *address = reinterpret_cast<Address>(std::malloc(bytes));
           ++fake_cuda.buffers)
SALVO_FAKE(cuMemFree_v2, (Address address), std::free(reinterpret_cast<void*>(address));
           --fake_cuda.buffers)
SALVO_FAKE(cuMemHostAlloc, (void** data, std::size_t bytes, unsigned), *data = std::malloc(bytes))
SALVO_FAKE(cuMemFreeHost, (void* data), std::free(data))
SALVO_FAKE(cuMemHostRegister_v2, (void*, std::size_t, unsigned), )
SALVO_FAKE(cuMemHostUnregister, (void*), )
SALVO_FAKE(cuMemcpyHtoDAsync_v2, (Address to, const void* from, std::size_t bytes, void*),
           std::memcpy(reinterpret_cast<void*>(to), from, bytes))
SALVO_FAKE(cuMemcpyDtoHAsync_v2, (void* to, Address from, std::size_t bytes, void*),
           std::memcpy(to, reinterpret_cast<void*>(from), bytes))
SALVO_FAKE(cuMemcpyDtoDAsync_v2, (Address to, Address from, std::size_t bytes, void*),
           std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes))
SALVO_FAKE(cuMemcpyPeerAsync, (Address to, void*, Address from, void*, std::size_t bytes, void*),
           std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes))
SALVO_FAKE(cuDeviceCanAccessPeer, (int* reaches, int, int), *reaches = 1)
SALVO_FAKE(cuCtxEnablePeerAccess, (void*, unsigned), )
SALVO_FAKE(cuStreamCreateWithPriority, (void** stream, unsigned, int), *stream = elf;
           ++fake_cuda.streams)
SALVO_FAKE(cuStreamDestroy_v2, (void*), --fake_cuda.streams)
SALVO_FAKE(cuStreamSynchronize, (void*), )
SALVO_FAKE(cuStreamWaitEvent, (void*, void*, unsigned), )
SALVO_FAKE(cuEventCreate, (void** event, unsigned), *event = elf; ++fake_cuda.events)
SALVO_FAKE(cuEventDestroy_v2, (void*), --fake_cuda.events)
SALVO_FAKE(cuEventRecord, (void*, void*), )
SALVO_FAKE(cuEventSynchronize, (void*), )
SALVO_FAKE(cuEventQuery, (void*), )
SALVO_FAKE(cuEventElapsedTime, (float* milliseconds, void*, void*), *milliseconds = 1.5f)
SALVO_FAKE(cuModuleLoadDataEx, (void** module, const void*, unsigned, int*, void**), *module = elf;
           ++fake_cuda.modules)
SALVO_FAKE(cuModuleUnload, (void*), --fake_cuda.modules)
SALVO_FAKE(cuModuleGetFunction, (void** function, void*, const char* name),
           *function = kept_name(name))
SALVO_FAKE(cuFuncGetAttribute, (int* value, int what, void*),
           *value = what == 0   ? 512
                    : what == 3 ? 24
                                : 0)
SALVO_FAKE(cuFuncSetAttribute, (void*, int, int), )
// Most threads are resident in blocks of 128.
SALVO_FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, void*, int size, std::size_t),
           *blocks = size == 128 ? 10 : 1024 / size)
SALVO_FAKE(cuLinkDestroy, (void*), )
SALVO_FAKE(cuMemPoolCreate, (void** pool, const void*), *pool = elf; ++fake_cuda.memory_pools)
SALVO_FAKE(cuMemPoolDestroy, (void*), --fake_cuda.memory_pools)
SALVO_FAKE(cuMemPoolSetAttribute, (void*, int, void*), )
SALVO_FAKE(cuMemPoolSetAccess, (void*, const void*, std::size_t), )
SALVO_FAKE(cuMemPoolTrimTo, (void*, std::size_t), )
SALVO_FAKE(cuMemAllocFromPoolAsync, (Address * address, std::size_t bytes, void*, void*),
           *address = reinterpret_cast<Address>(std::malloc(bytes));
           ++fake_cuda.buffers)
SALVO_FAKE(cuMemFreeAsync, (Address address, void*), std::free(reinterpret_cast<void*>(address));
           --fake_cuda.buffers)

SALVO_EXPORT int cuDeviceGetAttribute(int* value, int what, int);
int cuDeviceGetAttribute(int* value, int what, int) {
  switch (what) {
    case 1:
    case 2:
    case 3:
      *value = 1024;
      return 0;
    case 4:
      *value = 64;
      return 0;
    case 5:
      *value = 0x7fffffff;
      return 0;
    case 6:
    case 7:
      *value = 65535;
      return 0;
    case 8:
      *value = 49152;
      return 0;
    case 10:
      *value = 32;
      return 0;
    case 16:
      *value = 132;
      return 0;
    case 18:
    case 76:
      *value = 0;
      return 0;
    case 115:
      *value = fake_cuda.pools;
      return 0;
    case 75:
      *value = fake_cuda.capability;
      return 0;
    case 97:
      *value = 232'448;
      return 0;
    default:
      return 1;
  }
}

// One allocation of 4096 bytes at 0x7000 of this device.
SALVO_EXPORT int cuPointerGetAttribute(void* answer, int what, Address address);
int cuPointerGetAttribute(void* answer, int what, Address address) {
  if (address < 0x7000 || address >= 0x8000) return 1;
  switch (what) {
    case 9:
      *static_cast<int*>(answer) = 0;
      return 0;
    case 11:
      *static_cast<Address*>(answer) = 0x7000;
      return 0;
    case 12:
      *static_cast<std::size_t*>(answer) = 4096;
      return 0;
    default:
      return 1;
  }
}

SALVO_EXPORT int cuLinkCreate_v2(unsigned count, int* options, void** values, void** linker);
int cuLinkCreate_v2(unsigned count, int* options, void** values, void** linker) {
  constexpr int kErrorLog = 5;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kErrorLog) error_log = static_cast<char*>(values[i]);
  }
  *linker = elf;
  return fake_cuda.answer("cuLinkCreate_v2");
}

SALVO_EXPORT int cuLinkAddData_v2(void*, int, void*, std::size_t, const char*, unsigned, int*,
                                  void**);
int cuLinkAddData_v2(void*, int, void* text, std::size_t, const char*, unsigned, int*, void**) {
  const int status = fake_cuda.answer("cuLinkAddData_v2");
  std::strncpy(fake_cuda.source, static_cast<const char*>(text), sizeof(fake_cuda.source) - 1);
  if (status != 0) std::strcpy(error_log, "line 3: the assembler's words");
  return status;
}

SALVO_EXPORT int cuLinkComplete(void*, void** code, std::size_t* bytes);
int cuLinkComplete(void*, void** code, std::size_t* bytes) {
  *code = elf;
  *bytes = sizeof(elf);
  return fake_cuda.answer("cuLinkComplete");
}

SALVO_EXPORT int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                unsigned, void*, void**, void**);
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void*, void**, void** extra) {
  if (const int status = fake_cuda.answer("cuLaunchKernel")) return status;
  std::strncpy(fake_cuda.launched, static_cast<const char*>(function),
               sizeof(fake_cuda.launched) - 1);
  const unsigned grid[] = {gx, gy, gz};
  const unsigned threads[] = {bx, by, bz};
  std::copy(std::begin(grid), std::end(grid), fake_cuda.grid);
  std::copy(std::begin(threads), std::end(threads), fake_cuda.threads);
  fake_cuda.shared_bytes = shared;
  // A pointer to the block, and one to its size, each after its tag.
  fake_cuda.block_bytes = *static_cast<std::size_t*>(extra[3]);
  std::memcpy(fake_cuda.block, extra[1], std::min(fake_cuda.block_bytes, sizeof(fake_cuda.block)));
  return 0;
}
