// Emits the math functions of the IR.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// Sqrt, Floor, Ceil and Trunc in a shader, where others are expanded before: GLSL.std.450 states
/// no bound that a program for computing could rely on. A kernel's library has them all.
Id math(Module& module, const ir::Node& node, std::span<const Id> operands);

/// A user's intrinsic: its template is "GLSL.std.450" and the number of an instruction, because
/// there is no text in SPIR-V. Throws Errc::unsupported for another, and for native code.
Id user_code(Module& m, const ir::Node& node, std::span<const Id> in);

}  // namespace salvo::codegen::spirv
