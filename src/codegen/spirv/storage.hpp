// Element formats: how a value of each type stands in memory (K1).
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// Integer bits a stored element takes: 8, 16, 32 or 64.
unsigned stored_bits(ir::Scalar type);

/// A value's bits as an integer of 32 or, for 8-byte types, 64 bits; narrow types are rounded, and
/// the bits above theirs are unspecified.
Id encode(Module& module, ir::Scalar type, Id value);

/// The value whose stored bits, zero-extended to 32 or 64, are `bits`.
Id decode(Module& module, ir::Scalar type, Id bits);

}  // namespace salvo::codegen::spirv
