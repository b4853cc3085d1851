// Kernels: a lambda over typed parameters, traced once into IR.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "salvo/contraction.hpp"
#include "salvo/span.hpp"

namespace salvo {

/// A traced kernel with parameters P...: Span<T>, or values (Int, Float, Value<Record>). A cheap
/// handle: copies are the same kernel. Immutable, so any thread may launch it.
template <class... P>
class Kernel {
 public:
  /// @cond internal
  explicit Kernel(std::shared_ptr<detail::KernelRecord> record) : record_(std::move(record)) {}
  /// @endcond
  const std::string& name() const;
  /// The IR as text (K15).
  std::string ir() const;
  /// Source for a target, "OpenCL" for one, without that device (K15): what a device with a fast
  /// fma compiles, fused multiply-adds included (W50). Throws Errc::invalid_argument for an unknown
  /// target, and Errc::unsupported for what the target's language cannot say.
  std::string source(const std::string& target) const;
  /// The same kernel, contracted in another way; kernels are `fixed` when they are made. A kernel
  /// of its own: a grant for one is none for the other.
  [[nodiscard]] Kernel contraction(Contraction mode) const;
  Contraction contraction() const;
  /// @cond internal
  const std::shared_ptr<detail::KernelRecord>& record() const noexcept { return record_; }
  /// @endcond

 private:
  std::shared_ptr<detail::KernelRecord> record_;
};

namespace detail {

const std::string& kernel_name(const KernelRecord& record);
std::string kernel_ir(const KernelRecord& record);
std::string kernel_source(const KernelRecord& record, const std::string& target);
Contraction kernel_contraction(const KernelRecord& record);
std::shared_ptr<KernelRecord> with_contraction(const KernelRecord& record, Contraction mode);

template <class P>
struct Parameter {
  static_assert(always_false<P>,
                "salvo: kernel parameters are Span<T>, values (Int, Float, ...) and Value<Record>");
};
template <class T>
struct Parameter<Span<T>> {
  static Span<T> declare() {
    return Span<T>(declare_span(element_info<std::remove_const_t<T>>(), std::is_const_v<T>));
  }
};
template <class T>
struct Parameter<Value<T>> {
  static Value<T> declare() {
    auto leaves = declare_value(element_info<T>());
    if constexpr (is_record<T>)
      return Value<T>(std::move(leaves));
    else
      return Value<T>(leaves[0]);
  }
};

// Parameters of a lambda's or function's signature.
template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... P>
struct Signature<R (*)(P...)> {
  static_assert(std::is_void_v<R>, "salvo: a kernel returns nothing");
  using kernel = Kernel<std::remove_cvref_t<P>...>;
  template <class F>
  static void call(F& body) {
    // Braces fix the order in which parameters are declared.
    std::tuple<std::remove_cvref_t<P>...> arguments{
        Parameter<std::remove_cvref_t<P>>::declare()...};
    std::apply(body, arguments);
  }
};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...)> : Signature<R (*)(P...)> {};
template <class R, class... P>
struct Signature<R (*)(P...) noexcept> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) const noexcept> : Signature<R (*)(P...)> {};
template <class R, class C, class... P>
struct Signature<R (C::*)(P...) noexcept> : Signature<R (*)(P...)> {};

/// Whether the parameters' types can be told: not those of an overloaded or generic function.
template <class F>
concept Callable = std::is_function_v<std::remove_pointer_t<F>> || requires {
  &F::operator();
};

}  // namespace detail

template <class... P>
const std::string& Kernel<P...>::name() const {
  return detail::kernel_name(*record_);
}
template <class... P>
std::string Kernel<P...>::ir() const {
  return detail::kernel_ir(*record_);
}
template <class... P>
Kernel<P...> Kernel<P...>::contraction(Contraction mode) const {
  return Kernel(detail::with_contraction(*record_, mode));
}
template <class... P>
Contraction Kernel<P...>::contraction() const {
  return detail::kernel_contraction(*record_);
}
template <class... P>
std::string Kernel<P...>::source(const std::string& target) const {
  return detail::kernel_source(*record_, target);
}

/// Traces `body`, a lambda or function over Span<T> and value parameters. What it captures by value
/// is a constant from here on. Throws Errc::invalid_kernel with file and line of the mistake.
template <class F>
auto kernel(std::string name, F body,
            std::source_location where = std::source_location::current()) {
  static_assert(detail::Callable<F>,
                "salvo: a kernel's parameters have types (Span<float>, Int, ...), not auto");
  if constexpr (detail::Callable<F>) {
    using Signature = detail::Signature<F>;
    return typename Signature::kernel(detail::trace_kernel(
        std::move(name), [&] { Signature::call(body); }, where));
  }
}

}  // namespace salvo
