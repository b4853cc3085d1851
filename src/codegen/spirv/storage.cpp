// Element formats: how a value of each type stands in memory (K1).
// SPDX-License-Identifier: MIT
#include "codegen/spirv/storage.hpp"

#include "codegen/spirv/arithmetic.hpp"

namespace salvo::codegen::spirv {
namespace {

/// Operations on 32-bit words, named.
class Words {
 public:
  explicit Words(Module& m) : m_(m) {}
  Id k(std::uint32_t value) { return m_.u32(value); }
  Id and_(Id a, std::uint32_t mask) { return op(spv::OpBitwiseAnd, a, k(mask)); }
  Id or_(Id a, Id b) { return op(spv::OpBitwiseOr, a, b); }
  Id add(Id a, Id b) { return op(spv::OpIAdd, a, b); }
  Id sub(Id a, Id b) { return op(spv::OpISub, a, b); }
  Id shl(Id a, Id n) { return op(spv::OpShiftLeftLogical, a, n); }
  Id shr(Id a, Id n) { return op(spv::OpShiftRightLogical, a, n); }
  Id less(Id a, Id b) { return m_.emit(spv::OpULessThan, Scalar::Bool, {a, b}); }
  Id select(Id c, Id a, Id b) { return m_.select(Scalar::U32, c, a, b); }
  Id op(spv::Op op, Id a, Id b) { return m_.emit(op, Scalar::U32, {a, b}); }

 private:
  Module& m_;
};

/// All in integers: conversion instructions of the devices may flush denormals or truncate.
Id to_f16(Module& m, Id value) {
  Words w(m);
  const Id bits = m.bitcast(Scalar::U32, value);
  const Id sign = w.and_(w.shr(bits, w.k(16)), 0x8000);
  const Id magnitude = w.and_(bits, 0x7fffffff);
  // Normal: rebias the exponent and round the 13 lost bits to even; a carry runs into the exponent.
  const Id normal =
      w.shr(w.add(w.sub(magnitude, w.k(0x38000000 - 0xfff)), w.and_(w.shr(magnitude, w.k(13)), 1)),
            w.k(13));
  // Denormal: the mantissa with its leading one, shifted by 14 to 25 bits.
  const Id exponent = w.shr(magnitude, w.k(23));
  const Id distance = w.sub(w.k(126), exponent);
  const Id shift = w.select(w.less(w.k(31), distance), w.k(31), distance);
  const Id mantissa = w.or_(w.and_(magnitude, 0x7fffff), w.k(0x800000));
  const Id kept = w.shr(mantissa, shift);
  const Id rest = w.sub(mantissa, w.shl(kept, shift));
  const Id half = w.shl(w.k(1), w.sub(shift, w.k(1)));
  // Above half, or at half with an odd result.
  const Id round_up = w.less(half, w.add(rest, w.and_(kept, 1)));
  const Id denormal = w.add(kept, w.select(round_up, w.k(1), w.k(0)));

  const Id is_small = w.less(magnitude, w.k(0x38800000));
  const Id is_large = w.less(w.k(0x477fefff), magnitude);
  const Id is_nan = w.less(w.k(0x7f800000), magnitude);
  const Id finite = w.select(is_small, denormal, normal);
  return w.or_(sign, w.select(is_nan, w.k(0x7e00), w.select(is_large, w.k(0x7c00), finite)));
}

Id from_f16(Module& m, Id bits) {
  Words w(m);
  const Id sign = w.shl(w.and_(bits, 0x8000), w.k(16));
  const Id magnitude = w.and_(bits, 0x7fff);
  const Id shifted = w.shl(magnitude, w.k(13));
  const Id normal = w.add(shifted, w.k(0x38000000));
  const Id special = w.add(shifted, w.k(0x70000000));
  // A denormal is its mantissa times 2^-24, and both the integer and the product are exact.
  const Id scaled = m.emit(
      spv::OpFMul, Scalar::F32,
      {m.emit(spv::OpConvertUToF, Scalar::F32, {magnitude}), m.constant(Scalar::F32, 0x33800000)});
  const Id denormal = m.bitcast(Scalar::U32, scaled);
  const Id finite = w.select(w.less(magnitude, w.k(0x400)), denormal, normal);
  const Id value = w.select(w.less(w.k(0x7bff), magnitude), special, finite);
  return m.bitcast(Scalar::F32, w.or_(sign, value));
}

Id to_bf16(Module& m, Id value) {
  Words w(m);
  const Id bits = m.bitcast(Scalar::U32, value);
  const Id odd = w.and_(w.shr(bits, w.k(16)), 1);
  const Id rounded = w.shr(w.add(w.add(bits, w.k(0x7fff)), odd), w.k(16));
  return w.select(is_nan(m, Scalar::F32, value), w.k(0x7fc0), rounded);
}

}  // namespace

unsigned stored_bits(Scalar type) {
  return static_cast<unsigned>(ir::size_of(type)) * 8;
}

Id encode(Module& m, Scalar type, Id value) {
  switch (type) {
    case Scalar::Bool:
      return m.select(Scalar::U32, value, m.u32(1), m.u32(0));
    case Scalar::F16:
      return to_f16(m, value);
    case Scalar::BF16:
      return to_bf16(m, value);
    case Scalar::F32:
      return m.bitcast(Scalar::U32, value);
    case Scalar::F64:
      return m.bitcast(Scalar::U64, value);
    default:
      return value;
  }
}

Id decode(Module& m, Scalar type, Id bits) {
  // By shifts: a kernel has no bit-field instructions.
  const auto sign_extend = [&](std::uint32_t width) {
    const Id unused = m.u32(32 - width);
    return m.emit(spv::OpShiftRightArithmetic, Scalar::I32,
                  {m.emit(spv::OpShiftLeftLogical, Scalar::I32, {bits, unused}), unused});
  };
  switch (type) {
    case Scalar::Bool:
      return m.emit(spv::OpINotEqual, Scalar::Bool, {bits, m.u32(0)});
    case Scalar::I8:
      return sign_extend(8);
    case Scalar::I16:
      return sign_extend(16);
    case Scalar::F16:
      return from_f16(m, bits);
    case Scalar::BF16:
      return m.bitcast(Scalar::F32,
                       m.emit(spv::OpShiftLeftLogical, Scalar::U32, {bits, m.u32(16)}));
    case Scalar::F32:
      return m.bitcast(Scalar::F32, bits);
    case Scalar::F64:
      return m.bitcast(Scalar::F64, bits);
    default:
      return bits;
  }
}

}  // namespace salvo::codegen::spirv
