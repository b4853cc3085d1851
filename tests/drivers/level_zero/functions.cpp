// The functions that the stand-in driver has, but for command lists and events.
// SPDX-License-Identifier: MIT
#include "drivers/level_zero/functions.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "drivers/level_zero/engine.hpp"
#include "drivers/level_zero/objects.hpp"
#include "drivers/level_zero/state.hpp"

namespace salvo::test::level_zero {
namespace {

constexpr const char* kMaxGroupExtension = "ZE_extension_kernel_max_group_size_properties";
constexpr auto kMaxGroupStructure = static_cast<ze_structure_type_t>(0x10013);

/// Specification 1.8.
struct MaxGroupSizeProperties {
  ze_structure_type_t stype;
  void* pNext;
  std::uint32_t maxGroupSize;
};

Knobs& knobs() {
  return State::instance().knobs();
}

int the_driver = 0;
int the_device = 0;

ze_driver_handle_t driver_handle() {
  return reinterpret_cast<ze_driver_handle_t>(&the_driver);
}
ze_device_handle_t device_handle() {
  return reinterpret_cast<ze_device_handle_t>(&the_device);
}

/// The two steps of every list: its length, then its entries.
template <typename T, typename Entry>
ze_result_t list(std::uint32_t* count, T* entries, std::uint32_t length, const Entry& entry) {
  if (!entries || *count == 0) {
    *count = length;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, length);
  for (std::uint32_t i = 0; i < *count; ++i) entry(i, entries[i]);
  return ZE_RESULT_SUCCESS;
}

ze_result_t init(ze_init_flags_t) {
  State::instance().note_call("zeInit");
  if (knobs().init_fails || !Engine::instance()) {
    State::instance().note_failed_init();
    return ZE_RESULT_ERROR_UNINITIALIZED;
  }
  return ZE_RESULT_SUCCESS;
}

// Drivers.

ze_result_t driver_get(std::uint32_t* count, ze_driver_handle_t* drivers) {
  State::instance().note_call("zeDriverGet");
  return list(count, drivers, 1, [](std::uint32_t, auto& entry) { entry = driver_handle(); });
}

ze_result_t driver_get_api_version(ze_driver_handle_t, ze_api_version_t* version) {
  State::instance().note_call("zeDriverGetApiVersion");
  *version = static_cast<ze_api_version_t>(knobs().api_version);
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_properties(ze_driver_handle_t, ze_driver_properties_t* properties) {
  State::instance().note_call("zeDriverGetProperties");
  properties->driverVersion = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_extensions(ze_driver_handle_t, std::uint32_t* count,
                                  ze_driver_extension_properties_t* extensions) {
  State::instance().note_call("zeDriverGetExtensionProperties");
  const std::uint32_t length = knobs().extensions;
  return list(count, extensions, length, [&](std::uint32_t i, auto& entry) {
    const bool last = i + 1 == length && knobs().lists_max_group_size;
    const std::string name =
        last ? kMaxGroupExtension : "ZE_extension_of_the_stand_in_" + std::to_string(i);
    std::memcpy(entry.name, name.c_str(), name.size() + 1);
    entry.version = 0x10000;
  });
}

ze_result_t driver_get_function(ze_driver_handle_t, const char* name, void** address) {
  State::instance().note_call("zeDriverGetExtensionFunctionAddress");
  *address = knobs().has_function_addresses ? later_function(name) : nullptr;
  return *address ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

// Devices.

ze_result_t device_get(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t* devices) {
  State::instance().note_call("zeDeviceGet");
  return list(count, devices, 1, [](std::uint32_t, auto& entry) { entry = device_handle(); });
}

ze_result_t device_get_properties(ze_device_handle_t, ze_device_properties_t* properties) {
  State::instance().note_call("zeDeviceGetProperties");
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->vendorId = 0x8086;
  properties->flags = knobs().integrated ? ZE_DEVICE_PROPERTY_FLAG_INTEGRATED : 0;
  properties->maxMemAllocSize = Engine::instance()->memory_bytes() / 4;
  properties->numSlices = 1;
  properties->numSubslicesPerSlice = 2;
  // In cycles a second for those who ask so, else in nanoseconds.
  properties->timerResolution =
      properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1'000'000'000 : 1;
  properties->kernelTimestampValidBits = kTimestampBits;
  std::strcpy(properties->name, "Stand-in");
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_compute_properties(ze_device_handle_t,
                                          ze_device_compute_properties_t* properties) {
  State::instance().note_call("zeDeviceGetComputeProperties");
  properties->maxTotalGroupSize = knobs().max_group_size;
  properties->maxGroupSizeX = knobs().max_group_size;
  properties->maxGroupSizeY = knobs().max_group_size;
  properties->maxGroupSizeZ = knobs().max_group_size;
  properties->maxGroupCountX = 0xffffffff;
  properties->maxGroupCountY = 0xffffffff;
  properties->maxGroupCountZ = 0xffffffff;
  properties->maxSharedLocalMemory = 64 << 10;
  // PoCL has no subgroups: see warp_library.hpp.
  constexpr std::uint32_t kWidths[] = {8, 16, 32};
  properties->numSubGroupSizes = knobs().has_subgroups ? 3 : 0;
  std::ranges::copy(kWidths, properties->subGroupSizes);
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_module_properties(ze_device_handle_t,
                                         ze_device_module_properties_t* properties) {
  State::instance().note_call("zeDeviceGetModuleProperties");
  const cl_device_fp_config has = Engine::instance()->single_config();
  ze_device_fp_flags_t flags = ZE_DEVICE_FP_FLAG_INF_NAN | ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST;
  if (has & CL_FP_DENORM) flags |= ZE_DEVICE_FP_FLAG_DENORM;
  if (has & CL_FP_FMA) flags |= ZE_DEVICE_FP_FLAG_FMA;
  if (has & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) flags |= ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT;
  properties->spirvVersionSupported = 0x10002;
  properties->flags = ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  properties->fp32flags = flags;
  properties->fp64flags = flags;
  properties->maxArgumentsSize = 2048;
  return ZE_RESULT_SUCCESS;
}

ze_result_t device_get_queue_groups(ze_device_handle_t, std::uint32_t* count,
                                    ze_command_queue_group_properties_t* groups) {
  State::instance().note_call("zeDeviceGetCommandQueueGroupProperties");
  // One that only copies comes first.
  return list(count, groups, 2, [](std::uint32_t i, auto& entry) {
    entry.flags = i == 0 ? ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
                         : ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    entry.maxMemoryFillPatternSize = 16;
    entry.numQueues = 1;
  });
}

ze_result_t device_get_memory_properties(ze_device_handle_t, std::uint32_t* count,
                                         ze_device_memory_properties_t* memories) {
  State::instance().note_call("zeDeviceGetMemoryProperties");
  return list(count, memories, 1, [](std::uint32_t, auto& entry) {
    entry.totalSize = Engine::instance()->memory_bytes();
  });
}

// Contexts and memory.

ze_result_t context_create(ze_driver_handle_t, const ze_context_desc_t*,
                           ze_context_handle_t* context) {
  State::instance().note_call("zeContextCreate");
  *context = to_handle<ze_context_handle_t>(made<ContextObject>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t context_destroy(ze_context_handle_t context) {
  State::instance().note_call("zeContextDestroy");
  destroyed<ContextObject>(context);
  return ZE_RESULT_SUCCESS;
}

ze_result_t make_memory_resident(ze_context_handle_t, ze_device_handle_t, void*, std::size_t) {
  State::instance().note_call("zeContextMakeMemoryResident");
  return ZE_RESULT_SUCCESS;
}

ze_result_t allocate(std::size_t bytes, std::size_t alignment, void** memory) {
  *memory = nullptr;
  if (knobs().out_of_memory) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  const std::size_t unit = std::max<std::size_t>(alignment, 64);
  *memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (!*memory) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  std::memset(*memory, 0xcd, bytes);  // so that what nobody wrote is not zero
  State::instance().note_object(1);
  return ZE_RESULT_SUCCESS;
}

ze_result_t mem_alloc_device(ze_context_handle_t, const ze_device_mem_alloc_desc_t*,
                             std::size_t bytes, std::size_t alignment, ze_device_handle_t,
                             void** memory) {
  State::instance().note_call("zeMemAllocDevice");
  return allocate(bytes, alignment, memory);
}

ze_result_t mem_alloc_host(ze_context_handle_t, const ze_host_mem_alloc_desc_t*, std::size_t bytes,
                           std::size_t alignment, void** memory) {
  State::instance().note_call("zeMemAllocHost");
  return allocate(bytes, alignment, memory);
}

ze_result_t mem_free(ze_context_handle_t, void* memory) {
  State::instance().note_call("zeMemFree");
  std::free(memory);
  State::instance().note_object(-1);
  return ZE_RESULT_SUCCESS;
}

// Modules.

constexpr char kNativeMagic[8] = {'S', 'T', 'A', 'N', 'D', 'I', 'N', '1'};

std::vector<std::uint8_t> native_of(const ModuleObject& module) {
  const std::uint64_t words = module.words.size();
  std::vector<std::uint8_t> native(sizeof(kNativeMagic) + sizeof(words) + words * 4);
  std::memcpy(native.data(), kNativeMagic, sizeof(kNativeMagic));
  std::memcpy(native.data() + 8, &words, sizeof(words));
  std::memcpy(native.data() + 16, module.words.data(), words * 4);
  native.insert(native.end(), module.bitcode.begin(), module.bitcode.end());
  return native;
}

bool read_native(const ze_module_desc_t& desc, ModuleObject& module) {
  std::uint64_t words = 0;
  if (desc.inputSize < 16 || std::memcmp(desc.pInputModule, kNativeMagic, 8) != 0) return false;
  std::memcpy(&words, desc.pInputModule + 8, sizeof(words));
  if (words > (desc.inputSize - 16) / 4) return false;
  module.words.resize(words);
  std::memcpy(module.words.data(), desc.pInputModule + 16, words * 4);
  module.bitcode.assign(desc.pInputModule + 16 + words * 4, desc.pInputModule + desc.inputSize);
  return true;
}

ze_result_t module_create(ze_context_handle_t, ze_device_handle_t, const ze_module_desc_t* desc,
                          ze_module_handle_t* handle, ze_module_build_log_handle_t* log) {
  State::instance().note_call("zeModuleCreate");
  auto module = std::make_unique<ModuleObject>();
  std::string words;
  if (desc->format == ZE_MODULE_FORMAT_NATIVE) {
    if (!read_native(*desc, *module)) return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  } else {
    module->words.resize(desc->inputSize / 4);
    std::memcpy(module->words.data(), desc->pInputModule, module->words.size() * 4);
    Translation translation = translate(module->words);
    module->bitcode = std::move(translation.bitcode);
    words = std::move(translation.log);
  }
  module->kernels = kernels_of(module->words);
  if (!module->bitcode.empty()) module->code = Engine::instance()->build(module->bitcode, words);
  if (log) *log = to_handle<ze_module_build_log_handle_t>(made<LogObject>(std::move(words)));
  if (!module->code) return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  State::instance().note_object(1);
  *handle = to_handle<ze_module_handle_t>(module.release());
  return ZE_RESULT_SUCCESS;
}

ze_result_t module_destroy(ze_module_handle_t module) {
  State::instance().note_call("zeModuleDestroy");
  destroyed<ModuleObject>(module);
  return ZE_RESULT_SUCCESS;
}

ze_result_t module_get_native_binary(ze_module_handle_t handle, std::size_t* size,
                                     std::uint8_t* binary) {
  State::instance().note_call("zeModuleGetNativeBinary");
  const std::vector<std::uint8_t> native = native_of(*to_object<ModuleObject>(handle));
  if (binary) std::memcpy(binary, native.data(), std::min(*size, native.size()));
  *size = native.size();
  return ZE_RESULT_SUCCESS;
}

ze_result_t build_log_destroy(ze_module_build_log_handle_t log) {
  State::instance().note_call("zeModuleBuildLogDestroy");
  destroyed<LogObject>(log);
  return ZE_RESULT_SUCCESS;
}

ze_result_t build_log_get_string(ze_module_build_log_handle_t handle, std::size_t* size,
                                 char* text) {
  State::instance().note_call("zeModuleBuildLogGetString");
  const std::string& words = to_object<LogObject>(handle)->words;
  if (text) std::memcpy(text, words.c_str(), std::min(*size, words.size() + 1));
  *size = words.size() + 1;
  return ZE_RESULT_SUCCESS;
}

// Kernels. Like real ones they are not locked: who shares one between threads locks it.

ze_result_t kernel_create(ze_module_handle_t handle, const ze_kernel_desc_t* desc,
                          ze_kernel_handle_t* kernel) {
  State::instance().note_call("zeKernelCreate");
  ModuleObject& module = *to_object<ModuleObject>(handle);
  const auto found = module.kernels.find(desc->pKernelName);
  if (found == module.kernels.end()) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  auto code = Engine::instance()->kernel(module.code, desc->pKernelName);
  if (!code) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  auto* object = made<KernelObject>();
  object->code = std::move(code);
  object->passing = found->second;
  object->arguments.resize(object->passing.size());
  object->spill_bytes = knobs().spill_bytes;
  object->max_group_size = std::min(knobs().kernel_group_size, knobs().max_group_size);
  *kernel = to_handle<ze_kernel_handle_t>(object);
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_destroy(ze_kernel_handle_t kernel) {
  State::instance().note_call("zeKernelDestroy");
  destroyed<KernelObject>(kernel);
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_get_properties(ze_kernel_handle_t handle, ze_kernel_properties_t* properties) {
  State::instance().note_call("zeKernelGetProperties");
  const KernelObject& kernel = *to_object<KernelObject>(handle);
  properties->numKernelArgs = static_cast<std::uint32_t>(kernel.passing.size());
  properties->spillMemSize = kernel.spill_bytes;
  struct Head {
    ze_structure_type_t stype;
    void* pNext;
  };
  for (auto* next = static_cast<Head*>(properties->pNext); next;
       next = static_cast<Head*>(next->pNext)) {
    if (next->stype == kMaxGroupStructure) {
      reinterpret_cast<MaxGroupSizeProperties*>(next)->maxGroupSize = kernel.max_group_size;
    }
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t kernel_set_argument(ze_kernel_handle_t handle, std::uint32_t index, std::size_t size,
                                const void* value) {
  State::instance().note_call("zeKernelSetArgumentValue");
  KernelObject& kernel = *to_object<KernelObject>(handle);
  if (index >= kernel.passing.size()) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
  return set_argument(kernel, index, size, value);
}

ze_result_t kernel_set_group_size(ze_kernel_handle_t handle, std::uint32_t x, std::uint32_t y,
                                  std::uint32_t z) {
  State::instance().note_call("zeKernelSetGroupSize");
  return set_group(*to_object<KernelObject>(handle), {x, y, z});
}

ze_result_t kernel_set_indirect_access(ze_kernel_handle_t, ze_kernel_indirect_access_flags_t) {
  State::instance().note_call("zeKernelSetIndirectAccess");
  return ZE_RESULT_SUCCESS;
}

}  // namespace

void fill(ze_global_dditable_t& table) {
  table.pfnInit = init;
}
void fill(ze_driver_dditable_t& table) {
  table.pfnGet = driver_get;
  table.pfnGetApiVersion = driver_get_api_version;
  table.pfnGetProperties = driver_get_properties;
  table.pfnGetExtensionProperties = driver_get_extensions;
  table.pfnGetExtensionFunctionAddress = driver_get_function;
}
void fill(ze_device_dditable_t& table) {
  table.pfnGet = device_get;
  table.pfnGetProperties = device_get_properties;
  table.pfnGetComputeProperties = device_get_compute_properties;
  table.pfnGetModuleProperties = device_get_module_properties;
  table.pfnGetCommandQueueGroupProperties = device_get_queue_groups;
  table.pfnGetMemoryProperties = device_get_memory_properties;
}
void fill(ze_context_dditable_t& table) {
  table.pfnCreate = context_create;
  table.pfnDestroy = context_destroy;
  table.pfnMakeMemoryResident = make_memory_resident;
}
void fill(ze_mem_dditable_t& table) {
  table.pfnAllocDevice = mem_alloc_device;
  table.pfnAllocHost = mem_alloc_host;
  table.pfnFree = mem_free;
}
void fill(ze_module_dditable_t& table) {
  table.pfnCreate = module_create;
  table.pfnDestroy = module_destroy;
  table.pfnGetNativeBinary = module_get_native_binary;
}
void fill(ze_module_build_log_dditable_t& table) {
  table.pfnDestroy = build_log_destroy;
  table.pfnGetString = build_log_get_string;
}
void fill(ze_kernel_dditable_t& table) {
  table.pfnCreate = kernel_create;
  table.pfnDestroy = kernel_destroy;
  table.pfnGetProperties = kernel_get_properties;
  table.pfnSetArgumentValue = kernel_set_argument;
  table.pfnSetGroupSize = kernel_set_group_size;
  table.pfnSetIndirectAccess = kernel_set_indirect_access;
}

}  // namespace salvo::test::level_zero
