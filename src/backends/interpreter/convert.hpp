// Conversions between compute types, and between values and the elements that store them.
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/interpreter/lanes.hpp"
#include "salvo/ir.hpp"

namespace salvo::backends::interpreter {

/// Op::Cast between compute types; null for others.
LaneFunction cast_function(ir::Scalar to, ir::Scalar from);

/// From the bytes of an element, zero-extended, to the value; null where they are the same.
LaneFunction widen_function(ir::Scalar element);
/// From a value to the element's bytes in the low end; null where plain truncation does it.
LaneFunction narrow_function(ir::Scalar element);

/// IEEE binary16 and bfloat16: to the nearest, ties to even; past the largest finite value gives
/// infinity, denormals are kept, a NaN stays a (quiet) NaN.
std::uint16_t to_f16(float value) noexcept;
std::uint16_t to_bf16(float value) noexcept;
float from_f16(std::uint16_t bits) noexcept;
float from_bf16(std::uint16_t bits) noexcept;

}  // namespace salvo::backends::interpreter
