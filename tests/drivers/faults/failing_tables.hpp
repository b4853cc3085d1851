// The function tables of all drivers, made to fail when told to.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace salvo::tests {

/// A backend whose driver's calls may be made to fail.
struct FailingBackend {
  std::string name;       // "OpenCL"
  std::string hidden_by;  // the variable that hides it
  /// Calls it after a runtime has loaded the driver.
  std::function<void()> install;
  /// What its calls return when they fail, in this driver's numbers: some that pass, and some
  /// after which the device is lost.
  std::vector<long> codes;
  std::vector<long> lost;
  bool computes = true;  // false: a stand-in whose kernels do nothing
};

std::vector<FailingBackend> failing_backends();
void PrintTo(const FailingBackend& backend, std::ostream* out);

}  // namespace salvo::tests
