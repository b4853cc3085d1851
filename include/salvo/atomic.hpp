// Atomic operations on elements of global and shared memory (K8).
// SPDX-License-Identifier: MIT
//
// Each gives the old value, which may be dropped. Relaxed order, device scope. Which types an
// operation exists for, the compiler says. On an element of a local array, or outside of a kernel
// that is being traced, they throw Errc::invalid_kernel; a launch throws Errc::unsupported where
// the device has no such atomic (DeviceProperties::atomics_i64, atomics_f32, atomics_f64).
#pragma once

#include "salvo/value.hpp"

namespace salvo {

namespace detail {
template <class T>
constexpr bool atomic_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) >= 4;
template <class T>
constexpr bool atomic_number = atomic_integer<T> || std::is_floating_point_v<T>;
}  // namespace detail

#define SALVO_ATOMIC(name, opcode, allowed)                                                       \
  template <class T, detail::operand A>                                                           \
  Value<T> name(const Ref<T>& target, const A& value) {                                           \
    static_assert(detail::allowed<T>, "salvo: " #name " does not exist for this type");           \
    return Value<T>(detail::emit_atomic(ir::Op::opcode, target.place(), {Value<T>(value).id()})); \
  }
SALVO_ATOMIC(atomic_add, AtomicAdd, atomic_number)
SALVO_ATOMIC(atomic_sub, AtomicSub, atomic_integer)
SALVO_ATOMIC(atomic_exchange, AtomicExchange, atomic_integer)
SALVO_ATOMIC(atomic_min, AtomicMin, atomic_integer)
SALVO_ATOMIC(atomic_max, AtomicMax, atomic_integer)
SALVO_ATOMIC(atomic_and, AtomicAnd, atomic_integer)
SALVO_ATOMIC(atomic_or, AtomicOr, atomic_integer)
SALVO_ATOMIC(atomic_xor, AtomicXor, atomic_integer)
#undef SALVO_ATOMIC

/// Stores `desired` where the element equals `expected`; gives what was there.
template <class T, detail::operand A, detail::operand B>
Value<T> atomic_compare_exchange(const Ref<T>& target, const A& expected, const B& desired) {
  static_assert(detail::atomic_integer<T>,
                "salvo: compare-exchange is for 32- and 64-bit integers");
  return Value<T>(detail::emit_atomic(ir::Op::AtomicCompareExchange, target.place(),
                                      {Value<T>(expected).id(), Value<T>(desired).id()}));
}

}  // namespace salvo
