// One walk over a kernel before it is printed: what must be declared, and where.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codegen/c_family/dialect.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::c_family {

struct Scan {
  Features features;
  std::set<std::pair<ir::Op, std::uint8_t>> positions;  // leaves read, with their axis
  std::vector<bool> written;                            // by memory
  std::vector<bool> for_matrices;                       // by memory: a matrix is moved there
  /// Slot values that are not constants, with the parameters that are read or touched at them.
  std::map<ir::ValueId, std::set<std::uint32_t>> slots;
  /// By block: the variables it declares, being the innermost that can. One that is never touched
  /// is declared by none.
  std::vector<std::vector<std::uint32_t>> variables;
};

Scan scan(const ir::Kernel& kernel);

}  // namespace salvo::codegen::c_family
