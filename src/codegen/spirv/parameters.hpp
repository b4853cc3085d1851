// Reads a kernel's arguments: a shader's from push constants and a table, a kernel's own.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "codegen/spirv/layout.hpp"
#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// `slot` is the id of an integer, or 0 for the first.
class Parameters {
 public:
  virtual ~Parameters() = default;
  /// What the elements of a span are reached from: in a shader its address, or its first byte in a
  /// storage buffer, as U64; in a kernel a pointer to bytes.
  virtual Id base(std::uint32_t parameter, Id slot) = 0;
  /// Pointer to an integer of `bits` at `offset`, an U64, from `base` on.
  virtual Id element(std::uint32_t parameter, Id slot, Id base, unsigned bits, Id offset) = 0;
  /// The same, as a pointer into an array of such integers.
  virtual Id array_element(std::uint32_t parameter, Id slot, Id base, unsigned bits, Id offset) {
    return element(parameter, slot, base, bits, offset);
  }
  virtual Id length(std::uint32_t parameter, Id slot) = 0;  // I64
  virtual Id scalar(std::uint32_t parameter, Id slot) = 0;  // in its compute type
  /// Pointer to the words of dynamic shared memory; 0 where the module declares them itself.
  virtual Id dynamic_shared() const { return 0; }
};

/// Opens the module's entry point, which must not have been opened before.
std::unique_ptr<Parameters> open_entry(Module& module, const Layout& layout);

}  // namespace salvo::codegen::spirv
