// Evaluates operations on integer and Bool constants as every target does.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "salvo/ir.hpp"

namespace salvo::passes {

/// A constant's bits, as Node::literal holds them.
struct Literal {
  ir::Scalar type;
  std::uint64_t bits;
};

/// Bits of `op` on `operands`, of type `result`. None where a float takes part, or for operations
/// that are not arithmetic.
std::optional<std::uint64_t> fold(ir::Op op, ir::Scalar result, std::span<const Literal> operands);

}  // namespace salvo::passes
