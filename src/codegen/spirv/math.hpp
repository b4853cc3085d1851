// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// Sqrt .. Trunc, by instructions of GLSL.std.450.
Id math(Module& module, const ir::Node& node, std::span<const Id> operands);

}  // namespace salvo::codegen::spirv
