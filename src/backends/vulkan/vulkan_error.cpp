// Turns Vulkan status codes into salvo::Error.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_error.hpp"

#include <utility>

#include <fmt/format.h>

namespace salvo::backends::vulkan {

std::string status_name(VkResult status) {
  switch (status) {
#define SALVO_VULKAN_STATUS(code) \
  case code:                      \
    return #code;
    SALVO_VULKAN_STATUS(VK_SUCCESS)
    SALVO_VULKAN_STATUS(VK_NOT_READY)
    SALVO_VULKAN_STATUS(VK_TIMEOUT)
    SALVO_VULKAN_STATUS(VK_INCOMPLETE)
    SALVO_VULKAN_STATUS(VK_ERROR_OUT_OF_HOST_MEMORY)
    SALVO_VULKAN_STATUS(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    SALVO_VULKAN_STATUS(VK_ERROR_INITIALIZATION_FAILED)
    SALVO_VULKAN_STATUS(VK_ERROR_DEVICE_LOST)
    SALVO_VULKAN_STATUS(VK_ERROR_MEMORY_MAP_FAILED)
    SALVO_VULKAN_STATUS(VK_ERROR_LAYER_NOT_PRESENT)
    SALVO_VULKAN_STATUS(VK_ERROR_EXTENSION_NOT_PRESENT)
    SALVO_VULKAN_STATUS(VK_ERROR_FEATURE_NOT_PRESENT)
    SALVO_VULKAN_STATUS(VK_ERROR_INCOMPATIBLE_DRIVER)
    SALVO_VULKAN_STATUS(VK_ERROR_TOO_MANY_OBJECTS)
    SALVO_VULKAN_STATUS(VK_ERROR_FRAGMENTED_POOL)
    SALVO_VULKAN_STATUS(VK_ERROR_OUT_OF_POOL_MEMORY)
    SALVO_VULKAN_STATUS(VK_ERROR_UNKNOWN)
    SALVO_VULKAN_STATUS(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
    SALVO_VULKAN_STATUS(VK_ERROR_INVALID_SHADER_NV)
#undef SALVO_VULKAN_STATUS
    default:
      return fmt::format("Vulkan error {}", static_cast<int>(status));
  }
}

Error failure(VkResult status, std::string_view operation, Errc otherwise, std::string log) {
  Errc code = otherwise;
  switch (status) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      code = Errc::out_of_memory;
      break;
    case VK_ERROR_DEVICE_LOST:
      code = Errc::device_lost;
      break;
    default:
      break;
  }
  return Error(Error::Details{.code = code,
                              .message = status_name(status),
                              .backend = std::string(kName),
                              .operation = std::string(operation),
                              .log = std::move(log)});
}

}  // namespace salvo::backends::vulkan
