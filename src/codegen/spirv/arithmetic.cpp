// Emits the pure operations of the IR: arithmetic, bits, comparisons, casts.
// SPDX-License-Identifier: MIT
#include "codegen/spirv/arithmetic.hpp"

#include <bit>
#include <cmath>
#include <optional>

#include "codegen/spirv/fma.hpp"
#include "codegen/spirv/math.hpp"

namespace salvo::codegen::spirv {
namespace {

using ir::Op;

Scalar bits_of(Scalar type) {
  return ir::size_of(type) == 8 ? Scalar::U64 : Scalar::U32;
}
unsigned width(Scalar type) {
  return static_cast<unsigned>(ir::size_of(type)) * 8;
}

class Pure {
 public:
  Pure(Module& m, const ir::Node& node, std::span<const Id> operands)
      : m_(m), node_(node), in_(operands), type_(node.type) {}

  Id run() {
    const Op op = node_.op;
    if (ir::is_comparison(op)) return comparison();
    switch (op) {
      case Op::Select:
        return m_.select(type_, in_[0], in_[1], in_[2]);
      case Op::Cast:
        return cast();
      case Op::Bitcast:
        return bitcast();
      case Op::Clz:
        return clz();
      case Op::Popcount:
        return popcount();
      case Op::And:
        return logical(spv::OpBitwiseAnd, spv::OpLogicalAnd);
      case Op::Or:
        return logical(spv::OpBitwiseOr, spv::OpLogicalOr);
      case Op::Xor:
        return logical(spv::OpBitwiseXor, spv::OpLogicalNotEqual);
      case Op::Not:
        return m_.emit(type_ == Scalar::Bool ? spv::OpLogicalNot : spv::OpNot, type_, {in_[0]});
      case Op::IsNan:
        return is_nan(m_, from(), in_[0]);
      case Op::IsInf:
        return is_inf();
      case Op::Copysign:
        return copysign();
      default:
        break;
    }
    if (ir::is_math(op)) return math(m_, node_, in_);
    return ir::is_float(type_) ? floating() : integer();
  }

 private:
  const ir::Node& operand(int i) const { return m_.kernel().node(node_.operands[i]); }
  Scalar from() const { return operand(0).type; }
  Id zero(Scalar type) { return m_.constant(type, 0); }
  Id binary(spv::Op op) { return m_.emit(op, type_, {in_[0], in_[1]}); }

  Id logical(spv::Op on_bits, spv::Op on_bool) {
    return binary(type_ == Scalar::Bool ? on_bool : on_bits);
  }

  Id comparison() {
    const Scalar type = from();
    const bool is_float = ir::is_float(type);
    const bool is_signed = ir::is_signed(type);
    const auto pick = [&](spv::Op f, spv::Op s, spv::Op u) {
      return m_.emit(is_float ? f : is_signed ? s : u, Scalar::Bool, {in_[0], in_[1]});
    };
    switch (node_.op) {
      case Op::Eq:
        if (type == Scalar::Bool) return binary(spv::OpLogicalEqual);
        return pick(spv::OpFOrdEqual, spv::OpIEqual, spv::OpIEqual);
      case Op::Ne:
        if (type == Scalar::Bool) return binary(spv::OpLogicalNotEqual);
        return pick(spv::OpFUnordNotEqual, spv::OpINotEqual, spv::OpINotEqual);
      case Op::Lt:
        return pick(spv::OpFOrdLessThan, spv::OpSLessThan, spv::OpULessThan);
      case Op::Le:
        return pick(spv::OpFOrdLessThanEqual, spv::OpSLessThanEqual, spv::OpULessThanEqual);
      case Op::Gt:
        return pick(spv::OpFOrdGreaterThan, spv::OpSGreaterThan, spv::OpUGreaterThan);
      default:
        return pick(spv::OpFOrdGreaterThanEqual, spv::OpSGreaterThanEqual,
                    spv::OpUGreaterThanEqual);
    }
  }

  // Floats.

  Id floating() {
    switch (node_.op) {
      case Op::Add:
        return binary(spv::OpFAdd);
      case Op::Sub:
        return binary(spv::OpFSub);
      case Op::Mul:
        return multiply();
      case Op::Div:
        return divide_floats();
      case Op::Neg:
        return m_.emit(spv::OpFNegate, type_, {in_[0]});
      case Op::Abs:
        return m_.extended(Op::Abs, type_, {in_[0]});
      case Op::Min:
        return extremum(m_, type_, false, in_[0], in_[1]);
      case Op::Max:
        return extremum(m_, type_, true, in_[0], in_[1]);
      default:
        return fma();
    }
  }

  std::optional<double> float_constant(int i) const {
    const ir::Node& node = operand(i);
    if (node.op != Op::Constant) return std::nullopt;
    return type_ == Scalar::F32 ? std::bit_cast<float>(static_cast<std::uint32_t>(node.literal))
                                : std::bit_cast<double>(node.literal);
  }

  /// By a small power of two it is repeated addition: some compilers contract the multiplication
  /// in spite of NoContraction, and then a product that overflows differs.
  Id multiply() {
    for (int i = 0; i < 2; ++i) {
      const std::optional<double> factor = float_constant(i);
      if (!factor) continue;
      const double size = std::fabs(*factor);
      if (size != 2 && size != 4 && size != 8) continue;
      Id result = in_[1 - i];
      for (double done = 1; done < size; done *= 2) {
        result = m_.emit(spv::OpFAdd, type_, {result, result});
      }
      return *factor < 0 ? m_.emit(spv::OpFNegate, type_, {result}) : result;
    }
    return binary(spv::OpFMul);
  }

  /// Whether F64 takes the place of an F32 operation that is not exact on the device.
  bool in_f64(bool exact) const { return !exact && m_.options().f64_arithmetic; }

  Id divide_floats() {
    if (type_ == Scalar::F64 || !in_f64(m_.options().exact_divide_sqrt)) return binary(spv::OpFDiv);
    // F64 has more than twice the digits: rounding its quotient again is rounding once.
    const auto wide = [&](Id a) { return m_.emit(spv::OpFConvert, Scalar::F64, {a}); };
    const Id quotient = m_.emit(spv::OpFDiv, Scalar::F64, {wide(in_[0]), wide(in_[1])});
    return m_.emit(spv::OpFConvert, Scalar::F32, {quotient});
  }

  Id fma() {
    if (in_f64(m_.options().fma_rounds_once)) {
      return type_ == Scalar::F32 ? fma_in_f64(m_, in_[0], in_[1], in_[2])
                                  : fma_in_pairs(m_, in_[0], in_[1], in_[2]);
    }
    return m_.extended(Op::Fma, type_, {in_[0], in_[1], in_[2]});
  }

  Id is_inf() {
    const Scalar type = from();
    const Id bits = magnitude_bits(type, in_[0]);
    return m_.emit(spv::OpIEqual, Scalar::Bool, {bits, m_.constant(bits_of(type), infinity(type))});
  }

  Id copysign() {
    const Scalar bits = bits_of(type_);
    const std::uint64_t sign = std::uint64_t{1} << (width(type_) - 1);
    const Id of =
        m_.emit(spv::OpBitwiseAnd, bits, {m_.bitcast(bits, in_[1]), m_.constant(bits, sign)});
    return m_.bitcast(type_, m_.emit(spv::OpBitwiseOr, bits, {magnitude_bits(type_, in_[0]), of}));
  }

  Id magnitude_bits(Scalar type, Id a) {
    const Scalar bits = bits_of(type);
    const std::uint64_t mask = (std::uint64_t{1} << (width(type) - 1)) - 1;
    return m_.emit(spv::OpBitwiseAnd, bits, {m_.bitcast(bits, a), m_.constant(bits, mask)});
  }

  static std::uint64_t infinity(Scalar type) {
    return type == Scalar::F32 ? 0x7f800000 : std::uint64_t{0x7ff} << 52;
  }

  // Integers.

  Id integer() {
    const bool is_signed = ir::is_signed(type_);
    switch (node_.op) {
      case Op::Add:
        return binary(spv::OpIAdd);
      case Op::Sub:
        return binary(spv::OpISub);
      case Op::Mul:
        return binary(spv::OpIMul);
      case Op::Div:
        return divide(false);
      case Op::Rem:
        return divide(true);
      case Op::Neg:
        return m_.emit(spv::OpISub, type_, {zero(type_), in_[0]});
      case Op::Abs:
        if (!is_signed) return in_[0];
        return m_.select(type_, m_.emit(spv::OpSLessThan, Scalar::Bool, {in_[0], zero(type_)}),
                         m_.emit(spv::OpISub, type_, {zero(type_), in_[0]}), in_[0]);
      case Op::Min:
        return extremum(m_, type_, false, in_[0], in_[1]);
      case Op::Max:
        return extremum(m_, type_, true, in_[0], in_[1]);
      case Op::Shl:
        return m_.emit(spv::OpShiftLeftLogical, type_, {in_[0], shift_count()});
      case Op::Shr:
        if (is_signed) return m_.emit(spv::OpShiftRightArithmetic, type_, {in_[0], shift_count()});
        [[fallthrough]];
      default:
        return m_.emit(spv::OpShiftRightLogical, type_, {in_[0], shift_count()});
    }
  }

  Id shift_count() {
    const Scalar type = operand(1).type;
    return m_.emit(spv::OpBitwiseAnd, type, {in_[1], m_.constant(type, width(type_) - 1)});
  }

  /// Division by zero gives 0 and the remainder the dividend; by -1 the lowest number wraps.
  Id divide(bool remainder) {
    const bool is_signed = ir::is_signed(type_);
    const std::uint64_t all = width(type_) == 64 ? ~std::uint64_t{0} : 0xffffffff;
    const ir::Node& by = operand(1);
    if (by.op == Op::Constant && (by.literal & all) != 0 &&
        !(is_signed && (by.literal & all) == all)) {
      return quotient(in_[1], remainder);
    }
    const Id one = m_.constant(type_, 1);
    const Id by_zero = m_.emit(spv::OpIEqual, Scalar::Bool, {in_[1], zero(type_)});
    Id unsafe = by_zero;
    Id by_minus_one = 0;
    if (is_signed) {
      by_minus_one = m_.emit(spv::OpIEqual, Scalar::Bool, {in_[1], m_.constant(type_, all)});
      unsafe = m_.emit(spv::OpLogicalOr, Scalar::Bool, {by_zero, by_minus_one});
    }
    const Id safe = quotient(m_.select(type_, unsafe, one, in_[1]), remainder);
    const Id result = m_.select(type_, by_zero, remainder ? in_[0] : zero(type_), safe);
    if (remainder || !is_signed) return result;
    return m_.select(type_, by_minus_one, m_.emit(spv::OpISub, type_, {zero(type_), in_[0]}),
                     result);
  }

  Id quotient(Id divisor, bool remainder) {
    const bool is_signed = ir::is_signed(type_);
    if (remainder && !is_signed) return m_.emit(spv::OpUMod, type_, {in_[0], divisor});
    const Id result = m_.emit(is_signed ? spv::OpSDiv : spv::OpUDiv, type_, {in_[0], divisor});
    if (!remainder) return result;
    // Vulkan leaves OpSRem of negative numbers undefined.
    return m_.emit(spv::OpISub, type_, {in_[0], m_.emit(spv::OpIMul, type_, {result, divisor})});
  }

  // Bit counts exist for 32 bits only.

  Id low_half(Id a) { return m_.emit(spv::OpUConvert, Scalar::U32, {a}); }
  Id high_half(Id a) {
    return low_half(
        m_.emit(spv::OpShiftRightLogical, Scalar::U64, {a, m_.constant(Scalar::U64, 32)}));
  }

  Id clz32(Id a) {
    const Id found = m_.extended(Op::Clz, Scalar::U32, {a});
    // A shader's highest set bit of 0 is numbered -1.
    return m_.is_kernel() ? found : m_.emit(spv::OpISub, Scalar::U32, {m_.u32(31), found});
  }

  Id clz() {
    if (width(type_) == 32) return clz32(in_[0]);
    const Id high = high_half(in_[0]);
    const Id none = m_.emit(spv::OpIEqual, Scalar::Bool, {high, m_.u32(0)});
    const Id low = m_.emit(spv::OpIAdd, Scalar::U32, {clz32(low_half(in_[0])), m_.u32(32)});
    return m_.emit(spv::OpUConvert, type_, {m_.select(Scalar::U32, none, low, clz32(high))});
  }

  Id popcount() {
    const auto count = [&](Id a) { return m_.emit(spv::OpBitCount, Scalar::U32, {a}); };
    if (width(type_) == 32) return count(in_[0]);
    const Id both =
        m_.emit(spv::OpIAdd, Scalar::U32, {count(low_half(in_[0])), count(high_half(in_[0]))});
    return m_.emit(spv::OpUConvert, type_, {both});
  }

  // Conversions.

  Id bitcast() {
    // Integers have no sign in the module: between two of one width nothing is to be done.
    if (ir::is_float(type_) == ir::is_float(from())) return in_[0];
    return m_.bitcast(type_, in_[0]);
  }

  Id cast() {
    const Scalar source = from();
    if (source == type_) return in_[0];
    if (source == Scalar::Bool) {
      const Id one = ir::is_float(type_) ? m_.f(type_, 1) : m_.constant(type_, 1);
      return m_.select(type_, in_[0], one, zero(type_));
    }
    if (type_ == Scalar::Bool) {
      return m_.emit(ir::is_float(source) ? spv::OpFUnordNotEqual : spv::OpINotEqual, Scalar::Bool,
                     {in_[0], zero(source)});
    }
    if (ir::is_float(source)) {
      return ir::is_float(type_) ? m_.emit(spv::OpFConvert, type_, {in_[0]}) : saturate(source);
    }
    const bool is_signed = ir::is_signed(source);
    if (ir::is_float(type_)) {
      return m_.emit(is_signed ? spv::OpConvertSToF : spv::OpConvertUToF, type_, {in_[0]});
    }
    if (width(source) == width(type_)) return in_[0];
    const bool extends = width(type_) > width(source);
    return m_.emit(extends && is_signed ? spv::OpSConvert : spv::OpUConvert, type_, {in_[0]});
  }

  Id saturate(Scalar source) {
    const bool is_signed = ir::is_signed(type_);
    const unsigned bits = width(type_);
    const double beyond = std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0));
    const std::uint64_t highest =
        (bits == 64 ? ~std::uint64_t{0} : 0xffffffff) >> (is_signed ? 1 : 0);
    const std::uint64_t lowest = is_signed ? highest + 1 : 0;
    const Id a = in_[0];
    const Id above = m_.emit(spv::OpFOrdGreaterThanEqual, Scalar::Bool, {a, m_.f(source, beyond)});
    const Id below =
        m_.emit(spv::OpFOrdLessThan, Scalar::Bool, {a, m_.f(source, is_signed ? -beyond : 0)});
    const Id nan = is_nan(m_, source, a);
    const Id outside = m_.emit(spv::OpLogicalOr, Scalar::Bool,
                               {m_.emit(spv::OpLogicalOr, Scalar::Bool, {above, below}), nan});
    const Id safe = m_.select(source, outside, zero(source), a);
    const Id inside = m_.emit(is_signed ? spv::OpConvertFToS : spv::OpConvertFToU, type_, {safe});
    return m_.select(type_, above, m_.constant(type_, highest),
                     m_.select(type_, below, m_.constant(type_, lowest), inside));
  }

  Module& m_;
  const ir::Node& node_;
  std::span<const Id> in_;
  Scalar type_;
};

}  // namespace

Id pure(Module& module, const ir::Node& node, std::span<const Id> operands) {
  return Pure(module, node, operands).run();
}

Id is_nan(Module& m, Scalar type, Id a) {
  const Scalar bits = bits_of(type);
  const std::uint64_t mask = (std::uint64_t{1} << (width(type) - 1)) - 1;
  const std::uint64_t infinity = type == Scalar::F32 ? 0x7f800000 : std::uint64_t{0x7ff} << 52;
  const Id magnitude =
      m.emit(spv::OpBitwiseAnd, bits, {m.bitcast(bits, a), m.constant(bits, mask)});
  return m.emit(spv::OpUGreaterThan, Scalar::Bool, {magnitude, m.constant(bits, infinity)});
}

Id extremum(Module& m, Scalar type, bool maximum, Id a, Id b) {
  if (!ir::is_float(type)) {
    const spv::Op less = ir::is_signed(type) ? spv::OpSLessThan : spv::OpULessThan;
    const Id first = m.emit(less, Scalar::Bool, {maximum ? b : a, maximum ? a : b});
    return m.select(type, first, a, b);
  }
  // Equal numbers differ in the sign of zero only: one operation on the bits decides.
  const Scalar bits = bits_of(type);
  const Id tied = m.bitcast(type, m.emit(maximum ? spv::OpBitwiseAnd : spv::OpBitwiseOr, bits,
                                         {m.bitcast(bits, a), m.bitcast(bits, b)}));
  const spv::Op before = maximum ? spv::OpFOrdGreaterThan : spv::OpFOrdLessThan;
  const auto wins = [&](Id x, Id y) {
    return m.emit(spv::OpLogicalOr, Scalar::Bool,
                  {m.emit(before, Scalar::Bool, {x, y}), is_nan(m, type, y)});
  };
  return m.select(type, wins(a, b), a, m.select(type, wins(b, a), b, tied));
}

}  // namespace salvo::codegen::spirv
