// The inside of a Runtime: environment, backends, devices, and the held work beside them.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/device_state.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/environment.hpp"
#include "runtime/fork.hpp"
#include "runtime/held_work.hpp"
#include "runtime/trace.hpp"
#include "salvo/runtime.hpp"

namespace salvo::runtime {

/// Made once per Runtime. Everything but `held_work` is constant afterwards.
class Core {
 public:
  /// Opens each backend in turn; one that fails leaves a BackendInfo with the reason (R1). Without
  /// a cache folder compiled kernels are not kept.
  Core(Environment environment, std::vector<std::unique_ptr<Backend>> backends,
       const std::string& cache_folder);
  ~Core();

  const Environment& environment() const noexcept { return environment_; }
  const std::vector<std::shared_ptr<DeviceState>>& devices() const noexcept { return devices_; }
  const std::vector<BackendInfo>& backends() const noexcept { return infos_; }

  /// Null if there is no place for one. Devices use it only if the environment lets them.
  DiskCache* disk_cache() const noexcept { return disk_cache_.get(); }

  /// Made before this process was forked (W61).
  bool is_inherited() const noexcept { return fork_count() != made_in_; }

  /// Null while there is none (W70).
  Trace* trace() const noexcept { return trace_.get(); }
  /// Notes what the devices did so far, and ends the file. Throws Errc::io if it is not complete.
  void end_trace();

  std::shared_ptr<DeviceState> best() const;
  std::shared_ptr<DeviceState> get(std::string_view id) const;
  std::vector<std::shared_ptr<DeviceState>> by_backend(std::string_view backend) const;

  /// Joins the window to the devices; null takes it away before the window is destroyed.
  void set_held_work(HeldWork* work) noexcept;
  HeldWork* held_work() const noexcept { return held_work_; }

 private:
  /// `asked_by` precedes the words for an id that there is not.
  std::shared_ptr<DeviceState> find(std::string_view id, std::string_view asked_by) const;

  const std::uint32_t made_in_ = fork_count();
  Environment environment_;
  std::shared_ptr<DiskCache> disk_cache_;
  std::shared_ptr<Trace> trace_;
  std::vector<BackendInfo> infos_;
  std::vector<std::shared_ptr<DeviceState>> devices_;
  std::atomic<HeldWork*> held_work_{nullptr};
};

/// Throws Errc::invalid_argument, listing the known names, for one that is not (W68).
void check_backend_name(std::string_view name);

}  // namespace salvo::runtime
