// Prints one pure operation of the IR as a WGSL expression.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "codegen/wgsl/helpers.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::wgsl {

/// Text of a constant, for any place in an expression.
std::string constant(ir::Scalar type, std::uint64_t bits, Helpers& helpers);

/// Arithmetic, bits, comparisons, select, casts and math. `operands` hold names or parenthesised
/// text, in the node's order. The kernel holds no math that `expand_math_single` would write out.
std::string expression(const ir::Kernel& kernel, const ir::Node& node,
                       std::span<const std::string> operands, Helpers& helpers);

}  // namespace salvo::codegen::wgsl
