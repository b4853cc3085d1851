// PTX for the pure operations of the IR.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/arithmetic.hpp"

#include <bit>

#include <fmt/ranges.h>

namespace salvo::codegen::ptx {

using ir::Op;
using ir::Scalar;

std::string_view type_name(Scalar type) noexcept {
  switch (type) {
    case Scalar::I32:
      return "s32";
    case Scalar::U32:
      return "u32";
    case Scalar::I64:
      return "s64";
    case Scalar::U64:
      return "u64";
    case Scalar::F32:
      return "f32";
    case Scalar::F64:
      return "f64";
    default:
      return "pred";
  }
}

std::string_view bits_name(Scalar type) noexcept {
  if (type == Scalar::Bool) return "pred";
  return ir::size_of(type) == 8 ? "b64" : "b32";
}

bool has_instruction(Op op) noexcept {
  if (!ir::is_math(op)) return true;
  switch (op) {
    case Op::Sqrt:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
    case Op::Copysign:
    case Op::IsNan:
    case Op::IsInf:
      return true;
    default:
      return false;
  }
}

std::string Arithmetic::constant(Scalar type, std::uint64_t bits) {
  std::string result = to_.fresh(type);
  switch (type) {
    case Scalar::Bool:
      to_.put("setp.ne.b32 {}, {}, 0", result, bits != 0 ? 1 : 0);
      break;
    case Scalar::F32:
      to_.put("mov.f32 {}, 0f{:08X}", result, static_cast<std::uint32_t>(bits));
      break;
    case Scalar::F64:
      to_.put("mov.f64 {}, 0d{:016X}", result, bits);
      break;
    case Scalar::I64:
    case Scalar::U64:
      to_.put("mov.b64 {}, 0x{:x}", result, bits);
      break;
    default:
      to_.put("mov.b32 {}, 0x{:x}", result, static_cast<std::uint32_t>(bits));
      break;
  }
  return result;
}

std::string Arithmetic::low_word(Scalar type, const std::string& value) {
  if (ir::size_of(type) != 8) return value;
  std::string word = to_.fresh(Bank::b32);
  to_.put("cvt.u32.u64 {}, {}", word, value);
  return word;
}

std::string Arithmetic::unary(std::string_view instruction, Scalar type, const std::string& a) {
  std::string result = to_.fresh(type);
  to_.put("{}.{} {}, {}", instruction, type_name(type), result, a);
  return result;
}

std::string Arithmetic::binary(Op op, Scalar type, const std::string& a, const std::string& b) {
  std::string result = to_.fresh(type);
  const bool floating = ir::is_float(type);
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul: {
      const std::string_view how = floating ? rounding_ : op == Op::Mul ? ".lo" : "";
      to_.put("{}{}.{} {}, {}, {}", ir::name(op), how, type_name(type), result, a, b);
      break;
    }
    default:
      // On floats these are IEEE minNum and maxNum with -0 below +0, as the IR asks.
      to_.put("{}.{} {}, {}, {}", ir::name(op), type_name(type), result, a, b);
      break;
  }
  return result;
}

std::string Arithmetic::select(Scalar type, const std::string& condition, const std::string& yes,
                               const std::string& no) {
  std::string result = to_.fresh(type);
  if (type != Scalar::Bool) {
    to_.put("selp.{} {}, {}, {}, {}", ir::is_float(type) ? type_name(type) : bits_name(type),
            result, yes, no, condition);
    return result;
  }
  const std::string not_condition = to_.fresh(Bank::predicate);
  const std::string first = to_.fresh(Bank::predicate);
  const std::string second = to_.fresh(Bank::predicate);
  to_.put("not.pred {}, {}", not_condition, condition);
  to_.put("and.pred {}, {}, {}", first, condition, yes);
  to_.put("and.pred {}, {}, {}", second, not_condition, no);
  to_.put("or.pred {}, {}, {}", result, first, second);
  return result;
}

std::string Arithmetic::integer_division(bool remainder, Scalar type, const std::string& a,
                                         const std::string& b) {
  const std::string_view bits = bits_name(type);
  const std::string by_zero = to_.fresh(Bank::predicate);
  const std::string divisor = to_.fresh(type);
  to_.put("setp.eq.{} {}, {}, 0", bits, by_zero, b);
  // Divided by one instead, the remainder of what overflows comes out right by itself.
  to_.put("selp.{} {}, 1, {}, {}", bits, divisor, b, by_zero);
  std::string result = to_.fresh(type);
  if (!ir::is_signed(type)) {
    const std::string raw = to_.fresh(type);
    to_.put("{}.{} {}, {}, {}", remainder ? "rem" : "div", type_name(type), raw, a, divisor);
    to_.put("selp.{} {}, {}, {}, {}", bits, result, remainder ? a : "0", raw, by_zero);
    return result;
  }
  const std::string by_minus_one = to_.fresh(Bank::predicate);
  const std::string safe = to_.fresh(type);
  const std::string raw = to_.fresh(type);
  const std::string signed_raw = to_.fresh(type);
  to_.put("setp.eq.{} {}, {}, -1", bits, by_minus_one, b);
  to_.put("selp.{} {}, 1, {}, {}", bits, safe, divisor, by_minus_one);
  to_.put("{}.{} {}, {}, {}", remainder ? "rem" : "div", type_name(type), raw, a, safe);
  if (remainder) {
    to_.put("selp.{} {}, {}, {}, {}", bits, result, a, raw, by_zero);
    return result;
  }
  const std::string negated = to_.fresh(type);
  to_.put("neg.{} {}, {}", type_name(type), negated, a);
  to_.put("selp.{} {}, {}, {}, {}", bits, signed_raw, negated, raw, by_minus_one);
  to_.put("selp.{} {}, 0, {}, {}", bits, result, signed_raw, by_zero);
  return result;
}

std::string Arithmetic::divide_by(Op op, Scalar type, const std::string& a, std::uint64_t divisor) {
  const std::size_t width = ir::size_of(type) * 8;
  std::string result = to_.fresh(type);
  const bool positive = !ir::is_signed(type) || divisor >> (width - 1) == 0;
  if (!positive || !std::has_single_bit(divisor)) {
    to_.put("{}.{} {}, {}, {}", ir::name(op), type_name(type), result, a,
            ir::is_signed(type) && width == 32
                ? static_cast<std::int64_t>(static_cast<std::int32_t>(divisor))
                : static_cast<std::int64_t>(divisor));
    return result;
  }
  // The assembler leaves divisions by powers of two as they are.
  const int places = std::countr_zero(divisor);
  std::string from_zero = a;  // so that a shift rounds toward zero
  if (ir::is_signed(type) && places > 0) {
    const std::string sign = to_.fresh(type);
    const std::string ones = to_.fresh(type);
    from_zero = to_.fresh(type);
    to_.put("shr.s{} {}, {}, {}", width, sign, a, width - 1);
    to_.put("shr.u{} {}, {}, {}", width, ones, sign, width - static_cast<std::size_t>(places));
    to_.put("add.{} {}, {}, {}", type_name(type), from_zero, a, ones);
  }
  if (op == Op::Div) {
    to_.put("shr.{} {}, {}, {}", type_name(type), result, from_zero, places);
    return result;
  }
  const std::string whole = to_.fresh(type);
  to_.put("and.b{} {}, {}, {}", width, whole, from_zero, -static_cast<std::int64_t>(divisor));
  to_.put("sub.{} {}, {}, {}", type_name(type), result, a, whole);
  return result;
}

std::string Arithmetic::shift(Op op, Scalar type, const std::string& a, const std::string& count) {
  const std::string masked = to_.fresh(Bank::b32);
  to_.put("and.b32 {}, {}, {}", masked, count, ir::size_of(type) * 8 - 1);
  std::string result = to_.fresh(type);
  const std::size_t width = ir::size_of(type) * 8;
  if (op == Op::Shl) {
    to_.put("shl.b{} {}, {}, {}", width, result, a, masked);
  } else {
    const bool arithmetic = op == Op::Shr && ir::is_signed(type);
    to_.put("shr.{}{} {}, {}, {}", arithmetic ? 's' : 'u', width, result, a, masked);
  }
  return result;
}

std::string Arithmetic::compare(Op op, Scalar type, const std::string& a, const std::string& b) {
  std::string result = to_.fresh(Bank::predicate);
  if (type == Scalar::Bool) {
    if (op == Op::Ne) {
      to_.put("xor.pred {}, {}, {}", result, a, b);
      return result;
    }
    const std::string differ = to_.fresh(Bank::predicate);
    to_.put("xor.pred {}, {}, {}", differ, a, b);
    to_.put("not.pred {}, {}", result, differ);
    return result;
  }
  const std::string_view how = op == Op::Ne && ir::is_float(type) ? "neu" : ir::name(op);
  to_.put("setp.{}.{} {}, {}, {}", how, type_name(type), result, a, b);
  return result;
}

std::string Arithmetic::cast(Scalar to, Scalar from, const std::string& a) {
  if (to == from) return a;
  std::string result = to_.fresh(to);
  if (from == Scalar::Bool) {
    if (to == Scalar::F32) {
      to_.put("selp.f32 {}, 0f3F800000, 0f00000000, {}", result, a);
    } else if (to == Scalar::F64) {
      to_.put("selp.f64 {}, 0d3FF0000000000000, 0d0000000000000000, {}", result, a);
    } else {
      to_.put("selp.{} {}, 1, 0, {}", bits_name(to), result, a);
    }
    return result;
  }
  if (to == Scalar::Bool) {
    if (from == Scalar::F32) {
      to_.put("setp.neu.f32 {}, {}, 0f00000000", result, a);
    } else if (from == Scalar::F64) {
      to_.put("setp.neu.f64 {}, {}, 0d0000000000000000", result, a);
    } else {
      to_.put("setp.ne.{} {}, {}, 0", bits_name(from), result, a);
    }
    return result;
  }
  const bool from_float = ir::is_float(from);
  const bool to_float = ir::is_float(to);
  if (!from_float && !to_float) {
    if (ir::size_of(to) == ir::size_of(from)) return a;
    to_.put("cvt.{}.{} {}, {}", type_name(to), type_name(from), result, a);
  } else if (from_float && to_float) {
    to_.put("cvt{}.{}.{} {}, {}", to == Scalar::F32 ? ".rn" : "", type_name(to), type_name(from),
            result, a);
  } else if (to_float) {
    to_.put("cvt.rn.{}.{} {}, {}", type_name(to), type_name(from), result, a);
  } else {
    // The conversion saturates by itself, but what it makes of NaN differs between types.
    const std::string raw = to_.fresh(to);
    const std::string is_nan = to_.fresh(Bank::predicate);
    to_.put("cvt.rzi.{}.{} {}, {}", type_name(to), type_name(from), raw, a);
    to_.put("setp.nan.{} {}, {}, {}", type_name(from), is_nan, a, a);
    to_.put("selp.{} {}, 0, {}, {}", bits_name(to), result, raw, is_nan);
  }
  return result;
}

std::string Arithmetic::bitcast(Scalar to, Scalar from, const std::string& value) {
  if (bank_of(to) == bank_of(from)) return value;
  std::string result = to_.fresh(to);
  to_.put("mov.{} {}, {}", bits_name(to), result, value);
  return result;
}

std::string Arithmetic::count_bits(std::string_view instruction, Scalar type,
                                   const std::string& a) {
  const std::string count = to_.fresh(Bank::b32);
  to_.put("{}.{} {}, {}", instruction, bits_name(type), count, a);
  return cast(type, Scalar::U32, count);
}

std::string Arithmetic::absolute(Scalar type, const std::string& a) {
  if (ir::is_float(type)) return unary("abs", type, a);
  if (!ir::is_signed(type)) return a;
  // The most negative number stays as it is.
  const std::string negated = unary("neg", type, a);
  const std::string negative = to_.fresh(Bank::predicate);
  to_.put("setp.lt.{} {}, {}, 0", type_name(type), negative, a);
  return select(type, negative, negated, a);
}

std::string Arithmetic::round(Scalar type, const std::string& a) {
  // Half away from zero; adding a half first would round up what lies just below one.
  const std::string_view t = type_name(type);
  const std::string whole = to_.fresh(type);
  const std::string fraction = to_.fresh(type);
  const std::string distance = to_.fresh(type);
  const std::string away = to_.fresh(Bank::predicate);
  const std::string one = to_.fresh(type);
  const std::string next = to_.fresh(type);
  const bool wide = type == Scalar::F64;
  to_.put("cvt.rzi.{0}.{0} {1}, {2}", t, whole, a);
  to_.put("sub{}.{} {}, {}, {}", rounding_, t, fraction, a, whole);
  to_.put("abs.{} {}, {}", t, distance, fraction);
  to_.put("setp.ge.{} {}, {}, {}", t, away, distance, wide ? "0d3FE0000000000000" : "0f3F000000");
  to_.put("copysign.{} {}, {}, {}", t, one, a, wide ? "0d3FF0000000000000" : "0f3F800000");
  to_.put("add{}.{} {}, {}, {}", rounding_, t, next, whole, one);
  return select(type, away, next, whole);
}

std::string Arithmetic::operation(const ir::Node& node, Scalar operand_type,
                                  std::span<const std::string> operands) {
  const Scalar type = node.type;
  const std::string& a = operands[0];
  if (ir::is_comparison(node.op)) return compare(node.op, operand_type, a, operands[1]);
  const auto instruction = [&](std::string_view text) {
    std::string result = to_.fresh(type);
    to_.put("{} {}, {}", text, result, fmt::join(operands, ", "));
    return result;
  };
  switch (node.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
      return binary(node.op, type, a, operands[1]);
    case Op::Div:
      if (ir::is_float(type)) return instruction(fmt::format("div.rn.{}", type_name(type)));
      return integer_division(false, type, a, operands[1]);
    case Op::Rem:
      return integer_division(true, type, a, operands[1]);
    case Op::Neg:
      if (ir::is_float(type)) return unary("neg", type, a);
      return instruction(fmt::format("neg.s{}", ir::size_of(type) * 8));
    case Op::Abs:
      return absolute(type, a);
    case Op::Fma:
      return instruction(fmt::format("fma.rn.{}", type_name(type)));
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Not:
      return instruction(fmt::format("{}.{}", ir::name(node.op), bits_name(type)));
    case Op::Clz:
      return count_bits("clz", type, a);
    case Op::Popcount:
      return count_bits("popc", type, a);
    case Op::Select:
      return select(type, a, operands[1], operands[2]);
    case Op::Cast:
      return cast(type, operand_type, a);
    case Op::Bitcast:
      return bitcast(type, operand_type, a);
    case Op::Sqrt:
      return unary("sqrt.rn", type, a);
    case Op::Floor:
      return instruction(fmt::format("cvt.rmi.{0}.{0}", type_name(type)));
    case Op::Ceil:
      return instruction(fmt::format("cvt.rpi.{0}.{0}", type_name(type)));
    case Op::Trunc:
      return instruction(fmt::format("cvt.rzi.{0}.{0}", type_name(type)));
    case Op::Round:
      return round(type, a);
    case Op::Copysign: {
      std::string result = to_.fresh(type);
      to_.put("copysign.{} {}, {}, {}", type_name(type), result, operands[1], a);
      return result;
    }
    case Op::IsNan: {
      std::string result = to_.fresh(Bank::predicate);
      to_.put("setp.nan.{} {}, {}, {}", type_name(operand_type), result, a, a);
      return result;
    }
    case Op::IsInf: {
      std::string result = to_.fresh(Bank::predicate);
      to_.put("testp.infinite.{} {}, {}", type_name(operand_type), result, a);
      return result;
    }
    default:
      return shift(node.op, type, a, operands[1]);
  }
}

}  // namespace salvo::codegen::ptx
