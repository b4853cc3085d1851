// Pure operations of the IR in LLVM's instructions, on single values and on vectors alike.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/arithmetic.hpp"

#include <array>

#include "salvo/error.hpp"

namespace salvo::codegen::llvm {

using ir::Node;
using ir::Op;
using ir::Scalar;

namespace {

const char* predicate(Op op, Scalar type) {
  const bool floats = ir::is_float(type);
  const bool sign = ir::is_signed(type);
  switch (op) {
    case Op::Eq:
      return floats ? "fcmp oeq" : "icmp eq";
    case Op::Ne:
      return floats ? "fcmp une" : "icmp ne";
    case Op::Lt:
      return floats ? "fcmp olt" : sign ? "icmp slt" : "icmp ult";
    case Op::Le:
      return floats ? "fcmp ole" : sign ? "icmp sle" : "icmp ule";
    case Op::Gt:
      return floats ? "fcmp ogt" : sign ? "icmp sgt" : "icmp ugt";
    default:
      return floats ? "fcmp oge" : sign ? "icmp sge" : "icmp uge";
  }
}

}  // namespace

Scalar Arithmetic::bits_type(Scalar float_type) {
  return ir::size_of(float_type) == 8 ? Scalar::U64 : Scalar::U32;
}

Text Arithmetic::intrinsic(const char* name, Scalar type, std::span<const Text> operands,
                           unsigned n) {
  const Text t = w_.type(type, n);
  const std::string full = fmt::format("llvm.{}.{}", name, Writer::suffix(Writer::scalar(type), n));
  switch (operands.size()) {
    case 1:
      return w_.call(t, full, {{t, operands[0]}});
    case 2:
      return w_.call(t, full, {{t, operands[0]}, {t, operands[1]}});
    default:
      return w_.call(t, full, {{t, operands[0]}, {t, operands[1]}, {t, operands[2]}});
  }
}

Text Arithmetic::compare(const char* words, Scalar type, const Text& a, const Text& b, unsigned n) {
  return w_.let("{} {} {}, {}", words, w_.type(type, n), a, b);
}

Text Arithmetic::binary(const char* instruction, Scalar type, const Text& a, const Text& b,
                        unsigned n) {
  return w_.let("{} {} {}, {}", instruction, w_.type(type, n), a, b);
}

Text Arithmetic::select(Scalar type, const Text& condition, const Text& yes, const Text& no,
                        unsigned n) {
  const Text t = w_.type(type, n);
  return w_.let("select {} {}, {} {}, {} {}", Writer::vector_of("i1", n), condition, t, yes, t, no);
}

Text Arithmetic::convert(const char* instruction, std::string_view from, const Text& value,
                         std::string_view to, unsigned n) {
  return w_.let("{} {} {} to {}", instruction, Writer::vector_of(from, n), value,
                Writer::vector_of(to, n));
}

Text Arithmetic::bits(Scalar float_type, const Text& value, unsigned n) {
  return convert("bitcast", Writer::scalar(float_type), value,
                 Writer::scalar(bits_type(float_type)), n);
}

// IEEE's minNum and maxNum with -0 below +0, which no one instruction promises.
Text Arithmetic::lesser(bool max, Scalar type, const Text& a, const Text& b, unsigned n) {
  if (!ir::is_float(type)) {
    const std::array<Text, 2> operands{a, b};
    const char* name = ir::is_signed(type) ? (max ? "smax" : "smin") : (max ? "umax" : "umin");
    return intrinsic(name, type, operands, n);
  }
  const Text better = compare(max ? "fcmp ogt" : "fcmp olt", type, a, b, n);
  Text result = select(type, better, a, b, n);
  // Equal values differ in the sign of zero only: or-ed bits have the minus, and-ed ones the plus.
  const Scalar whole = bits_type(type);
  const Text joined = binary(max ? "and" : "or", whole, bits(type, a, n), bits(type, b, n), n);
  const Text zero = convert("bitcast", Writer::scalar(whole), joined, Writer::scalar(type), n);
  result = select(type, compare("fcmp oeq", type, a, b, n), zero, result, n);
  return select(type, compare("fcmp uno", type, b, b, n), a, result, n);
}

Text Arithmetic::divide(const Node& node, std::span<const Text> operands, unsigned n,
                        const Node* divisor) {
  const Scalar type = node.type;
  const bool rest = node.op == Op::Rem;
  const bool sign = ir::is_signed(type);
  const char* instruction = rest ? (sign ? "srem" : "urem") : (sign ? "sdiv" : "udiv");
  const std::uint64_t ones = ir::size_of(type) == 8 ? ~std::uint64_t{0} : 0xffffffff;
  if (divisor != nullptr && divisor->literal != 0 && !(sign && divisor->literal == ones)) {
    return binary(instruction, type, operands[0], operands[1], n);
  }
  const Text zero = w_.constant(type, 0, n);
  const Text one = w_.constant(type, 1, n);
  const Text minus_one = w_.constant(type, ones, n);
  const Text by_zero = compare("icmp eq", type, operands[1], zero, n);
  Text safe = select(type, by_zero, one, operands[1], n);
  Text by_minus_one;
  if (sign) {
    // The lowest number divided by -1 has no result, and traps.
    by_minus_one = compare("icmp eq", type, operands[1], minus_one, n);
    safe = select(type, by_minus_one, one, safe, n);
  }
  Text result = binary(instruction, type, operands[0], safe, n);
  if (sign) {
    const Text negated = rest ? zero : binary("sub", type, zero, operands[0], n);
    result = select(type, by_minus_one, negated, result, n);
  }
  return select(type, by_zero, rest ? operands[0] : zero, result, n);
}

Text Arithmetic::shift_count(Scalar type, Scalar count_type, const Text& count, unsigned n) {
  Text wide = count;
  if (ir::size_of(count_type) != ir::size_of(type)) {
    wide = convert(ir::size_of(count_type) > ir::size_of(type) ? "trunc" : "zext",
                   Writer::scalar(count_type), count, Writer::scalar(type), n);
  }
  return binary("and", type, wide, w_.constant(type, 8 * ir::size_of(type) - 1, n), n);
}

Text Arithmetic::combine(Op op, Scalar type, const Text& a, const Text& b, unsigned n) {
  const bool floats = ir::is_float(type);
  switch (op) {
    case Op::Add:
      return binary(floats ? "fadd" : "add", type, a, b, n);
    case Op::Sub:
      return binary(floats ? "fsub" : "sub", type, a, b, n);
    case Op::Min:
      return lesser(false, type, a, b, n);
    case Op::Max:
      return lesser(true, type, a, b, n);
    case Op::And:
      return binary("and", type, a, b, n);
    case Op::Or:
      return binary("or", type, a, b, n);
    default:
      return binary("xor", type, a, b, n);
  }
}

Text Arithmetic::operation(const Node& node, Scalar from, std::span<const Text> operands,
                           unsigned n, const Node* divisor) {
  const Scalar type = node.type;
  const bool floats = ir::is_float(type);
  const Text& a = operands[0];
  switch (node.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Min:
    case Op::Max:
    case Op::And:
    case Op::Or:
    case Op::Xor:
      return combine(node.op, type, a, operands[1], n);
    case Op::Mul:
      return binary(floats ? "fmul" : "mul", type, a, operands[1], n);
    case Op::Div:
      if (floats) return binary("fdiv", type, a, operands[1], n);
      return divide(node, operands, n, divisor);
    case Op::Rem:
      return divide(node, operands, n, divisor);
    case Op::Neg:
      if (floats) return w_.let("fneg {} {}", w_.type(type, n), a);
      return binary("sub", type, w_.constant(type, 0, n), a, n);
    case Op::Abs: {
      if (floats) return intrinsic("fabs", type, operands, n);
      if (!ir::is_signed(type)) return a;
      const Text negated = binary("sub", type, w_.constant(type, 0, n), a, n);
      const Text below = compare("icmp slt", type, a, w_.constant(type, 0, n), n);
      return select(type, below, negated, a, n);
    }
    case Op::Fma:
      return intrinsic("fma", type, operands, n);
    case Op::Not: {
      const std::uint64_t ones = type == Scalar::Bool ? 1 : ~std::uint64_t{0};
      return binary("xor", type, a, w_.constant(type, ones, n), n);
    }
    case Op::Shl:
      return binary("shl", type, a, operands[1], n);
    case Op::Shr:
      return binary(ir::is_signed(type) ? "ashr" : "lshr", type, a, operands[1], n);
    case Op::ShrLogical:
      return binary("lshr", type, a, operands[1], n);
    case Op::Clz: {
      const Text t = w_.type(type, n);
      return w_.call(t, fmt::format("llvm.ctlz.{}", Writer::suffix(Writer::scalar(type), n)),
                     {{t, a}, {"i1", "false"}});
    }
    case Op::Popcount:
      return intrinsic("ctpop", type, operands, n);
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
      return compare(predicate(node.op, from), from, a, operands[1], n);
    case Op::Select:
      return select(type, a, operands[1], operands[2], n);
    case Op::Cast:
      return cast(type, from, a, n);
    case Op::Bitcast:
      if (Writer::scalar(type) == Writer::scalar(from)) return a;
      return convert("bitcast", Writer::scalar(from), a, Writer::scalar(type), n);
    case Op::Sqrt:
      return intrinsic("sqrt", type, operands, n);
    case Op::Floor:
      return intrinsic("floor", type, operands, n);
    case Op::Ceil:
      return intrinsic("ceil", type, operands, n);
    case Op::Round:
      return intrinsic("round", type, operands, n);
    case Op::Trunc:
      return intrinsic("trunc", type, operands, n);
    case Op::Copysign:
      return intrinsic("copysign", type, operands, n);
    case Op::IsNan:
      return compare("fcmp uno", from, a, a, n);
    case Op::IsInf: {
      const std::uint64_t infinity =
          from == Scalar::F64 ? 0x7ff0'0000'0000'0000 : std::uint64_t{0x7f80'0000};
      const Text size = intrinsic("fabs", from, operands, n);
      return compare("fcmp oeq", from, size, w_.constant(from, infinity, n), n);
    }
    default:
      throw Error(Errc::unsupported,
                  fmt::format("{} has no form in LLVM's instructions", ir::name(node.op)));
  }
}

Text Arithmetic::cast(Scalar to, Scalar from, const Text& value, unsigned n) {
  if (to == from) return value;
  const std::string_view source = Writer::scalar(from);
  const std::string_view target = Writer::scalar(to);
  if (to == Scalar::Bool) {
    return compare(ir::is_float(from) ? "fcmp une" : "icmp ne", from, value,
                   w_.constant(from, 0, n), n);
  }
  if (ir::is_float(from)) {
    if (to == Scalar::F64) return convert("fpext", source, value, target, n);
    if (to == Scalar::F32) return convert("fptrunc", source, value, target, n);
    // Saturates, and makes NaN zero.
    return w_.call(w_.type(to, n),
                   fmt::format("llvm.fpto{}i.sat.{}.{}", ir::is_signed(to) ? 's' : 'u',
                               Writer::suffix(target, n), Writer::suffix(source, n)),
                   {{w_.type(from, n), value}});
  }
  if (ir::is_float(to)) {
    return convert(ir::is_signed(from) ? "sitofp" : "uitofp", source, value, target, n);
  }
  if (source == target) return value;
  if (from == Scalar::Bool || ir::size_of(to) > ir::size_of(from)) {
    return convert(ir::is_signed(from) ? "sext" : "zext", source, value, target, n);
  }
  return convert("trunc", source, value, target, n);
}

}  // namespace salvo::codegen::llvm
