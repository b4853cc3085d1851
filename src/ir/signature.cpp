// Operand types of the regular operations: those whose operands are all of one type.
// SPDX-License-Identifier: MIT
#include "ir/signature.hpp"

#include "ir/kernel.hpp"

namespace salvo::ir {
namespace {

bool is_any(Scalar) {
  return true;
}
bool is_bool(Scalar type) {
  return type == Scalar::Bool;
}
bool is_number(Scalar type) {
  return type != Scalar::Bool;
}
bool is_bits(Scalar type) {
  return type == Scalar::Bool || is_integer(type);
}

}  // namespace

Signature signature(Op op) noexcept {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Min:
    case Op::Max:
      return {2, is_number, "a number"};
    case Op::Rem:
      return {2, is_integer, "an integer"};
    case Op::Neg:
    case Op::Abs:
    case Op::WarpAdd:
    case Op::WarpMin:
    case Op::WarpMax:
      return {1, is_number, "a number"};
    case Op::Fma:
      return {3, is_float, "a float"};
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return {2, is_bits, "an integer or bool"};
    case Op::Not:
      return {1, is_bits, "an integer or bool"};
    case Op::Clz:
    case Op::Popcount:
      return {1, is_integer, "an integer"};
    case Op::Eq:
    case Op::Ne:
      return {2, is_any, "", true};
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
      return {2, is_number, "a number", true};
    case Op::Atan2:
    case Op::Pow:
    case Op::Hypot:
    case Op::Fmod:
    case Op::Copysign:
      return {2, is_float, "a float"};
    case Op::IsNan:
    case Op::IsInf:
      return {1, is_float, "a float", true};
    case Op::Any:
    case Op::All:
      return {1, is_bool, "bool", true};
    default:
      return is_math(op) ? Signature{1, is_float, "a float"} : Signature{};
  }
}

}  // namespace salvo::ir
