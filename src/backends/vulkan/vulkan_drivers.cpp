// What a process knows of its Vulkan drivers: an instance, its devices, and what layers said (P1).
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_drivers.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/vulkan/vulkan_error.hpp"

namespace salvo::backends::vulkan {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

/// The first that knows VK_KHR_cooperative_matrix.
constexpr std::uint32_t kLayerWithMatrices = VK_MAKE_API_VERSION(0, 1, 3, 261);

VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                              VkDebugUtilsMessageTypeFlagsEXT,
                              const VkDebugUtilsMessengerCallbackDataEXT* data, void* messages) {
  static_cast<Messages*>(messages)->add(data->pMessage);
  return VK_FALSE;
}

}  // namespace

void Messages::add(std::string message) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
  any_ = true;
}

void Messages::check(std::string_view operation) {
  if (!any_.load(std::memory_order_relaxed)) return;
  std::vector<std::string> said;
  {
    const std::lock_guard lock(mutex_);
    said.swap(messages_);
    any_ = false;
  }
  throw Error(Error::Details{.code = Errc::check_failed,
                             .message = said.front(),
                             .backend = std::string(kName),
                             .operation = std::string(operation),
                             .log = fmt::format("{}", fmt::join(said, "\n"))});
}

Drivers& Drivers::of(bool validation) {
  static Drivers& plain = *new Drivers(false);
  static Drivers& validating = *new Drivers(true);
  return validation ? validating : plain;
}

runtime::Found<DeviceFacts> Drivers::devices() {
  return found_.get([this](runtime::Found<DeviceFacts>& found) { search(found); });
}

std::string Drivers::create() {
  if (!loader_.CreateInstance) {
    std::string reason = loader_.load();
    if (!reason.empty()) return reason;
  }
  std::uint32_t version = 0;
  check(loader_.EnumerateInstanceVersion(&version), "vkEnumerateInstanceVersion",
        Errc::backend_unavailable);
  if (version < VK_API_VERSION_1_2) {
    return fmt::format("{} has Vulkan {}.{}, and 1.2 is needed", loader_.shared_object.name(),
                       VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version));
  }
  if (validation_) {
    std::uint32_t count = 0;
    check(loader_.EnumerateInstanceLayerProperties(&count, nullptr),
          "vkEnumerateInstanceLayerProperties", Errc::backend_unavailable);
    std::vector<VkLayerProperties> layers(count);
    check(loader_.EnumerateInstanceLayerProperties(&count, layers.data()),
          "vkEnumerateInstanceLayerProperties", Errc::backend_unavailable);
    const auto layer = std::find_if(layers.begin(), layers.end(), [](const VkLayerProperties& one) {
      return std::strcmp(one.layerName, kLayer) == 0;
    });
    if (layer != layers.end()) layer_version_ = layer->specVersion;
    if (layer == layers.end())
      return fmt::format("validation was asked for, and {} is not installed", kLayer);
  }

  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pNext = nullptr,
                                      .pApplicationName = "salvo",
                                      .applicationVersion = 0,
                                      .pEngineName = "salvo",
                                      .engineVersion = 0,
                                      .apiVersion = VK_API_VERSION_1_2};
  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = &messages_;
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;

  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (validation_) {
    info.pNext = &messenger;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kLayer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  check(loader_.CreateInstance(&info, nullptr, &instance_), "vkCreateInstance",
        Errc::backend_unavailable);
  if (validation_) {
    // The messenger of the create info above covers only the call itself.
    const auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        loader_.GetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
    VkDebugUtilsMessengerEXT made = VK_NULL_HANDLE;
    check(make(instance_, &messenger, nullptr, &made), "vkCreateDebugUtilsMessengerEXT",
          Errc::backend_unavailable);
  }
  return api_.load(loader_, instance_);
}

void Drivers::search(runtime::Found<DeviceFacts>& found) {
  if (!instance_) {
    const std::string reason = create();
    if (!reason.empty()) return found.obstacles.push_back(reason);
  }
  std::uint32_t count = 0;
  check(api_.EnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices",
        Errc::backend_unavailable);
  std::vector<VkPhysicalDevice> handles(count);
  check(api_.EnumeratePhysicalDevices(instance_, &count, handles.data()),
        "vkEnumeratePhysicalDevices", Errc::backend_unavailable);
  if (handles.empty()) {
    found.obstacles.push_back(
        fmt::format("{} loaded, but it knows no device", loader_.shared_object.name()));
  }
  for (VkPhysicalDevice handle : handles) {
    DeviceFacts facts = read_facts(api_, handle);
    // An older layer takes the instructions for faults.
    if (validation_ && layer_version_ < kLayerWithMatrices) use_no_matrices(facts);
    found.add(std::move(facts));
  }
}

}  // namespace salvo::backends::vulkan
