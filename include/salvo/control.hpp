// Control flow and synchronisation in kernels.
// SPDX-License-Identifier: MIT
//
// All of it throws Errc::invalid_kernel outside of a kernel that is being traced. What only the
// whole kernel shows, such as a barrier that some threads pass by, is thrown by `salvo::kernel`.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string_view>
#include <utility>
#include <vector>

#include "salvo/position.hpp"
#include "salvo/span.hpp"
#include "salvo/value.hpp"

namespace salvo {

/// What `if_` returns, so that an else can follow.
class IfChain {
 public:
  /// @cond internal
  explicit IfChain(detail::ValueId node) : node_(node) {}
  /// @endcond
  void else_(const std::function<void()>& body) && { detail::trace_else(node_, body); }
  /// The condition is evaluated only where the ones before did not hold.
  template <std::invocable C>
  IfChain else_if_(C condition, const std::function<void()>& body,
                   std::source_location where = std::source_location::current()) && {
    detail::ValueId inner = ir::kNoValue;
    detail::trace_else(node_,
                       [&] { inner = detail::emit_if(Bool(condition()).id(), body, where); });
    return IfChain(inner);
  }

 private:
  detail::ValueId node_;
};

inline IfChain if_(Bool condition, const std::function<void()>& body,
                   std::source_location where = std::source_location::current()) {
  return IfChain(detail::emit_if(condition.id(), body, where));
}

/// Runs the body in the threads whose global id is below `count`, with that id: the guard that
/// every kernel launched with `over` needs, because it starts more threads than were asked for. The
/// same kernel as with `auto i = global_thread_id(); if_(i < count, [&] { body(i); });`.
///
///   salvo::kernel("twice", [](Span<float> x, Int n) {
///     for_each_thread(n, [&](Int i) { x[i] *= 2.0f; });
///   });
template <detail::operand N, std::invocable<Int> F>
void for_each_thread(const N& count, F body,
                     std::source_location where = std::source_location::current()) {
  static_assert(std::is_integral_v<detail::operand_t<N>>, "salvo: threads are counted in integers");
  const Int i = global_thread_id();
  if_(
      i < count, [&] { body(i); }, where);
}
/// The same with the number of elements of a span.
template <class T, std::invocable<Int> F>
void for_each_thread(const Span<T>& span, F body,
                     std::source_location where = std::source_location::current()) {
  const Int i = global_thread_id();
  if_(
      i < span.size(), [&] { body(i); }, where);
}

/// Half-open counting range. The bounds are read once, before the loop.
template <class T>
struct Range {
  Value<T> first, limit, step;
  bool counts_down = false;
  std::uint32_t unroll_by = 0;
  /// Asks the device compiler to unroll: n times, or not at all for 1.
  Range unroll(std::uint32_t times) && {
    unroll_by = times;
    return std::move(*this);
  }
};

namespace detail {
template <class A, class B>
struct RangeType {
  using type = decltype([] {
    if constexpr (constant<A> && constant<B>)
      return std::type_identity<std::int32_t>{};
    else
      return std::type_identity<common_t<A, B>>{};
  }());
};
template <class A, class B>
using range_t = typename RangeType<A, B>::type::type;
}  // namespace detail

/// first, first + step ... while below limit. The step must be positive.
template <detail::operand A, detail::operand B, detail::operand S = int>
auto range(const A& first, const B& limit, const S& step = 1) {
  using T = detail::range_t<A, B>;
  static_assert(std::is_integral_v<T>, "salvo: ranges count in integers");
  return Range<T>{Value<T>(first), Value<T>(limit), Value<T>(step)};
}
template <detail::operand B>
auto range(const B& limit) {
  return range(0, limit);
}
/// first, first - step ... while above limit. The step must be positive.
template <detail::operand A, detail::operand B, detail::operand S = int>
auto down(const A& first, const B& limit, const S& step = 1) {
  auto counted = range(first, limit, step);
  counted.counts_down = true;
  return counted;
}

template <class T, std::invocable<Value<T>> F>
void for_(Range<T> range, F body, std::source_location where = std::source_location::current()) {
  detail::emit_for(
      {range.first.id(), range.limit.id(), range.step.id(), range.counts_down, range.unroll_by},
      [&](detail::ValueId counter) { body(Value<T>(counter)); }, where);
}

/// Runs the body while the condition, traced as code, holds.
template <std::invocable C, std::invocable F>
void while_(C condition, F body, std::source_location where = std::source_location::current()) {
  detail::emit_while([&] { return Bool(condition()).id(); }, body, 0, where);
}

inline void break_(std::source_location where = std::source_location::current()) {
  detail::emit_statement(ir::Op::Break, 0, where);
}
inline void continue_(std::source_location where = std::source_location::current()) {
  detail::emit_statement(ir::Op::Continue, 0, where);
}
/// Ends the thread's work in this kernel.
inline void return_(std::source_location where = std::source_location::current()) {
  detail::emit_statement(ir::Op::Return, 0, where);
}

struct Case {
  std::int64_t value;
  std::function<void()> body;
};
inline Case case_(std::int64_t value, std::function<void()> body) {
  return {value, std::move(body)};
}
/// Runs the body of the case that equals the value, the last body if none does. No fall-through. A
/// case that is there twice throws Errc::invalid_kernel.
template <detail::traced V>
void switch_(const V& value, std::vector<Case> cases, const std::function<void()>& otherwise = {},
             std::source_location where = std::source_location::current()) {
  static_assert(std::is_integral_v<detail::operand_t<V>>, "salvo: switch_ is for integers");
  std::vector<std::int64_t> values;
  std::vector<detail::Body> bodies;
  for (auto& one : cases) {
    values.push_back(one.value);
    bodies.push_back(std::move(one.body));
  }
  bodies.push_back(otherwise ? otherwise : [] {});
  detail::emit_switch(value.id(), values, bodies, where);
}

/// Waits for all threads of the block; orders their shared and global memory (K6, K7).
inline void barrier(std::source_location where = std::source_location::current()) {
  detail::emit_statement(ir::Op::Barrier, 0, where);
}
/// A named step of all threads of the block, ended by a barrier. What goes wrong in it, found while
/// tracing or by the Interpreter, is reported with the name. A step within a step has its own.
template <std::invocable F>
void superstep(std::string_view name, F body,
               std::source_location where = std::source_location::current()) {
  detail::emit_superstep(name, body, where);
}
enum class Scope : std::uint8_t { block = 0, device = 1 };
inline void fence(Scope scope, std::source_location where = std::source_location::current()) {
  detail::emit_statement(ir::Op::Fence, static_cast<std::uint8_t>(scope), where);
}
/// Marks the kernel being traced as never to be fused: it waits on other blocks (K6, W30).
inline void no_fuse() {
  detail::mark_no_fuse();
}

}  // namespace salvo
