// The window's switches, as the launch path reads them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "runtime/backend_names.hpp"
#include "runtime/device_state.hpp"
#include "salvo/window.hpp"

namespace salvo::window {

/// Each switch is atomic on its own; a setter flushes before it changes one (W23).
class Settings {
 public:
  Settings();

  /// Reason::none if launches on `device` are held (W1-W5).
  Reason why_not_held(const runtime::DeviceState& device) const noexcept;
  /// The effective state for a backend's non-CPU devices (W68). The name is a known one.
  bool defers(std::string_view backend) const noexcept;
  bool epilogue_on(std::string_view backend) const noexcept;
  /// For a device whose launches are held.
  bool epilogue_on(const runtime::DeviceState& device) const noexcept {
    return epilogue_ && epilogue_on_[device.backend_index()];
  }

  void set_enabled(bool on) noexcept { enabled_ = on; }
  void set_backend(std::string_view backend, bool on) noexcept {
    window_on_[runtime::backend_index(backend)] = on;
  }
  void set_cpu_devices(bool on) noexcept { cpu_devices_ = on; }
  void set_epilogue(bool on) noexcept { epilogue_ = on; }
  void set_epilogue_backend(std::string_view backend, bool on) noexcept {
    epilogue_on_[runtime::backend_index(backend)] = on;
  }
  void set_background_compile(bool on) noexcept { background_compile_ = on; }
  bool background_compile() const noexcept { return background_compile_; }
  void set_planner(Planner planner) noexcept { planner_ = planner; }
  void set_limits(std::uint32_t groups, std::uint32_t members) noexcept {
    groups_ = groups;
    members_ = members;
  }
  Planner planner() const noexcept { return planner_; }
  std::uint32_t most_groups() const noexcept { return groups_; }
  std::uint32_t most_members() const noexcept { return members_; }

 private:
  static constexpr std::size_t kCount = runtime::kBackends.size();

  std::atomic<bool> enabled_{true};
  std::atomic<bool> cpu_devices_{false};
  std::atomic<bool> epilogue_{true};
  std::atomic<bool> background_compile_{false};
  std::atomic<Planner> planner_{Planner::profit};
  std::atomic<std::uint32_t> groups_{8};
  std::atomic<std::uint32_t> members_{8};
  std::array<std::atomic<bool>, kCount> window_on_{};
  std::array<std::atomic<bool>, kCount> epilogue_on_{};
};

}  // namespace salvo::window
