// What a process knows of its Vulkan drivers: an instance, its devices, and what layers said (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/vulkan_api.hpp"
#include "backends/vulkan/vulkan_properties.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::vulkan {

/// What validation layers reported and nobody has thrown yet.
class Messages {
 public:
  void add(std::string message);
  /// Throws Errc::check_failed with all there are, if there are any.
  void check(std::string_view operation);

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::atomic<bool> any_{false};
};

class Drivers {
 public:
  /// The one with or without validation layers, made when first asked for and never destroyed:
  /// drivers tear themselves down at exit, in an order nobody can rely on.
  static Drivers& of(bool validation);

  runtime::Found<DeviceFacts> devices();

  const InstanceApi& api() const noexcept { return api_; }
  Messages& messages() noexcept { return messages_; }

 private:
  explicit Drivers(bool validation) : validation_(validation) {}
  void search(runtime::Found<DeviceFacts>& found);
  std::string create();

  const bool validation_;
  std::uint32_t layer_version_ = 0;  // of Vulkan, that the validation layer knows
  Loader loader_;
  VkInstance instance_ = nullptr;
  InstanceApi api_;
  Messages messages_;
  runtime::FoundOnce<DeviceFacts> found_;
};

}  // namespace salvo::backends::vulkan
