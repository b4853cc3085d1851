// PTX for loads, stores and atomics.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/memory.hpp"

#include <algorithm>

#include <fmt/ranges.h>

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

/// The type of an instruction for several leaves: of different ones it moves the bits.
std::string_view common_name(std::span<const Scalar> types) {
  const bool alike = std::ranges::all_of(types, [&](Scalar type) { return type == types[0]; });
  return alike ? stored_name(types[0]) : ir::size_of(types[0]) == 8 ? "b64" : "b32";
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

std::string MemoryAccess::loaded(Scalar type) {
  switch (type) {
    case Scalar::Bool:
    case Scalar::BF16:
      return to_.fresh(Bank::b32);
    case Scalar::F16:
      return to_.fresh(Bank::b16);
    default:
      return to_.fresh(ir::compute_type(type));
  }
}

std::string MemoryAccess::widened(Scalar type, std::string loaded) {
  if (type != Scalar::Bool && type != Scalar::F16 && type != Scalar::BF16) return loaded;
  std::string value = to_.fresh(ir::compute_type(type));
  if (type == Scalar::Bool) {
    to_.put("setp.ne.b32 {}, {}, 0", value, loaded);
  } else if (type == Scalar::F16) {
    to_.put("cvt.f32.f16 {}, {}", value, loaded);
  } else {
    const std::string bits = to_.fresh(Bank::b32);
    to_.put("shl.b32 {}, {}, 16", bits, loaded);
    to_.put("mov.b32 {}, {}", value, bits);
  }
  return value;
}

std::string MemoryAccess::narrowed(Scalar type, const std::string& value) {
  switch (type) {
    case Scalar::Bool:
      return arithmetic_.select(Scalar::I32, value, "1", "0");
    case Scalar::F16: {
      std::string half = to_.fresh(Bank::b16);
      to_.put("cvt.rn.f16.f32 {}, {}", half, value);
      return half;
    }
    case Scalar::BF16:
      return bf16_bits(value);
    default:
      return value;
  }
}

std::string MemoryAccess::load(const Place& place) {
  const std::string bits = loaded(place.type);
  to_.put("ld.{}{}.{} {}, [{}]", place.space, place.constant ? ".nc" : "", stored_name(place.type),
          bits, place.address);
  return widened(place.type, bits);
}

void MemoryAccess::store(const Place& place, const std::string& value) {
  const std::string bits = narrowed(place.type, value);
  to_.put("st.{}.{} [{}], {}", place.space, stored_name(place.type), place.address, bits);
}

std::vector<std::string> MemoryAccess::load(const Place& first, std::span<const Scalar> types) {
  std::vector<std::string> values;
  for (const Scalar type : types) values.push_back(loaded(type));
  to_.put("ld.{}{}.v{}.{} {{{}}}, [{}]", first.space, first.constant ? ".nc" : "", types.size(),
          common_name(types), fmt::join(values, ", "), first.address);
  for (std::size_t i = 0; i < types.size(); ++i) values[i] = widened(types[i], values[i]);
  return values;
}

void MemoryAccess::store(const Place& first, std::span<const Scalar> types,
                         std::span<const std::string> values) {
  std::vector<std::string> bits;
  for (std::size_t i = 0; i < types.size(); ++i) bits.push_back(narrowed(types[i], values[i]));
  to_.put("st.{}.v{}.{} [{}], {{{}}}", first.space, types.size(), common_name(types), first.address,
          fmt::join(bits, ", "));
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

std::string MemoryAccess::pair_of_halves(Scalar type, const std::string& value) {
  std::string both = to_.fresh(Bank::b32);
  const std::string half = narrowed(type, value);
  if (type == Scalar::F16) {
    to_.put("mov.b32 {}, {{{}, {}}}", both, half, half);
  } else {
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
