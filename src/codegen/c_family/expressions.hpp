// Prints one pure operation of the IR as a C expression.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/c_family/dialect.hpp"
#include "codegen/c_family/helpers.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::c_family {

/// The operator that stands between the operands of arithmetic, bit operations, shifts and
/// comparisons; empty for other operations.
std::string_view symbol(ir::Op op);

/// Arithmetic, bits, comparisons, select, casts and math. `operands` hold names or parenthesised
/// text, in the node's order. Signed integers wrap by way of their unsigned type.
std::string expression(const ir::Kernel& kernel, const ir::Node& node,
                       std::span<const std::string> operands, const Dialect& dialect,
                       Helpers& helpers);

}  // namespace salvo::codegen::c_family
