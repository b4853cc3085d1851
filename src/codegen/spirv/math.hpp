// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// Sqrt, Floor, Ceil and Trunc; others are expanded before, or refused by name: GLSL.std.450 states
/// no bound that a program for computing could rely on.
Id math(Module& module, const ir::Node& node, std::span<const Id> operands);

}  // namespace salvo::codegen::spirv
