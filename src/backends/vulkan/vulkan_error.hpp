// Turns Vulkan status codes into salvo::Error.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/vulkan/vulkan_api.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::vulkan {

inline constexpr std::string_view kName = "Vulkan";

/// "VK_ERROR_DEVICE_LOST"; "Vulkan error -9999" for a code without a name here.
std::string status_name(VkResult status);

/// What `status` of the call `operation` means; `otherwise` where the code itself does not say
/// that memory ran out or the device is gone.
Error failure(VkResult status, std::string_view operation, Errc otherwise, std::string log = {});

inline void check(VkResult status, std::string_view operation, Errc otherwise) {
  if (status < VK_SUCCESS) [[unlikely]]
    throw failure(status, operation, otherwise);
}

}  // namespace salvo::backends::vulkan
