// Emits the pure operations of the IR: arithmetic, bits, comparisons, casts.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// `operands` are those of `node`, emitted.
Id pure(Module& module, const ir::Node& node, std::span<const Id> operands);

/// The smaller or larger of two, as ir.hpp defines it.
Id extremum(Module& module, ir::Scalar type, bool maximum, Id a, Id b);

/// From the bits: compilers may assume that a float is a number.
Id is_nan(Module& module, ir::Scalar type, Id a);

}  // namespace salvo::codegen::spirv
