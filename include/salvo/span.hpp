// Memory in kernels: spans of vectors, shared arrays of a block, local arrays of a thread.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <source_location>

#include "salvo/record.hpp"
#include "salvo/value.hpp"

namespace salvo {

namespace detail {

/// An element index with the source line it was written on.
struct Index {
  template <operand I>
  requires(std::is_integral_v<operand_t<I>> && !std::is_same_v<operand_t<I>, bool>)
      Index(const I& index, std::source_location at = std::source_location::current())
      : where(at) {
    if constexpr (constant<I>) {
      id = constant_id<std::int64_t>(index);
    } else {
      id = index.id();
    }
  }
  ValueId id;
  std::source_location where;
};

}  // namespace detail

/// A vector as a kernel sees it: pointer and length. Span<const T> is read-only, and takes const
/// vectors. An index is not checked, but for the Interpreter (Errc::check_failed), and Native with
/// SALVO_NATIVE_CHECKS=1; elsewhere one past the end is undefined.
template <class T>
class Span {
 public:
  using element = std::remove_const_t<T>;
  static constexpr bool read_only = std::is_const_v<T>;
  /// @cond internal
  explicit Span(std::uint32_t memory) : memory_(memory) {}
  /// @endcond

  Ref<T> operator[](detail::Index index) const {
    return Ref<T>(detail::reserve(
        memory_, index.id, static_cast<std::uint32_t>(detail::leaf_count<element>()), index.where));
  }
  /// Elements of the vector, or of the view that was passed.
  Int64 size() const { return Int64(detail::emit_length(memory_)); }
  /// @cond internal
  std::uint32_t memory() const { return memory_; }
  /// @endcond

 private:
  std::uint32_t memory_;
};

namespace detail {

template <class T, bool IsShared>
class Array {
 public:
  Array(std::uint32_t count, const std::source_location& where)
      : memory_(make_array(IsShared, element_info<T>(), count, where)) {}
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  Ref<T> operator[](Index index) const {
    return Ref<T>(
        reserve(memory_, index.id, static_cast<std::uint32_t>(leaf_count<T>()), index.where));
  }
  std::uint32_t memory() const { return memory_; }

 private:
  std::uint32_t memory_;
};

}  // namespace detail

/// An array that all threads of a block share. Its size is fixed when the kernel is traced. A
/// launch throws Errc::unsupported on a device with less shared memory.
template <class T>
class Shared : public detail::Array<T, true> {
 public:
  explicit Shared(std::uint32_t count, std::source_location where = std::source_location::current())
      : detail::Array<T, true>(count, where) {}
};

/// Shared memory of as many bytes as the launch gives by `.shared(bytes)`, where giving none throws
/// Errc::invalid_argument. A second one in a kernel throws Errc::invalid_kernel.
template <class T>
class DynamicShared : public detail::Array<T, true> {
 public:
  explicit DynamicShared(std::source_location where = std::source_location::current())
      : detail::Array<T, true>(0, where) {}
};

/// An array of one thread. Throws Errc::invalid_kernel if it has no elements.
template <class T>
class LocalArray : public detail::Array<T, false> {
 public:
  explicit LocalArray(std::uint32_t count,
                      std::source_location where = std::source_location::current())
      : detail::Array<T, false>(count, where) {}
};

/// A host variable read anew at every launch, rather than fixed when the kernel is traced (W28).
/// `host` must outlive the kernel's launches.
template <class T>
Value<detail::computed_t<T>> live(const T& host) {
  static_assert(detail::is_scalar<T>, "salvo: live() takes scalars");
  return Value<detail::computed_t<T>>(detail::emit_live(detail::scalar_of<T>(), &host));
}

}  // namespace salvo
