// Runs a demo program on a device with the window off and on, and compares the bits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "demo_program.hpp"

namespace salvo::tool {

/// One line of the demo's table.
struct DemoRow {
  std::string device;  // "OpenCL:0"
  std::string program;
  std::string planner;  // "always", "profit", or "direct" where launches are never held
  std::uint64_t submitted = 0;
  std::uint64_t issued = 0;
  std::uint64_t fused_groups = 0;
  double microseconds_off = 0;  // per launch, the median of many rounds
  double microseconds_on = 0;
  bool same_bits = false;
  std::string problem;  // what differs from host code, if anything
};

/// A row for each planner. Leaves the default runtime's window on, with CPU devices and `profit`.
/// What is going on is told on stderr.
std::vector<DemoRow> measure(DemoProgram& program, const Device& device);

}  // namespace salvo::tool
