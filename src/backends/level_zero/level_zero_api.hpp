// The Level Zero functions this backend calls, loaded at run time.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/level_zero/level_zero_types.hpp"
#include "runtime/library.hpp"

namespace salvo::backends::level_zero {

namespace signatures {

using ze::Result;

// A name, a parameter list. All of specification 1.0, so that any loader has them.
// clang-format off
#define SALVO_LEVEL_ZERO_FUNCTIONS(apply)                                                         \
  apply(Init, (std::uint32_t flags))                                                              \
  apply(DriverGet, (std::uint32_t* count, ze::Driver* drivers))                                   \
  apply(DriverGetApiVersion, (ze::Driver, std::uint32_t* version))                                \
  apply(DriverGetProperties, (ze::Driver, ze::DriverProperties*))                                 \
  apply(DriverGetExtensionProperties,                                                             \
        (ze::Driver, std::uint32_t* count, ze::DriverExtensionProperties*))                       \
  apply(DeviceGet, (ze::Driver, std::uint32_t* count, ze::Device*))                               \
  apply(DeviceGetProperties, (ze::Device, ze::DeviceProperties*))                                 \
  apply(DeviceGetComputeProperties, (ze::Device, ze::DeviceComputeProperties*))                   \
  apply(DeviceGetModuleProperties, (ze::Device, ze::DeviceModuleProperties*))                     \
  apply(DeviceGetMemoryProperties,                                                                \
        (ze::Device, std::uint32_t* count, ze::DeviceMemoryProperties*))                          \
  apply(DeviceGetCommandQueueGroupProperties,                                                     \
        (ze::Device, std::uint32_t* count, ze::CommandQueueGroupProperties*))                     \
  apply(ContextCreate, (ze::Driver, const ze::ContextDesc*, ze::Context*))                        \
  apply(ContextDestroy, (ze::Context))                                                            \
  apply(ContextMakeMemoryResident, (ze::Context, ze::Device, void*, std::size_t))                 \
  apply(CommandListCreateImmediate,                                                               \
        (ze::Context, ze::Device, const ze::CommandQueueDesc*, ze::CommandList*))                 \
  apply(CommandListDestroy, (ze::CommandList))                                                    \
  apply(CommandListAppendLaunchKernel,                                                            \
        (ze::CommandList, ze::Kernel, const ze::GroupCount*, ze::Event signal,                    \
         std::uint32_t wait_count, ze::Event* waits))                                             \
  apply(CommandListAppendMemoryCopy,                                                              \
        (ze::CommandList, void* to, const void* from, std::size_t bytes, ze::Event signal,        \
         std::uint32_t wait_count, ze::Event* waits))                                             \
  apply(CommandListAppendMemoryFill,                                                              \
        (ze::CommandList, void* to, const void* pattern, std::size_t pattern_bytes,               \
         std::size_t bytes, ze::Event signal, std::uint32_t wait_count, ze::Event* waits))        \
  apply(CommandListAppendBarrier,                                                                 \
        (ze::CommandList, ze::Event signal, std::uint32_t wait_count, ze::Event* waits))          \
  apply(EventPoolCreate,                                                                          \
        (ze::Context, const ze::EventPoolDesc*, std::uint32_t device_count, ze::Device*,          \
         ze::EventPool*))                                                                         \
  apply(EventPoolDestroy, (ze::EventPool))                                                        \
  apply(EventCreate, (ze::EventPool, const ze::EventDesc*, ze::Event*))                           \
  apply(EventDestroy, (ze::Event))                                                                \
  apply(EventHostReset, (ze::Event))                                                              \
  apply(EventHostSynchronize, (ze::Event, std::uint64_t timeout_ns))                              \
  apply(EventQueryKernelTimestamp, (ze::Event, ze::KernelTimestampResult*))                       \
  apply(EventQueryStatus, (ze::Event))                                                            \
  apply(MemAllocDevice,                                                                           \
        (ze::Context, const ze::DeviceMemAllocDesc*, std::size_t bytes, std::size_t alignment,    \
         ze::Device, void**))                                                                     \
  apply(MemAllocHost,                                                                             \
        (ze::Context, const ze::HostMemAllocDesc*, std::size_t bytes, std::size_t alignment,      \
         void**))                                                                                 \
  apply(MemFree, (ze::Context, void*))                                                            \
  apply(ModuleBuildLogDestroy, (ze::BuildLog))                                                    \
  apply(ModuleBuildLogGetString, (ze::BuildLog, std::size_t* bytes, char*))                       \
  apply(ModuleCreate,                                                                             \
        (ze::Context, ze::Device, const ze::ModuleDesc*, ze::Module*, ze::BuildLog*))             \
  apply(ModuleDestroy, (ze::Module))                                                              \
  apply(ModuleGetNativeBinary, (ze::Module, std::size_t* bytes, std::uint8_t*))                   \
  apply(KernelCreate, (ze::Module, const ze::KernelDesc*, ze::Kernel*))                           \
  apply(KernelDestroy, (ze::Kernel))                                                              \
  apply(KernelGetProperties, (ze::Kernel, ze::KernelProperties*))                                 \
  apply(KernelSetArgumentValue,                                                                   \
        (ze::Kernel, std::uint32_t index, std::size_t bytes, const void* value))                  \
  apply(KernelSetGroupSize, (ze::Kernel, std::uint32_t x, std::uint32_t y, std::uint32_t z))      \
  apply(KernelSetIndirectAccess, (ze::Kernel, std::uint32_t flags))

// What an old loader or driver lacks: found in the loader, or asked of the driver.
#define SALVO_LEVEL_ZERO_LATER_FUNCTIONS(apply)                                                   \
  apply(DriverGetExtensionFunctionAddress, (ze::Driver, const char* name, void**)) /* 1.1 */      \
  apply(CommandListHostSynchronize, (ze::CommandList, std::uint64_t timeout_ns))   /* 1.6 */      \
  apply(CommandListAppendLaunchKernelWithArguments,                                /* 1.14 */     \
        (ze::CommandList, ze::Kernel, ze::GroupCount, ze::GroupSize, void** arguments,            \
         const void* next, ze::Event signal, std::uint32_t wait_count, ze::Event* waits))
// clang-format on

#define SALVO_LEVEL_ZERO_SIGNATURE(name, parameters) using name = Result(*) parameters;
SALVO_LEVEL_ZERO_FUNCTIONS(SALVO_LEVEL_ZERO_SIGNATURE)
SALVO_LEVEL_ZERO_LATER_FUNCTIONS(SALVO_LEVEL_ZERO_SIGNATURE)
/// An extension of Intel's drivers: makes memory of the host's own known to the device.
using ImportExternalPointer = Result (*)(ze::Driver, void*, std::size_t);
using ReleaseImportedPointer = Result (*)(ze::Driver, void*);
#undef SALVO_LEVEL_ZERO_SIGNATURE

}  // namespace signatures

/// The function table. `DeviceGet` is zeDeviceGet, and so on; each counts its calls.
struct Api {
  runtime::Library shared_object;
#define SALVO_LEVEL_ZERO_DECLARE(name, parameters) runtime::Function<signatures::name> name;
  SALVO_LEVEL_ZERO_FUNCTIONS(SALVO_LEVEL_ZERO_DECLARE)
  SALVO_LEVEL_ZERO_LATER_FUNCTIONS(SALVO_LEVEL_ZERO_DECLARE)
#undef SALVO_LEVEL_ZERO_DECLARE

  /// Fills the table. Returns why it cannot be used, or an empty string.
  std::string load();
  runtime::CallCounts calls() const;  // of specification 1.0's functions
};

/// What one driver has beyond the table: functions it tells the address of.
struct DriverApi {
  runtime::Function<signatures::CommandListHostSynchronize> host_synchronize;
  runtime::Function<signatures::CommandListAppendLaunchKernelWithArguments> launch_with_arguments;
  runtime::Function<signatures::ImportExternalPointer> import_pointer;
  runtime::Function<signatures::ReleaseImportedPointer> release_pointer;

  void resolve(const Api& api, ze::Driver driver);
};

}  // namespace salvo::backends::level_zero
