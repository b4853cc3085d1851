// Compiles kernels with the real hiprtc for GPUs that are not there, and reads the machine code.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "backends/hip/hiprtc_api.hpp"
#include "ir/kernel.hpp"

namespace salvo::tests {

struct HipAudit {
  std::vector<std::string> refused;     // kernels the compiler did not take, with its words
  std::vector<std::string> contracted;  // fused multiply-adds on lines that ask for none
  std::vector<std::string> lost;        // lines that ask for one where there is none
  std::size_t asked = 0;                // lines with an fma, each with its instruction
  std::size_t kernels = 0;
};

/// `last_option` is what decides on contraction. A fused multiply-add belongs to its line of the
/// source, which the compiler's line table tells: it is wanted where the line says so, and where it
/// divides or calls a function that is made of them.
HipAudit audit(const backends::hip::Hiprtc& hiprtc, std::span<const ir::Kernel> kernels,
               const std::string& architecture,
               const std::string& last_option = "-ffp-contract=off");

}  // namespace salvo::tests
