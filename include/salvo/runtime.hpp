// A runtime: the backends that were found, their devices, and one window. Most programs use the
// default one without naming it.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/device.hpp"
#include "salvo/disk_cache.hpp"
#include "salvo/policy.hpp"
#include "salvo/window.hpp"

namespace salvo {

namespace runtime {
class Backend;
class Core;
}  // namespace runtime

/// Availability of a backend.
struct BackendInfo {
  std::string name;
  bool available = false;
  /// Why it is not: libraries tried, the driver's words, or the variable that hides it.
  std::string reason;
};

/// One environment variable Salvo reads.
struct EnvironmentVariable {
  std::string name;
  std::string values;  // accepted ones
  std::string effect;
  std::string current;  // empty if unset
};

/// Looks up an environment variable; tests replace it. Null if unset.
using EnvironmentLookup = std::function<const char*(const char*)>;

namespace detail {

/// Backends of Salvo's own tests and benchmarks, before the built-in ones.
struct OwnBackends {
  // Not made here, because Backend is incomplete.
  OwnBackends();
  OwnBackends(OwnBackends&& other) noexcept;
  ~OwnBackends();

  std::vector<std::unique_ptr<runtime::Backend>> list;
};

}  // namespace detail

struct RuntimeOptions {
  /// False loads no driver and finds no device: for a program that asks for the disk cache alone.
  bool built_in_backends = true;
  /// Defaults to std::getenv.
  EnvironmentLookup environment{};
  /// Where compiled kernels are kept. Empty: as the environment says.
  std::string cache_folder{};
  /// @cond internal
  // With own backends and no folder nothing is kept.
  detail::OwnBackends own{};
  /// @endcond
};

class Runtime {
 public:
  /// The default runtime, made at first use and never destroyed: static vectors and kernels may
  /// outlive everything. What is held is issued at exit (W21, W61).
  static Runtime& instance();

  /// A runtime of its own. Throws Errc::bad_environment for a bad variable. A backend that fails to
  /// start never stops the others (R1).
  explicit Runtime(RuntimeOptions options = {});
  /// Issues what is held; failures are kept for the next throwing call, or printed at exit.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// As Device::all, best, by_backend and get, and with their errors.
  std::vector<Device> devices() const;
  Device best() const;
  std::vector<Device> by_backend(std::string_view backend) const;
  Device get(std::string_view id) const;
  std::vector<BackendInfo> backends() const;
  Window& window() noexcept { return window_; }
  Policy& policy() noexcept { return policy_; }

  /// Forgets how kernels are run: generated source, compiled and fused kernels, plans. Issues what
  /// is held and waits for it first; if that throws, all is forgotten and the error passes on. For
  /// programs that change an intrinsic they have registered (W72); the disk cache stays, because
  /// what it holds is found by its source.
  void clear_launch_cache();

  /// What is kept on disk, and what came of it (W73).
  DiskCacheReport disk_cache() const;
  /// Removes what is kept on disk. Throws Errc::io if that is not possible.
  void clear_disk_cache();

  /// Every variable there is, with its current value (R12).
  std::vector<EnvironmentVariable> environment() const;

 private:
  std::shared_ptr<runtime::Core> core_;
  Window window_;
  Policy policy_;
};

/// Of the default runtime (W72).
inline void clear_launch_cache() {
  Runtime::instance().clear_launch_cache();
}

}  // namespace salvo
