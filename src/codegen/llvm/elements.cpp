// Between elements as memory holds them and values in registers.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/arithmetic.hpp"

namespace salvo::codegen::llvm {

using ir::Scalar;

std::string_view Arithmetic::storage_type(Scalar element) {
  return element == Scalar::Bool ? "i8" : Writer::scalar(element);
}

Text Arithmetic::widen(Scalar element, const Text& value, unsigned n) {
  const std::string_view stored = storage_type(element);
  switch (element) {
    case Scalar::Bool:
      return w_.let("icmp ne {} {}, {}", Writer::vector_of("i8", n), value,
                    Writer::repeat("i8", "0", n));
    case Scalar::I8:
    case Scalar::I16:
      return convert("sext", stored, value, "i32", n);
    case Scalar::U8:
    case Scalar::U16:
      return convert("zext", stored, value, "i32", n);
    case Scalar::F16:
      if (!half_) return from_f16(value, n);
      return convert("fpext", "half", convert("bitcast", stored, value, "half", n), "float", n);
    case Scalar::BF16: {
      const Text wide = convert("zext", stored, value, "i32", n);
      const Text high = binary("shl", Scalar::U32, wide, w_.constant(Scalar::U32, 16, n), n);
      return convert("bitcast", "i32", high, "float", n);
    }
    default:
      return value;
  }
}

Text Arithmetic::narrow(Scalar element, const Text& value, unsigned n) {
  const std::string_view stored = storage_type(element);
  switch (element) {
    case Scalar::Bool:
      return convert("zext", "i1", value, stored, n);
    case Scalar::I8:
    case Scalar::I16:
    case Scalar::U8:
    case Scalar::U16:
      return convert("trunc", "i32", value, stored, n);
    case Scalar::F16:
      if (!half_) return to_f16(value, n);
      return convert("bitcast", "half", convert("fptrunc", "float", value, "half", n), stored, n);
    case Scalar::BF16:
      return to_bf16(value, n);
    default:
      return value;
  }
}

/// Without the processor's instructions: the exponent is moved by a product, which is exact and
/// takes denormals in its stride.
Text Arithmetic::from_f16(const Text& value, unsigned n) {
  const Scalar type = Scalar::U32;
  const auto number = [&](std::uint64_t bits_of_number) {
    return w_.constant(type, bits_of_number, n);
  };
  const Text wide = convert("zext", "i16", value, "i32", n);
  const Text sign =
      binary("shl", type, binary("and", type, wide, number(0x8000), n), number(16), n);
  const Text size = binary("and", type, wide, number(0x7fff), n);
  const Text moved = binary("shl", type, size, number(13), n);
  const Text two_to_112 = w_.constant(Scalar::F32, 0x7780'0000, n);
  const Text finite = bits(
      Scalar::F32,
      binary("fmul", Scalar::F32, convert("bitcast", "i32", moved, "float", n), two_to_112, n), n);
  const Text beyond = binary("or", type, moved, number(0x7f80'0000), n);
  const Text quiet = binary("or", type, beyond, number(0x40'0000), n);
  const Text is_nan = compare("icmp ugt", type, size, number(0x7c00), n);
  const Text is_finite = compare("icmp ult", type, size, number(0x7c00), n);
  const Text number_bits =
      select(type, is_finite, finite, select(type, is_nan, quiet, beyond, n), n);
  return convert("bitcast", "i32", binary("or", type, number_bits, sign, n), "float", n);
}

/// To the nearest and ties to even; a NaN stays one.
Text Arithmetic::to_f16(const Text& value, unsigned n) {
  const Scalar type = Scalar::U32;
  const auto number = [&](std::uint64_t bits_of_number) {
    return w_.constant(type, bits_of_number, n);
  };
  const Text whole = bits(Scalar::F32, value, n);
  const Text size = binary("and", type, whole, number(0x7fff'ffff), n);
  const Text sign =
      binary("and", type, binary("lshr", type, whole, number(16), n), number(0x8000), n);
  const Text shifted = binary("lshr", type, size, number(13), n);
  // The exponent's new origin, and half of the last place less one, or the half for odd numbers.
  const Text odd = binary("and", type, shifted, number(1), n);
  const Text half = binary("add", type, odd, number(0xfff), n);
  const Text moved = binary("sub", type, size, number(std::uint64_t{112} << 23), n);
  const Text normal = binary("lshr", type, binary("add", type, moved, half, n), number(13), n);
  // Added to 0.5 a denormal result ends where that sum's mantissa does: the sum rounds.
  const Text sum = binary("fadd", Scalar::F32, convert("bitcast", "i32", size, "float", n),
                          w_.constant(Scalar::F32, 0x3f00'0000, n), n);
  const Text denormal = binary("sub", type, bits(Scalar::F32, sum, n), number(0x3f00'0000), n);
  const Text payload = binary("and", type, shifted, number(0x3ff), n);
  const Text nan = binary("or", type, payload, number(0x7e00), n);
  const auto from = [&](std::uint64_t least) {
    return compare("icmp uge", type, size, number(least), n);
  };
  Text result = select(type, from(0x3880'0000), normal, denormal, n);   // 2^-14
  result = select(type, from(0x4780'0000), number(0x7c00), result, n);  // 2^16
  result = select(type, from(0x7f80'0001), nan, result, n);
  return convert("trunc", "i32", binary("or", type, result, sign, n), "i16", n);
}

/// The upper half, to the nearest and ties to even; a NaN stays one.
Text Arithmetic::to_bf16(const Text& value, unsigned n) {
  const Scalar type = Scalar::U32;
  const auto number = [&](std::uint64_t bits_of_number) {
    return w_.constant(type, bits_of_number, n);
  };
  const Text whole = bits(Scalar::F32, value, n);
  const Text high = binary("lshr", type, whole, number(16), n);
  const Text odd = binary("and", type, high, number(1), n);
  const Text half = binary("add", type, odd, number(0x7fff), n);
  const Text rounded = binary("lshr", type, binary("add", type, whole, half, n), number(16), n);
  const Text quiet = binary("or", type, high, number(0x40), n);
  const Text is_nan = compare("fcmp uno", Scalar::F32, value, value, n);
  return convert("trunc", "i32", select(type, is_nan, quiet, rounded, n), "i16", n);
}

}  // namespace salvo::codegen::llvm
