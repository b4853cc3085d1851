// The functions of a CUDA-shaped driver that its backends call; no SDK header is needed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/library.hpp"

namespace salvo::backends::cuda_family {

// Types and numbers of the driver's stable binary interface.
using Result = int;                  // CUresult
using Ordinal = int;                 // CUdevice
using Address = unsigned long long;  // CUdeviceptr
using Context = struct CUctx_st*;
using Module = struct CUmod_st*;
using KernelHandle = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using EventHandle = struct CUevent_st*;
using Pool = struct CUmemPoolHandle_st*;
using Linker = struct CUlinkState_st*;
using Graph = struct CUgraph_st*;
using GraphNode = struct CUgraphNode_st*;
using GraphExec = struct CUgraphExec_st*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kNotReady = 600;
inline constexpr Result kPeerAccessOn = 704;  // it was on already

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_x = 2,
  max_block_y = 3,
  max_block_z = 4,
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  max_shared_per_block = 8,
  warp_size = 10,
  multiprocessors = 16,
  integrated = 18,
  capability_major = 75,
  capability_minor = 76,
  max_shared_per_block_optin = 97,
  memory_pools = 115,
};

/// What cuPointerGetAttribute tells of an address.
enum class PointerAttribute : int {
  device_ordinal = 9,
  range_start = 11,
  range_bytes = 12,
};

enum class KernelAttribute : int {
  max_threads_per_block = 0,
  static_shared_bytes = 1,
  local_bytes = 3,
  max_dynamic_shared_bytes = 8,
};

enum class JitOption : int {
  error_log = 5,
  error_log_bytes = 6,
  line_info = 12,
};

/// CUmemPoolProps, of which only the location matters here.
struct PoolProperties {
  int allocation_type = 1;  // pinned in the device's memory
  int handle_types = 0;
  struct {
    int type = 1;  // a device
    int id = 0;
  } location;
  void* security_attributes = nullptr;
  std::size_t max_bytes = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(PoolProperties) == 88);

/// CUDA_KERNEL_NODE_PARAMS, of the functions without a version in their names.
struct KernelNodeParameters {
  KernelHandle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};
static_assert(sizeof(KernelNodeParameters) == 56);

/// CUmemAccessDesc: who else may reach a pool's memory.
struct PoolAccess {
  struct {
    int type = 1;  // a device
    int id = 0;
  } location;
  int flags = 3;  // reading and writing
};
static_assert(sizeof(PoolAccess) == 12);

inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kLinkInputPtx = 1;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kHostPortable = 1;

// clang-format off
// apply(name here, symbol, parameters)
#define SALVO_CUDA_FUNCTIONS(apply)                                                             \
  apply(Init, "cuInit", (unsigned))                                                             \
  apply(DriverVersion, "cuDriverGetVersion", (int*))                                            \
  apply(ErrorName, "cuGetErrorName", (Result, const char**))                                    \
  apply(ErrorText, "cuGetErrorString", (Result, const char**))                                  \
  apply(DeviceCount, "cuDeviceGetCount", (int*))                                                \
  apply(DeviceGet, "cuDeviceGet", (Ordinal*, int))                                              \
  apply(DeviceName, "cuDeviceGetName", (char*, int, Ordinal))                                   \
  apply(DeviceMemory, "cuDeviceTotalMem_v2", (std::size_t*, Ordinal))                           \
  apply(DeviceValue, "cuDeviceGetAttribute", (int*, int, Ordinal))                              \
  apply(PrimaryRetain, "cuDevicePrimaryCtxRetain", (Context*, Ordinal))                         \
  apply(PrimaryRelease, "cuDevicePrimaryCtxRelease_v2", (Ordinal))                              \
  apply(ContextGet, "cuCtxGetCurrent", (Context*))                                              \
  apply(ContextPush, "cuCtxPushCurrent_v2", (Context))                                          \
  apply(ContextPop, "cuCtxPopCurrent_v2", (Context*))                                           \
  apply(StreamPriorities, "cuCtxGetStreamPriorityRange", (int*, int*))                          \
  apply(MemAlloc, "cuMemAlloc_v2", (Address*, std::size_t))                                     \
  apply(MemFree, "cuMemFree_v2", (Address))                                                     \
  apply(HostAlloc, "cuMemHostAlloc", (void**, std::size_t, unsigned))                           \
  apply(HostFree, "cuMemFreeHost", (void*))                                                     \
  apply(HostRegister, "cuMemHostRegister_v2", (void*, std::size_t, unsigned))                   \
  apply(HostUnregister, "cuMemHostUnregister", (void*))                                         \
  apply(CopyToDevice, "cuMemcpyHtoDAsync_v2", (Address, const void*, std::size_t, Stream))      \
  apply(CopyToHost, "cuMemcpyDtoHAsync_v2", (void*, Address, std::size_t, Stream))              \
  apply(CopyWithin, "cuMemcpyDtoDAsync_v2", (Address, Address, std::size_t, Stream))            \
  apply(CopyPeer, "cuMemcpyPeerAsync",                                                          \
        (Address, Context, Address, Context, std::size_t, Stream))                              \
  apply(PeerReaches, "cuDeviceCanAccessPeer", (int*, Ordinal, Ordinal))                         \
  apply(PeerEnable, "cuCtxEnablePeerAccess", (Context, unsigned))                               \
  apply(PointerValue, "cuPointerGetAttribute", (void*, int, Address))                           \
  apply(StreamCreate, "cuStreamCreateWithPriority", (Stream*, unsigned, int))                   \
  apply(StreamDestroy, "cuStreamDestroy_v2", (Stream))                                          \
  apply(StreamSynchronize, "cuStreamSynchronize", (Stream))                                     \
  apply(StreamWait, "cuStreamWaitEvent", (Stream, EventHandle, unsigned))                       \
  apply(EventCreate, "cuEventCreate", (EventHandle*, unsigned))                                 \
  apply(EventDestroy, "cuEventDestroy_v2", (EventHandle))                                       \
  apply(EventRecord, "cuEventRecord", (EventHandle, Stream))                                    \
  apply(EventSynchronize, "cuEventSynchronize", (EventHandle))                                  \
  apply(EventQuery, "cuEventQuery", (EventHandle))                                              \
  apply(EventElapsed, "cuEventElapsedTime", (float*, EventHandle, EventHandle))                 \
  apply(ModuleLoad, "cuModuleLoadDataEx", (Module*, const void*, unsigned, int*, void**))       \
  apply(ModuleUnload, "cuModuleUnload", (Module))                                               \
  apply(ModuleKernel, "cuModuleGetFunction", (KernelHandle*, Module, const char*))              \
  apply(KernelValue, "cuFuncGetAttribute", (int*, int, KernelHandle))                           \
  apply(KernelSet, "cuFuncSetAttribute", (KernelHandle, int, int))                              \
  apply(ActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                            \
        (int*, KernelHandle, int, std::size_t))                                                 \
  apply(LinkCreate, "cuLinkCreate_v2", (unsigned, int*, void**, Linker*))                       \
  apply(LinkAdd, "cuLinkAddData_v2",                                                            \
        (Linker, int, void*, std::size_t, const char*, unsigned, int*, void**))                 \
  apply(LinkComplete, "cuLinkComplete", (Linker, void**, std::size_t*))                         \
  apply(LinkDestroy, "cuLinkDestroy", (Linker))                                                 \
  apply(Launch, "cuLaunchKernel",                                                               \
        (KernelHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,    \
         Stream, void**, void**))

// Stream-ordered memory, of drivers from 11.2 on.
#define SALVO_CUDA_POOL_FUNCTIONS(apply)                                    \
  apply(PoolCreate, "cuMemPoolCreate", (Pool*, const PoolProperties*))      \
  apply(PoolDestroy, "cuMemPoolDestroy", (Pool))                            \
  apply(PoolSet, "cuMemPoolSetAttribute", (Pool, int, void*))               \
  apply(PoolShare, "cuMemPoolSetAccess", (Pool, const PoolAccess*, std::size_t))               \
  apply(PoolTrim, "cuMemPoolTrimTo", (Pool, std::size_t))                   \
  apply(PoolAlloc, "cuMemAllocFromPoolAsync", (Address*, std::size_t, Pool, Stream)) \
  apply(PoolFree, "cuMemFreeAsync", (Address, Stream))

// Graphs whose nodes are set anew, of drivers from 11.4 on.
#define SALVO_CUDA_GRAPH_FUNCTIONS(apply)                                             \
  apply(GraphCreate, "cuGraphCreate", (Graph*, unsigned))                             \
  apply(GraphDestroy, "cuGraphDestroy", (Graph))                                      \
  apply(GraphAddKernel, "cuGraphAddKernelNode",                                       \
        (GraphNode*, Graph, const GraphNode*, std::size_t, const KernelNodeParameters*)) \
  apply(GraphSetKernel, "cuGraphExecKernelNodeSetParams",                             \
        (GraphExec, GraphNode, const KernelNodeParameters*))                          \
  apply(GraphExecDestroy, "cuGraphExecDestroy", (GraphExec))                          \
  apply(GraphLaunch, "cuGraphLaunch", (GraphExec, Stream))                            \
  apply(GraphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec*, Graph, unsigned long long))
// clang-format on

/// The function table; each entry counts its calls. A driver that is shaped alike, HIP's, fills it
/// too, and leaves empty what it has no counterpart of.
struct Api {
  runtime::Library shared_object;
  /// What another driver calls the function that CUDA calls `operation`; null: the same.
  std::string_view (*name_of)(std::string_view operation) = nullptr;
  /// How often each function was called by the process, by the driver's own names.
  runtime::CallCounts (*counts)(const Api& api) = nullptr;
#define SALVO_CUDA_DECLARE(name, symbol, parameters) runtime::Function<Result(*) parameters> name;
  SALVO_CUDA_FUNCTIONS(SALVO_CUDA_DECLARE)
  SALVO_CUDA_POOL_FUNCTIONS(SALVO_CUDA_DECLARE)
  SALVO_CUDA_GRAPH_FUNCTIONS(SALVO_CUDA_DECLARE)
#undef SALVO_CUDA_DECLARE
};

}  // namespace salvo::backends::cuda_family
