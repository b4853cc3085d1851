// Explicit fusion: two kernels as one, without the vector that goes between them (W49).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "salvo/kernel.hpp"

namespace salvo {

/// Names the intermediate of `fuse`: parameter `From` of the producer, which it stores, is
/// parameter `To` of the consumer, which reads it. Parameters are counted from 0.
template <std::size_t From, std::size_t To>
struct Through {};
template <std::size_t From, std::size_t To>
inline constexpr Through<From, To> through{};

namespace detail {

template <class P>
struct SpanElement {
  static constexpr bool is_span = false;
  static constexpr bool is_written = false;
  using type = void;
};
template <class T>
struct SpanElement<Span<T>> {
  static constexpr bool is_span = true;
  static constexpr bool is_written = !std::is_const_v<T>;
  using type = std::remove_const_t<T>;
};

/// A record given by value is one parameter of the IR for each of its leaves.
template <class P>
std::size_t parameter_leaves() {
  if constexpr (SpanElement<P>::is_span) {
    return 1;
  } else {
    return leaf_count<typename P::type>();
  }
}

/// Where parameter `wanted` of a kernel stands in its IR.
template <class... P>
std::uint32_t ir_parameter(std::size_t wanted) {
  std::size_t position = 0, leaves = 0;
  ((leaves += position++ < wanted ? parameter_leaves<P>() : 0), ...);
  return static_cast<std::uint32_t>(leaves);
}

/// The parameters P... but the one at `Left`, as a list of types.
template <std::size_t Left, class Positions, class... P>
struct Without;
template <std::size_t Left, std::size_t... I, class... P>
struct Without<Left, std::index_sequence<I...>, P...> {
  using type = decltype(std::tuple_cat(
      std::declval<
          std::conditional_t<I == Left, std::tuple<>, std::tuple<std::type_identity<P>>>>()...));
};
template <std::size_t Left, class... P>
using without_t = typename Without<Left, std::index_sequence_for<P...>, P...>::type;

template <class First, class Second>
struct KernelOf;
template <class... P, class... C>
struct KernelOf<std::tuple<std::type_identity<P>...>, std::tuple<std::type_identity<C>...>> {
  using type = Kernel<P..., C...>;
};

/// A kernel with the place of the intermediate among the parameters of its IR.
struct FusePart {
  const KernelRecord& record;
  std::uint32_t intermediate;
};
std::shared_ptr<KernelRecord> fuse_kernels(FusePart producer, FusePart consumer,
                                           const std::source_location& where);

}  // namespace detail

/// The kernel that does the work of a producer and then of its consumer, with what goes from one to
/// the other in registers: wherever the consumer reads an element of the intermediate, the
/// producer's body computes it. Its parameters are the producer's and then the consumer's, each
/// without the intermediate. Launch it as the consumer would be launched.
///
///     auto both = salvo::fuse(squares, sum, salvo::through<1, 0>);
///     device.launch(both, salvo::grid(64).block(256), x, n, sums, n);
///
/// The consumer may be any kernel: element-wise, a reduction, a stencil that reads neighbours. The
/// producer is one-dimensional: its thread i stores element i of the intermediate and nothing else.
///
/// What is left in all other vectors has the bits that the two launches would leave there, with a
/// new intermediate, all zero, and a producer launched with a thread for each element that the
/// consumer reads. So an element that the producer's own guard leaves out is zero. Multiplies and
/// adds are fused in each of the two kernels on its own, never across (W50).
///
/// Throws Errc::invalid_kernel with the reason, and the line in the kernel where there is one:
/// - the producer has an atomic, a barrier or fence, a warp operation, a shared or local array;
/// - it reads another position or dimension than its global thread id, or stores at another element
///   (an index shift belongs to the consumer);
/// - it stores to another vector too, or reads the intermediate;
/// - whether it stores depends on data, so that an element might keep what was there before;
/// - one of the two asks for the intermediate's length, which has none any more;
/// - the consumer stores to the intermediate, or never reads it;
/// - the two differ in their contraction, or the producer is marked `no_fuse`.
///
/// A launch of the result throws Errc::invalid_argument where a vector that the consumer writes
/// overlaps one that the producer reads, because elements would be read after they were written;
/// unless both happen at the same element in the same thread, which is in place.
///
/// Thread-safe. A merged kernel can be fused again.
template <class... P, class... C, std::size_t From, std::size_t To>
auto fuse(const Kernel<P...>& producer, const Kernel<C...>& consumer, Through<From, To>,
          std::source_location where = std::source_location::current()) {
  static_assert(From < sizeof...(P), "salvo: the producer has no such parameter");
  static_assert(To < sizeof...(C), "salvo: the consumer has no such parameter");
  using Stored = detail::SpanElement<std::tuple_element_t<From, std::tuple<P...>>>;
  using Read = detail::SpanElement<std::tuple_element_t<To, std::tuple<C...>>>;
  static_assert(Stored::is_written, "salvo: the producer does not write that parameter");
  static_assert(Read::is_span, "salvo: the consumer does not read that parameter");
  static_assert(std::is_same_v<typename Stored::type, typename Read::type>,
                "salvo: producer and consumer differ in the intermediate's element type");
  using Fused =
      typename detail::KernelOf<detail::without_t<From, P...>, detail::without_t<To, C...>>::type;
  return Fused(detail::fuse_kernels({*producer.record(), detail::ir_parameter<P...>(From)},
                                    {*consumer.record(), detail::ir_parameter<C...>(To)}, where));
}

}  // namespace salvo
