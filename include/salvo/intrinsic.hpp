// Operations of the program's own in kernels, written in the languages of the backends (K11).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "salvo/span.hpp"

namespace salvo {

using Convergence = ir::Convergence;

/// Code by backend name ("OpenCL", "CUDA/C", "CUDA/PTX", "Vulkan" ...), with `{0}`, `{1}` ... for
/// the arguments. Each argument is a name or a constant, so it needs no parentheses.
///
/// Of an intrinsic, in OpenCL C and CUDA C an expression, or statements that assign to `{result}`;
/// in PTX instructions that leave the value in `{result}`; on Vulkan, whose code has no text,
/// "GLSL.std.450 <number of an instruction>". Of native code, statements: a span argument is a
/// pointer to the view's first element (in PTX the register with its global address). Vulkan takes
/// no native code.
using CodeByBackend = std::map<std::string, std::string>;

struct IntrinsicTraits {
  /// Without effect, and the same for the same operands. An impure one is never part of an epilogue
  /// (W39).
  bool pure = true;
  /// Which threads must reach it together; tracing checks that they do (K7).
  Convergence convergence = Convergence::thread;
};

namespace detail {

/// Throws Errc::invalid_argument for an unknown backend.
std::shared_ptr<ir::UserCode> make_user_code(std::string name, const CodeByBackend& code,
                                             ir::HostBody host, const IntrinsicTraits& traits);
void define_user_code(ir::UserCode& user, const std::string& backend, std::string code);
void define_user_code(ir::UserCode& user, ir::HostBody host);
[[noreturn]] void host_index_out_of_range(std::size_t index, std::size_t size);

template <class T>
T host_value(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace detail

/// A vector as the host's body of native code sees it. An index past its end is an error.
template <class T>
class HostSpan {
 public:
  /// @cond internal
  explicit HostSpan(const ir::HostArgument& argument)
      : data_(reinterpret_cast<T*>(argument.data)),
        size_(static_cast<std::size_t>(argument.length)) {}
  /// @endcond
  T& operator[](std::size_t index) const {
    if (index >= size_) detail::host_index_out_of_range(index, size_);
    return data_[index];
  }
  std::size_t size() const noexcept { return size_; }

 private:
  T* data_;
  std::size_t size_;
};

template <class F>
class Intrinsic;

/// A function of up to four values that kernels can call, registered by making one:
///
///   const salvo::Intrinsic<float(float, float)> rotate_add(
///       "rotate_add", {{"OpenCL", "as_float(rotate(as_int({0}), 8)) + {1}"}}, host_function);
///
/// A kernel that uses it is launched alone or merged as a consumer, never with others as one launch
/// (W28). A launch on a backend it has no code for is refused at the call, by name; the interpreter
/// runs the host's function. A cheap handle: copies are the same intrinsic. Thread-safe.
template <class R, class... A>
class Intrinsic<R(A...)> {
  static_assert(detail::is_scalar<R> && (detail::is_scalar<A> && ...) && sizeof...(A) <= 4,
                "salvo: an intrinsic takes up to four scalars and gives one");
  static_assert(std::is_same_v<R, detail::computed_t<R>> &&
                    (std::is_same_v<A, detail::computed_t<A>> && ...),
                "salvo: values have 32 or 64 bits; narrow types exist in memory only");

 public:
  using Host = std::function<R(A...)>;

  /// Throws Errc::invalid_argument for an unknown backend name, listing the known ones.
  Intrinsic(std::string name, const CodeByBackend& code, Host host = nullptr,
            const IntrinsicTraits& traits = {})
      : code_(detail::make_user_code(std::move(name), code, wrap(std::move(host)), traits)) {}

  /// Replaces the code for a backend, or gives it one. Kernels that run already keep the old code
  /// until clear_launch_cache() (W72).
  void define(const std::string& backend, std::string code) const {
    detail::define_user_code(*code_, backend, std::move(code));
  }
  void define(Host host) const { detail::define_user_code(*code_, wrap(std::move(host))); }

  /// In a kernel. Constants and references become values as they do elsewhere.
  Value<R> operator()(Value<A>... values,
                      std::source_location where = std::source_location::current()) const {
    return Value<R>(detail::emit_intrinsic(code_, detail::scalar_of<R>(), {values.id()...}, where));
  }

 private:
  static ir::HostBody wrap(Host host) {
    if (!host) return nullptr;
    return [host = std::move(host)](std::span<const ir::HostArgument> arguments) {
      return call(host, arguments, std::index_sequence_for<A...>{});
    };
  }
  template <std::size_t... I>
  static std::uint64_t call(const Host& host, std::span<const ir::HostArgument> arguments,
                            std::index_sequence<I...>) {
    return detail::bits_of<R>(host(detail::host_value<A>(arguments[I].bits)...));
  }

  std::shared_ptr<ir::UserCode> code_;
};

namespace detail {

// How native code takes an argument: what the kernel passes and what the host's body gets.
template <class A>
struct NativeArgument {
  static_assert(operand<A>, "salvo: native code takes spans and values");
  using type = std::conditional_t<traced<A>, computed_t<operand_t<A>>, operand_t<A>>;
  static UserArgument pass(const A& value) { return {.value = Value<type>(value).id()}; }
  static type receive(const ir::HostArgument& argument) { return host_value<type>(argument.bits); }
};
template <class T>
struct NativeArgument<Span<T>> {
  static UserArgument pass(const Span<T>& span) { return {.memory = span.memory()}; }
  static HostSpan<T> receive(const ir::HostArgument& argument) { return HostSpan<T>(argument); }
};

template <class Host, class... A, std::size_t... I>
ir::HostBody native_body(Host host, std::index_sequence<I...>) {
  return [host = std::move(host)](std::span<const ir::HostArgument> arguments) -> std::uint64_t {
    host(NativeArgument<A>::receive(arguments[I])...);
    return 0;
  };
}

}  // namespace detail

/// Code by backend, and the line in the program that it stands on.
class NativeCode {
 public:
  NativeCode(std::initializer_list<CodeByBackend::value_type> code,
             std::source_location where = std::source_location::current())
      : code_(code), where_(where) {}
  const CodeByBackend& code() const noexcept { return code_; }
  const std::source_location& where() const noexcept { return where_; }

 private:
  CodeByBackend code_;
  std::source_location where_;
};

/// Code of the program's own at this place in a kernel, run by each thread that comes there. It may
/// read and write what it likes of the vectors that the launch binds, so every one of them counts
/// as read and written, and the kernel is never fused (W8, W30).
///
///   salvo::native({{"OpenCL", "{0}[{1}] = as_float({2});"}},
///                 [](salvo::HostSpan<float> y, int i, int bits) { ... }, y, i, bits);
///
/// Arguments are spans, and up to four values. `host` is what the interpreter runs; pass nullptr if
/// there is none. A launch on a backend that has no code here is refused at the call.
template <class Host, class... A>
void native(const NativeCode& code, Host host, const A&... arguments) {
  ir::HostBody body;
  if constexpr (!std::is_same_v<Host, std::nullptr_t>) {
    body = detail::native_body<Host, A...>(std::move(host), std::index_sequence_for<A...>{});
  }
  detail::emit_native(detail::make_user_code("native code", code.code(), std::move(body),
                                             {.pure = false, .convergence = Convergence::thread}),
                      {detail::NativeArgument<A>::pass(arguments)...}, code.where());
}

}  // namespace salvo
