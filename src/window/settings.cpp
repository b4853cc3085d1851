// The window's switches, as the launch path reads them.
// SPDX-License-Identifier: MIT
#include "window/settings.hpp"

namespace salvo::window {

using runtime::Holding;

Settings::Settings() {
  for (std::size_t i = 0; i < kCount; ++i) {
    window_on_[i] = runtime::kBackends[i].holding == Holding::by_default;  // W2, W5
    epilogue_on_[i] = window_on_[i].load();
  }
}

Reason Settings::why_not_held(const runtime::DeviceState& device) const noexcept {
  if (!device.is_jit()) return Reason::direct_backend;
  if (!enabled_) return Reason::window_off;
  if (!window_on_[device.backend_index()]) return Reason::backend_off;
  if (device.properties().is_cpu && !cpu_devices_) return Reason::cpu_device;
  return Reason::none;
}

bool Settings::defers(std::string_view backend) const noexcept {
  const std::size_t i = runtime::backend_index(backend);
  return runtime::kBackends[i].holding != Holding::never && enabled_ && window_on_[i];
}

bool Settings::epilogue_on(std::string_view backend) const noexcept {
  return defers(backend) && epilogue_ && epilogue_on_[runtime::backend_index(backend)];
}

}  // namespace salvo::window
