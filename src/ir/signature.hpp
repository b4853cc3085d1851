// Operand types of the regular operations: those whose operands are all of one type.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "salvo/ir.hpp"

namespace salvo::ir {

using TypeClass = bool (*)(Scalar);

struct Signature {
  int operands = -1;            // all of the first operand's type; -1: not a regular operation
  TypeClass allowed = nullptr;  // for that type
  std::string_view allowed_words;
  bool bool_result = false;  // otherwise the result is of the operands' type
};

Signature signature(Op op) noexcept;

}  // namespace salvo::ir
