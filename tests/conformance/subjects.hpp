// The devices that the conformance suite runs on.
// SPDX-License-Identifier: MIT
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::conformance {

struct Subject {
  std::string backend;  // "OpenCL"
  std::string label;    // "OpenCL0", for test names
  runtime::DeviceDriver* driver = nullptr;
};

/// For messages of the test framework.
void PrintTo(const Subject& subject, std::ostream* out);

/// Every device of every backend, opened once and kept for the life of the process.
const std::vector<Subject>& subjects();

/// Backends without a device, with the reason each gives.
const std::vector<std::string>& missing();

/// The oracle: a device that runs blocks one after another and checks every access. Its warps are
/// as wide as those of the device it is held against, where that has warp operations.
runtime::DeviceDriver& oracle(const DeviceProperties& device);

}  // namespace salvo::conformance
