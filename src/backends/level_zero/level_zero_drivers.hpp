// What a process knows of its Level Zero drivers, found by the first backend that asks (P1).
// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <mutex>

#include "backends/level_zero/level_zero_properties.hpp"
#include "runtime/driver_backend.hpp"

namespace salvo::backends::level_zero {

class Drivers {
 public:
  /// Never destroyed: drivers tear themselves down at exit, in an order nobody can rely on.
  static Drivers& instance();

  const Api& api() const noexcept { return api_; }
  /// The drivers are enumerated once. A failed initialisation is final: what is called after it may
  /// crash (P12).
  const runtime::Found<DeviceFacts>& devices();

 private:
  void search();
  void search(ze::Driver driver);

  std::mutex mutex_;
  bool searched_ = false;
  Api api_;
  ExtensionMemo extensions_;
  std::deque<DriverFacts> drivers_;  // never moves
  runtime::Found<DeviceFacts> found_;
};

}  // namespace salvo::backends::level_zero
