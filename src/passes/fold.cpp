// Evaluates operations on integer and Bool constants as every target does.
// SPDX-License-Identifier: MIT
#include "passes/fold.hpp"

#include <algorithm>

#include "ir/kernel.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;

unsigned width(Scalar type) {
  return static_cast<unsigned>(8 * size_of(type));
}

std::uint64_t truncate(Scalar type, std::uint64_t bits) {
  if (type == Scalar::Bool) return bits & 1;
  return width(type) == 64 ? bits : bits & ((std::uint64_t{1} << width(type)) - 1);
}

// The same number in 64 bits.
std::uint64_t extend(Literal value) {
  if (value.type == Scalar::I32) {
    return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value.bits)});
  }
  return value.bits;
}

std::uint64_t magnitude(std::uint64_t bits) {
  return static_cast<std::int64_t>(bits) < 0 ? 0 - bits : bits;
}

// Division toward zero on magnitudes: no pair of operands overflows or traps.
std::uint64_t divide(bool with_sign, std::uint64_t a, std::uint64_t b) {
  if (b == 0) return 0;
  if (!with_sign) return a / b;
  const std::uint64_t quotient = magnitude(a) / magnitude(b);
  return static_cast<std::int64_t>(a ^ b) < 0 ? 0 - quotient : quotient;
}

bool less(bool with_sign, std::uint64_t a, std::uint64_t b) {
  return with_sign ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
}

std::optional<std::uint64_t> unary(Op op, Scalar type, std::uint64_t a) {
  switch (op) {
    case Op::Neg:
      return 0 - a;
    case Op::Abs:
      return is_signed(type) ? magnitude(a) : a;
    case Op::Not:
      return ~a;
    default:
      return std::nullopt;
  }
}

std::optional<std::uint64_t> binary(Op op, Scalar type, std::uint64_t a, std::uint64_t b) {
  const bool with_sign = is_signed(type);
  const std::uint64_t count = b % width(type);
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return divide(with_sign, a, b);
    case Op::Rem:
      return a - divide(with_sign, a, b) * b;
    case Op::Min:
      return less(with_sign, b, a) ? b : a;
    case Op::Max:
      return less(with_sign, a, b) ? b : a;
    case Op::And:
      return a & b;
    case Op::Or:
      return a | b;
    case Op::Xor:
      return a ^ b;
    case Op::Shl:
      return a << count;
    case Op::Shr:
      return with_sign ? static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> count)
                       : a >> count;
    case Op::ShrLogical:
      return truncate(type, a) >> count;
    case Op::Eq:
      return a == b ? 1 : 0;
    case Op::Ne:
      return a != b ? 1 : 0;
    case Op::Lt:
      return less(with_sign, a, b) ? 1 : 0;
    case Op::Le:
      return less(with_sign, b, a) ? 0 : 1;
    case Op::Gt:
      return less(with_sign, b, a) ? 1 : 0;
    case Op::Ge:
      return less(with_sign, a, b) ? 0 : 1;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::uint64_t> fold(Op op, Scalar result, std::span<const Literal> operands) {
  const bool has_float = std::any_of(operands.begin(), operands.end(),
                                     [](const Literal& l) { return is_float(l.type); });
  if (has_float || is_float(result) || operands.empty()) return std::nullopt;
  const Scalar type = operands[0].type;
  const std::uint64_t a = extend(operands[0]);
  std::optional<std::uint64_t> bits;
  if (op == Op::Cast) {
    bits = result == Scalar::Bool ? std::uint64_t{a != 0} : a;
  } else if (operands.size() == 1) {
    bits = unary(op, type, a);
  } else if (operands.size() == 2) {
    bits = binary(op, type, a, extend(operands[1]));
  }
  if (bits) bits = truncate(result, *bits);
  return bits;
}

}  // namespace salvo::passes
