// What each pure operation computes, exactly as include/salvo/ir.hpp defines it.
// SPDX-License-Identifier: MIT
//
// Add, Sub, Mul, Div, Fma, Sqrt, Floor, Ceil, Round, Trunc and Fmod are correctly rounded. The
// other math functions on F32 are computed by the double function and rounded once, which is the
// correctly rounded result but for about one argument in a hundred million (Rsqrt: 1 / sqrt in
// double); on F64 they are those of the host's libm. NaN payloads and the sign of a NaN carry no
// promise.
#pragma once

#include "backends/interpreter/lanes.hpp"
#include "salvo/ir.hpp"

namespace salvo::backends::interpreter {

/// The function that computes `op` with result type `result` on operands of type `operand` (Select:
/// that of its values). Null where the operation is not pure, is a leaf, or is not defined on those
/// types.
LaneFunction lane_function(ir::Op op, ir::Scalar result, ir::Scalar operand);

/// The part of `lane_function` for Sqrt .. IsInf.
LaneFunction math_function(ir::Op op, ir::Scalar operand);

/// One value of `lane_function`, which must not be null.
std::uint64_t evaluate(LaneFunction function, std::uint64_t a, std::uint64_t b = 0,
                       std::uint64_t c = 0);

}  // namespace salvo::backends::interpreter
