// The Vulkan functions this backend calls, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_api.hpp"

#include <fmt/format.h>

namespace salvo::backends::vulkan {
namespace {

template <typename Pointer>
bool assign(runtime::Function<Pointer>& function, PFN_vkVoidFunction found) {
  function.assign(reinterpret_cast<Pointer>(found));
  return found != nullptr;
}

}  // namespace

std::string Loader::load() {
  shared_object = runtime::Library::open({"libvulkan.so.1", "libvulkan.so"});
  if (!shared_object) return shared_object.reason();
  if (!GetInstanceProcAddr.resolve(shared_object, "vkGetInstanceProcAddr")) {
    return fmt::format("{} lacks vkGetInstanceProcAddr", shared_object.name());
  }
  std::string missing;
#define SALVO_VULKAN_RESOLVE(name) \
  if (!assign(name, GetInstanceProcAddr(nullptr, "vk" #name))) missing += " vk" #name;
  SALVO_VULKAN_RESOLVE(CreateInstance)
  SALVO_VULKAN_RESOLVE(EnumerateInstanceLayerProperties)
  SALVO_VULKAN_RESOLVE(EnumerateInstanceExtensionProperties)
  SALVO_VULKAN_RESOLVE(EnumerateInstanceVersion)
#undef SALVO_VULKAN_RESOLVE
  return missing.empty() ? "" : fmt::format("{} lacks{}", shared_object.name(), missing);
}

std::string InstanceApi::load(const Loader& loader, VkInstance instance) {
  std::string missing;
#define SALVO_VULKAN_RESOLVE(name) \
  if (!assign(name, loader.GetInstanceProcAddr(instance, "vk" #name))) missing += " vk" #name;
  SALVO_VULKAN_INSTANCE_FUNCTIONS(SALVO_VULKAN_RESOLVE)
#undef SALVO_VULKAN_RESOLVE
  assign(GetPhysicalDeviceMatrices,
         loader.GetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return missing.empty() ? "" : "the instance lacks" + missing;
}

std::string DeviceApi::load(const InstanceApi& api, VkDevice device) {
  std::string missing;
#define SALVO_VULKAN_RESOLVE(name) \
  if (!assign(name, api.GetDeviceProcAddr(device, "vk" #name))) missing += " vk" #name;
  SALVO_VULKAN_DEVICE_FUNCTIONS(SALVO_VULKAN_RESOLVE)
#undef SALVO_VULKAN_RESOLVE
  return missing.empty() ? "" : "the device lacks" + missing;
}

runtime::CallCounts DeviceApi::calls() const {
#define SALVO_VULKAN_COUNT(name) {"vk" #name, name.calls()},
  return {SALVO_VULKAN_DEVICE_FUNCTIONS(SALVO_VULKAN_COUNT)};
#undef SALVO_VULKAN_COUNT
}

}  // namespace salvo::backends::vulkan
