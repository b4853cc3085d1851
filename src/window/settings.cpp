// The window's switches, as the launch path reads them.
// SPDX-License-Identifier: MIT
#include "window/settings.hpp"

#include <algorithm>

namespace salvo::window {

Settings::Settings() {
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string_view name = runtime::kBackendNames[i];
    const bool direct = name == "Native" || name == "Interpreter";
    window_on_[i] = !direct && name != "WebGPU";  // W2, W5
    epilogue_on_[i] = window_on_[i].load();
  }
}

std::size_t Settings::index(std::string_view backend) noexcept {
  const auto found = std::ranges::find(runtime::kBackendNames, backend);
  return static_cast<std::size_t>(found - runtime::kBackendNames.begin());
}

Reason Settings::why_not_held(const runtime::DeviceState& device) const noexcept {
  if (!device.is_jit()) return Reason::direct_backend;
  if (!enabled_) return Reason::window_off;
  if (!window_on_[device.backend_index()]) return Reason::backend_off;
  if (device.properties().is_cpu && !cpu_devices_) return Reason::cpu_device;
  return Reason::none;
}

bool Settings::defers(std::string_view backend) const noexcept {
  const bool direct = backend == "Native" || backend == "Interpreter";
  return !direct && enabled_ && window_on_[index(backend)];
}

bool Settings::epilogue_on(std::string_view backend) const noexcept {
  return defers(backend) && epilogue_ && epilogue_on_[index(backend)];
}

}  // namespace salvo::window
