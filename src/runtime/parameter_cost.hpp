// What a kernel's parameters take where a driver is passed each of them on its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/kernel.hpp"
#include "runtime/backend.hpp"

namespace salvo::runtime {

/// `span_bytes` is what stands for a span. A scalar takes a register's room at least.
inline ParameterCost cost_of_each_parameter(const ir::Kernel& kernel, std::uint64_t span_bytes) {
  ParameterCost cost;
  for (const ir::Parameter& parameter : kernel.parameters) {
    const std::uint64_t one =
        parameter.is_span ? span_bytes : std::max<std::uint64_t>(4, ir::size_of(parameter.type));
    cost.bytes += one * parameter.slots;
  }
  return cost;
}

}  // namespace salvo::runtime
