// Transcendental functions of F32 as F64 arithmetic.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "passes/expand_values.hpp"

namespace salvo::passes {

/// `op` of F32 arguments that were cast to F64, in F64; none if it is not one of those here.
std::optional<Value> function_in_f64(ir::Op op, Value x);
std::optional<Value> function_in_f64(ir::Op op, Value x, Value y);

}  // namespace salvo::passes
