// Element types: which C++ types a vector, a span or a value can hold, and how records are told.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "salvo/ir.hpp"

namespace salvo {

/// IEEE binary16 in host memory. Converts to float exactly, from float rounding to nearest even.
struct half {
  std::uint16_t bits = 0;
  half() = default;
  explicit half(float value) noexcept;
  operator float() const noexcept;
  friend bool operator==(half a, half b) noexcept { return float(a) == float(b); }
};

/// The upper 16 bits of a binary32. Converts to float exactly, from float rounding to nearest even.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) noexcept;
  operator float() const noexcept;
  friend bool operator==(bfloat16 a, bfloat16 b) noexcept { return float(a) == float(b); }
};

/// Registers a record for kernels, in one line at namespace scope:
///
///   struct Particle { float x, y; Vec3 velocity; };
///   template <> struct salvo::Record<Particle>
///       : salvo::Fields<&Particle::x, &Particle::y, &Particle::velocity> {};
///
/// The record must be standard-layout and trivially copyable. Fields may be scalars or registered
/// records. Kernels see the host's layout: same offsets, size and alignment (K1).
template <class T>
struct Record {
  static constexpr bool registered = false;
};

namespace detail {

template <class M>
struct MemberOf;
template <class S, class T>
struct MemberOf<T S::*> {
  using record = S;
  using type = T;
};

/// "x" out of the compiler's spelling of &S::x.
template <auto Member>
constexpr std::string_view member_name() {
  const std::string_view all = __PRETTY_FUNCTION__;
  std::size_t end = all.rfind(']');
  if (const std::size_t semicolon = all.find(';', all.find("Member =")); semicolon < end) {
    end = semicolon;
  }
  std::string_view text = all.substr(0, end);
  while (!text.empty() && (text.back() == ')' || text.back() == ' ')) text.remove_suffix(1);
  return text.substr(text.rfind(':') + 1);
}

template <class S, class T>
std::uint32_t offset_of(T S::*member) noexcept {
  alignas(S) static const std::byte storage[sizeof(S)] = {};
  const S* object = reinterpret_cast<const S*>(storage);
  const void* field = &(object->*member);
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(field) - storage);
}

}  // namespace detail

template <auto... Members>
struct Fields {
  static constexpr bool registered = true;
  template <class F>
  static void each(F&& visit) {
    (visit(detail::member_name<Members>(), detail::offset_of(Members),
           std::type_identity<typename detail::MemberOf<decltype(Members)>::type>{}),
     ...);
  }
};

namespace detail {

template <class T>
constexpr bool always_false = false;

template <class T>
constexpr bool is_scalar = std::is_same_v<T, bool> || std::is_same_v<T, half> ||
                           std::is_same_v<T, bfloat16> || std::is_same_v<T, float> ||
                           std::is_same_v<T, double> ||
                           (std::is_integral_v<T> && !std::is_same_v<T, wchar_t> && sizeof(T) <= 8);

template <class T>
constexpr bool is_record = Record<T>::registered;

template <class T>
constexpr bool is_element = is_scalar<T> || is_record<T>;

template <class T>
constexpr ir::Scalar scalar_of() {
  static_assert(is_scalar<T>, "salvo: not a scalar element type");
  using enum ir::Scalar;
  if constexpr (std::is_same_v<T, bool>)
    return Bool;
  else if constexpr (std::is_same_v<T, half>)
    return F16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return BF16;
  else if constexpr (std::is_same_v<T, float>)
    return F32;
  else if constexpr (std::is_same_v<T, double>)
    return F64;
  else if constexpr (sizeof(T) == 1)
    return std::is_signed_v<T> ? I8 : U8;
  else if constexpr (sizeof(T) == 2)
    return std::is_signed_v<T> ? I16 : U16;
  else if constexpr (sizeof(T) == 4)
    return std::is_signed_v<T> ? I32 : U32;
  else
    return std::is_signed_v<T> ? I64 : U64;
}

/// The type a loaded element has: narrow integers widen to 32 bits, half and bfloat16 to float.
template <class T>
struct Computed {
  using type = T;
};
template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) struct Computed<T> {
  using type =
      std::conditional_t<sizeof(T) == 8,
                         std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                         std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;
};
template <>
struct Computed<half> {
  using type = float;
};
template <>
struct Computed<bfloat16> {
  using type = float;
};
template <class T>
using computed_t = typename Computed<std::remove_const_t<T>>::type;

template <class T>
std::uint64_t bits_of(T value) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// One scalar leaf of an element, nested records flattened.
struct Leaf {
  std::string name;
  ir::Scalar type;
  std::uint32_t offset;
};

template <class T>
void append_leaves(std::vector<Leaf>& leaves, const std::string& prefix, std::uint32_t base) {
  if constexpr (is_scalar<T>) {
    leaves.push_back({prefix, scalar_of<T>(), base});
  } else {
    static_assert(is_record<T>, "salvo: register this record with salvo::Record first");
    Record<T>::each(
        [&]<class M>(std::string_view name, std::uint32_t offset, std::type_identity<M>) {
          append_leaves<M>(leaves,
                           prefix.empty() ? std::string(name) : prefix + "." + std::string(name),
                           base + offset);
        });
  }
}

template <class T>
consteval std::string_view type_name() {
  if constexpr (is_scalar<T>) {
    return {};
  } else {
    const std::string_view all = __PRETTY_FUNCTION__;
    const std::size_t start = all.find("T = ") + 4;
    return all.substr(start, all.find_first_of(";]", start) - start);
  }
}

/// Everything the IR needs to know of an element type.
struct ElementInfo {
  std::string name;
  std::uint32_t size;
  std::uint32_t align;
  std::vector<Leaf> leaves;
};

template <class T>
const ElementInfo& element_info() {
  static_assert(is_element<T>, "salvo: element types are scalars and registered records");
  static_assert(std::is_trivially_copyable_v<T>, "salvo: elements must be trivially copyable");
  // Never destroyed: other threads may launch while the program exits.
  static const ElementInfo& info = *[] {
    auto* made = new ElementInfo{std::string(type_name<T>()), sizeof(T), alignof(T), {}};
    append_leaves<T>(made->leaves, "", 0);
    return made;
  }();
  return info;
}

/// Leaves that a field of type T occupies.
template <class T>
std::size_t leaf_count() {
  return element_info<T>().leaves.size();
}

/// Position, among S's leaves, of the first leaf of the field at `offset`.
template <class S>
std::uint32_t leaf_at(std::uint32_t offset) {
  const auto& leaves = element_info<S>().leaves;
  std::uint32_t index = 0;
  while (index < leaves.size() && leaves[index].offset != offset) ++index;
  return index;
}

}  // namespace detail
}  // namespace salvo
