// Turns a functor on single values into a function over the slots of many threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "backends/interpreter/lanes.hpp"

namespace salvo::backends::interpreter {

template <class T>
concept Floating = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Number = Integer<T> || Floating<T>;

template <class F, class T>
void unary_loop(const std::uint64_t* a, const std::uint64_t*, const std::uint64_t*,
                std::uint64_t* out, Lanes lanes) {
  lanes.each([=](std::uint32_t i) { out[i] = to_slot(F::apply(from_slot<T>(a[i]))); });
}

template <class F, class T>
void binary_loop(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t*,
                 std::uint64_t* out, Lanes lanes) {
  lanes.each(
      [=](std::uint32_t i) { out[i] = to_slot(F::apply(from_slot<T>(a[i]), from_slot<T>(b[i]))); });
}

template <class F, class T>
void ternary_loop(const std::uint64_t* a, const std::uint64_t* b, const std::uint64_t* c,
                  std::uint64_t* out, Lanes lanes) {
  lanes.each([=](std::uint32_t i) {
    out[i] = to_slot(F::apply(from_slot<T>(a[i]), from_slot<T>(b[i]), from_slot<T>(c[i])));
  });
}

/// The loop for `type`, or null where the functor does not take that type.
template <class F>
LaneFunction unary(ir::Scalar type) {
  return with_type(type, []<class T>() -> LaneFunction {
    if constexpr (requires(T x) { F::apply(x); }) return &unary_loop<F, T>;
    return nullptr;
  });
}

template <class F>
LaneFunction binary(ir::Scalar type) {
  return with_type(type, []<class T>() -> LaneFunction {
    if constexpr (requires(T x) { F::apply(x, x); }) return &binary_loop<F, T>;
    return nullptr;
  });
}

template <class F>
LaneFunction ternary(ir::Scalar type) {
  return with_type(type, []<class T>() -> LaneFunction {
    if constexpr (requires(T x) { F::apply(x, x, x); }) return &ternary_loop<F, T>;
    return nullptr;
  });
}

}  // namespace salvo::backends::interpreter
