// The function tables of all drivers, made to fail when told to.
// SPDX-License-Identifier: MIT
#include "drivers/faults/failing_tables.hpp"

#include <cstring>
#include <ostream>

#include "backends/cuda/cuda_api.hpp"
#include "backends/hip/hip_api.hpp"
#include "backends/level_zero/level_zero_api.hpp"
#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/metal/metal_api.hpp"
#include "backends/metal/metal_drivers.hpp"
#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "backends/vulkan/vulkan_drivers.hpp"
#include "drivers/faults/faults.hpp"

namespace salvo::tests {
namespace {

/// The tables are constant for all but who fills them; none of them is a constant object.
template <class Table>
Table& open(const Table& table) {
  return const_cast<Table&>(table);
}

#define SALVO_LET_FAIL(table, entry, symbol)                 \
  {                                                          \
    struct Tag {                                             \
      static constexpr const char* text() { return symbol; } \
    };                                                       \
    let_fail<Tag>((table).entry);                            \
  }

void install_opencl() {
  auto& api = open(backends::opencl::shared_api());
#define SALVO_INSTALL(name) SALVO_LET_FAIL(api, name, "cl" #name)
  SALVO_OPENCL_FUNCTIONS(SALVO_INSTALL)
#undef SALVO_INSTALL
}

void install_level_zero() {
  auto& api = open(backends::level_zero::shared_api());
#define SALVO_INSTALL(name, parameters) SALVO_LET_FAIL(api, name, "ze" #name)
  SALVO_LEVEL_ZERO_FUNCTIONS(SALVO_INSTALL)
  SALVO_LEVEL_ZERO_LATER_FUNCTIONS(SALVO_INSTALL)
#undef SALVO_INSTALL
}

void install_family(const backends::cuda_family::Api& table) {
  auto& api = open(table);
#define SALVO_INSTALL(entry, symbol, parameters) SALVO_LET_FAIL(api, entry, symbol)
  SALVO_CUDA_FUNCTIONS(SALVO_INSTALL)
  SALVO_CUDA_POOL_FUNCTIONS(SALVO_INSTALL)
  SALVO_CUDA_GRAPH_FUNCTIONS(SALVO_INSTALL)
#undef SALVO_INSTALL
}

PFN_vkGetDeviceProcAddr real_device_functions = nullptr;

PFN_vkVoidFunction failing_device_function(VkDevice device, const char* name) {
  const PFN_vkVoidFunction found = real_device_functions(device, name);
#define SALVO_FIND(function)                                         \
  if (found && std::strcmp(name, "vk" #function) == 0) {             \
    struct Tag {                                                     \
      static constexpr const char* text() { return "vk" #function; } \
    };                                                               \
    using Stand = Failing<Tag, PFN_vk##function>;                    \
    Stand::real = reinterpret_cast<PFN_vk##function>(found);         \
    return reinterpret_cast<PFN_vkVoidFunction>(&Stand::call);       \
  }
  SALVO_VULKAN_DEVICE_FUNCTIONS(SALVO_FIND)
#undef SALVO_FIND
  return found;
}

void install_vulkan() {
  auto& api = open(backends::vulkan::Drivers::of(false).api());
#define SALVO_INSTALL(name) SALVO_LET_FAIL(api, name, "vk" #name)
  SALVO_INSTALL(CreateDevice)
  SALVO_INSTALL(EnumerateDeviceExtensionProperties)
  SALVO_INSTALL(EnumeratePhysicalDevices)
#undef SALVO_INSTALL
  if (api.GetDeviceProcAddr.get() == &failing_device_function) return;
  real_device_functions = api.GetDeviceProcAddr.get();
  api.GetDeviceProcAddr.assign(&failing_device_function);
}

/// A message to an object: what makes one returns nil, what tells a status says that it failed.
template <class Tag, class Result, class... Arguments>
struct FailingMessage {
  static inline Result (*real)(backends::metal::Id, backends::metal::Selector,
                               Arguments...) = nullptr;
  static Result call(backends::metal::Id object, backends::metal::Selector selector,
                     Arguments... arguments) {
    if constexpr (std::is_same_v<Result, backends::metal::Id>) {
      if (faults().strike(Tag::text())) return nullptr;
    } else if constexpr (std::is_same_v<Result, backends::metal::UInt>) {
      constexpr backends::metal::UInt kFailed = 5;
      if (std::string_view(Tag::text()) == "status" && faults().strike(Tag::text())) return kFailed;
    }
    return real(object, selector, arguments...);
  }
};
template <class Tag, class Result, class... Arguments>
void let_message_fail(backends::metal::Message<Result(Arguments...)>& message, void* send) {
  using Stand = FailingMessage<Tag, Result, Arguments...>;
  Stand::real = reinterpret_cast<decltype(Stand::real)>(send);
  message.resolve(reinterpret_cast<void*>(&Stand::call), message.selector());
}

void install_metal() {
  auto& api = open(backends::metal::Drivers::instance().api());
  void* const send = api.runtime.find("objc_msgSend");
  if (!send) return;
#define SALVO_INSTALL(name, selector, signature)            \
  {                                                         \
    struct Tag {                                            \
      static constexpr const char* text() { return #name; } \
    };                                                      \
    let_message_fail<Tag>(api.name, send);                  \
  }
  SALVO_METAL_MESSAGES(SALVO_INSTALL)
#undef SALVO_INSTALL
}

}  // namespace

void PrintTo(const FailingBackend& backend, std::ostream* out) {
  *out << backend.name;
}

std::vector<FailingBackend> failing_backends() {
  const auto cuda = [] { install_family(backends::cuda::drivers().api()); };
  const auto hip = [] { install_family(backends::hip::drivers().api()); };
  return {
      {"CUDA/PTX", "SALVO_DISABLE_CUDA_PTX", cuda, {2, 1, 999, 600, 209}, {700, 719}, false},
      {"CUDA/C", "SALVO_DISABLE_CUDA_C", cuda, {2, 1, 999}, {700}, false},
      {"HIP", "SALVO_DISABLE_HIP", hip, {2, 1, 999, 600, 209}, {700, 719}, false},
      {"LevelZero",
       "SALVO_DISABLE_LEVEL_ZERO",
       install_level_zero,
       {0x70000003, 0x70000002, 0x78000001, 1, 0x7ffffffe},
       {0x70000001}},
      {"Metal", "SALVO_DISABLE_METAL", install_metal, {0}, {}},
      {"OpenCL", "SALVO_DISABLE_OPENCL", install_opencl, {-5, -4, -6, -36, -14}, {-5}},
      {"Vulkan", "SALVO_DISABLE_VULKAN", install_vulkan, {-1, -2, -13, -3}, {-4}},
  };
}

}  // namespace salvo::tests
