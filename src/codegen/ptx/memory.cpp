// PTX for loads, stores and atomics.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/memory.hpp"

namespace salvo::codegen::ptx {
namespace {

using ir::Op;
using ir::Scalar;

/// The type of a load or store instruction.
std::string_view stored_name(Scalar type) {
  switch (type) {
    case Scalar::Bool:
    case Scalar::U8:
      return "u8";
    case Scalar::I8:
      return "s8";
    case Scalar::U16:
    case Scalar::BF16:
      return "u16";
    case Scalar::I16:
      return "s16";
    case Scalar::F16:
      return "b16";
    default:
      return type_name(type);
  }
}

std::string_view atomic_name(Op op) {
  switch (op) {
    case Op::AtomicAdd:
    case Op::AtomicSub:
      return "add";
    case Op::AtomicExchange:
      return "exch";
    case Op::AtomicMin:
      return "min";
    case Op::AtomicMax:
      return "max";
    case Op::AtomicAnd:
      return "and";
    case Op::AtomicOr:
      return "or";
    case Op::AtomicXor:
      return "xor";
    default:
      return "cas";
  }
}

/// Of what type the instruction takes its operands.
std::string_view atomic_type(Op op, Scalar type) {
  if (op == Op::AtomicMin || op == Op::AtomicMax) return type_name(type);
  if (op == Op::AtomicAdd || op == Op::AtomicSub) {
    if (ir::is_float(type)) return type_name(type);
    return ir::size_of(type) == 8 ? "u64" : "u32";  // the same sum as of signed ones
  }
  return bits_name(type);
}

}  // namespace

std::string MemoryAccess::load(const Place& place) {
  const std::string ld =
      fmt::format("ld.{}{}.{}", place.space, place.constant ? ".nc" : "", stored_name(place.type));
  std::string value = to_.fresh(ir::compute_type(place.type));
  switch (place.type) {
    case Scalar::Bool: {
      const std::string byte = to_.fresh(Bank::b32);
      to_.put("{} {}, [{}]", ld, byte, place.address);
      to_.put("setp.ne.b32 {}, {}, 0", value, byte);
      break;
    }
    case Scalar::F16: {
      const std::string half = to_.fresh(Bank::b16);
      to_.put("{} {}, [{}]", ld, half, place.address);
      to_.put("cvt.f32.f16 {}, {}", value, half);
      break;
    }
    case Scalar::BF16: {
      const std::string half = to_.fresh(Bank::b32);
      const std::string bits = to_.fresh(Bank::b32);
      to_.put("{} {}, [{}]", ld, half, place.address);
      to_.put("shl.b32 {}, {}, 16", bits, half);
      to_.put("mov.b32 {}, {}", value, bits);
      break;
    }
    default:
      to_.put("{} {}, [{}]", ld, value, place.address);
      break;
  }
  return value;
}

/// Rounded to the nearest, ties to even; any NaN becomes one quiet NaN.
std::string MemoryAccess::bf16_bits(const std::string& value) {
  const std::string bits = to_.fresh(Bank::b32);
  const std::string high = to_.fresh(Bank::b32);
  const std::string odd = to_.fresh(Bank::b32);
  const std::string half = to_.fresh(Bank::b32);
  const std::string sum = to_.fresh(Bank::b32);
  const std::string rounded = to_.fresh(Bank::b32);
  const std::string is_nan = to_.fresh(Bank::predicate);
  std::string result = to_.fresh(Bank::b32);
  to_.put("mov.b32 {}, {}", bits, value);
  to_.put("shr.u32 {}, {}, 16", high, bits);
  to_.put("and.b32 {}, {}, 1", odd, high);
  to_.put("add.u32 {}, {}, 0x7fff", half, odd);
  to_.put("add.u32 {}, {}, {}", sum, bits, half);
  to_.put("shr.u32 {}, {}, 16", rounded, sum);
  to_.put("setp.nan.f32 {}, {}, {}", is_nan, value, value);
  to_.put("selp.b32 {}, 0x7fc0, {}, {}", result, rounded, is_nan);
  return result;
}

void MemoryAccess::store(const Place& place, const std::string& value) {
  const std::string st =
      fmt::format("st.{}.{} [{}]", place.space, stored_name(place.type), place.address);
  switch (place.type) {
    case Scalar::Bool:
      to_.put("{}, {}", st, arithmetic_.select(Scalar::I32, value, "1", "0"));
      break;
    case Scalar::F16: {
      const std::string half = to_.fresh(Bank::b16);
      to_.put("cvt.rn.f16.f32 {}, {}", half, value);
      to_.put("{}, {}", st, half);
      break;
    }
    case Scalar::BF16:
      to_.put("{}, {}", st, bf16_bits(value));
      break;
    default:
      to_.put("{}, {}", st, value);
      break;
  }
}

std::string MemoryAccess::pair_of_halves(Scalar type, const std::string& value) {
  std::string both = to_.fresh(Bank::b32);
  if (type == Scalar::F16) {
    const std::string half = to_.fresh(Bank::b16);
    to_.put("cvt.rn.f16.f32 {}, {}", half, value);
    to_.put("mov.b32 {}, {{{}, {}}}", both, half, half);
  } else {
    const std::string half = bf16_bits(value);
    to_.put("mad.lo.u32 {}, {}, 0x10000, {}", both, half, half);
  }
  return both;
}

std::string MemoryAccess::atomic(Op op, const Place& place, std::span<const std::string> operands) {
  std::string values;
  for (const std::string& operand : operands) {
    std::string value = operand;
    if (op == Op::AtomicSub) {
      value = to_.fresh(place.type);
      to_.put("neg.{} {}, {}",
              ir::is_float(place.type)       ? type_name(place.type)
              : ir::size_of(place.type) == 8 ? "s64"
                                             : "s32",
              value, operand);
    }
    values += ", " + value;
  }
  std::string old = to_.fresh(place.type);
  to_.put("atom.{}.{}.{} {}, [{}]{}", place.space, atomic_name(op), atomic_type(op, place.type),
          old, place.address, values);
  return old;
}

}  // namespace salvo::codegen::ptx
