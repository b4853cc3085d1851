// What a process knows of a driver of the family, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>

#include "backends/cuda_family/cuda_family_api.hpp"
#include "backends/cuda_family/cuda_family_properties.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::cuda_family {

/// The driver and its devices.
class Drivers {
 public:
  /// Fills the table and starts the driver; returns why it cannot be used, or an empty string.
  using Load = std::string (*)(Api& api);
  using ReadFacts = DeviceFacts (*)(const Api& api, int index);

  Drivers(Load load, ReadFacts read_facts) : load_(load), read_facts_(read_facts) {}

  runtime::Found<DeviceFacts> devices();
  const Api& api() const noexcept { return api_; }

 private:
  void search(runtime::Found<DeviceFacts>& found);

  const Load load_;
  const ReadFacts read_facts_;
  Api api_;
  bool loaded_ = false;
  runtime::FoundOnce<DeviceFacts> found_;
};

/// The driver with the run-time compiler that goes with it.
template <typename Compiler>
class DriversWithCompiler : public Drivers {
 public:
  using Drivers::Drivers;

  /// Loads the compiler if that was not done. Returns why it cannot be used, or an empty string.
  std::string load_compiler() {
    const std::lock_guard lock(compiler_mutex_);
    if (has_compiler_) return {};
    std::string reason = compiler_.load();
    has_compiler_ = reason.empty();
    return reason;
  }
  const Compiler& compiler() const noexcept { return compiler_; }

 private:
  std::mutex compiler_mutex_;
  Compiler compiler_;
  bool has_compiler_ = false;
};

}  // namespace salvo::backends::cuda_family
