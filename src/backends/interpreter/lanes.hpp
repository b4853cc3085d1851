// The set of threads an operation runs for, and how typed values sit in 64-bit slots.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "salvo/ir.hpp"

namespace salvo::backends::interpreter {

/// Threads of a block by their linear position, ascending. All of them need no list.
struct Lanes {
  const std::uint32_t* index = nullptr;  // null: 0 .. count-1
  std::uint32_t count = 0;

  template <class Function>
  void each(Function&& function) const {
    if (index == nullptr) {
      for (std::uint32_t lane = 0; lane < count; ++lane) function(lane);
    } else {
      for (std::uint32_t i = 0; i < count; ++i) function(index[i]);
    }
  }
};

/// A slot holds the bits of a value, zero-extended; a Bool is 0 or 1. So two slots of one type are
/// the same value exactly when they are equal as integers.
template <class T>
T from_slot(std::uint64_t slot) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return slot != 0;
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(slot));
  } else {
    return std::bit_cast<T>(slot);
  }
}

template <class T>
std::uint64_t to_slot(T value) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

/// Calls `function.operator()<T>()` with the host type of a compute type; the storage types, which
/// no value has, give a default-constructed result.
template <class Function>
auto with_type(ir::Scalar type, Function&& function) {
  using Result = decltype(function.template operator()<float>());
  switch (type) {
    case ir::Scalar::Bool:
      return function.template operator()<bool>();
    case ir::Scalar::I32:
      return function.template operator()<std::int32_t>();
    case ir::Scalar::U32:
      return function.template operator()<std::uint32_t>();
    case ir::Scalar::I64:
      return function.template operator()<std::int64_t>();
    case ir::Scalar::U64:
      return function.template operator()<std::uint64_t>();
    case ir::Scalar::F32:
      return function.template operator()<float>();
    case ir::Scalar::F64:
      return function.template operator()<double>();
    default:
      return Result{};
  }
}

/// The value of an integer slot as a signed index or case label. An unsigned 64-bit value keeps its
/// bits, so that it compares as huge when it is read as unsigned again.
inline std::int64_t as_signed(std::uint64_t slot, bool is_i32) noexcept {
  return is_i32 ? std::int64_t{from_slot<std::int32_t>(slot)} : from_slot<std::int64_t>(slot);
}

/// Computes one operation for many threads. Unused operands may be any pointer.
using LaneFunction = void (*)(const std::uint64_t* a, const std::uint64_t* b,
                              const std::uint64_t* c, std::uint64_t* out, Lanes lanes);

}  // namespace salvo::backends::interpreter
