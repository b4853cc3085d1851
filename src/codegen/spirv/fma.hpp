// Multiply-adds that round once, for devices whose own instruction may round twice.
// SPDX-License-Identifier: MIT
#pragma once

#include "codegen/spirv/module.hpp"

namespace salvo::codegen::spirv {

/// a * b + c on F32, rounded once. The device needs F64.
Id fma_in_f64(Module& module, Id a, Id b, Id c);

/// a * b + c on F64, by pairs of numbers. Rounded once unless a step leaves the range of F64: below
/// 2^-968 a product's error is no number, and above 2^996 a factor cannot be split; the latter, and
/// what is infinite or no number, is a product and a sum.
Id fma_in_pairs(Module& module, Id a, Id b, Id c);

}  // namespace salvo::codegen::spirv
