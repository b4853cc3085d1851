// Vectors: host and device copies of an array, moved when needed and never otherwise.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include "salvo/detail/storage.hpp"
#include "salvo/types.hpp"

namespace salvo {

namespace detail {
template <class T>
concept counts = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
}

/// One element of a vector on the host: reading it observes the device, assigning writes the host's
/// copy. Both throw what VectorView::read throws. It is for the expression it stands in.
template <class T>
class Element {
 public:
  /// @cond internal
  Element(runtime::Storage& storage, std::size_t byte_offset)
      : storage_(storage), offset_(byte_offset) {}
  /// @endcond
  operator T() const { return get(); }
  T get() const {
    T value;
    std::memcpy(&value, detail::read_host(storage_) + offset_, sizeof value);
    return value;
  }
  Element& operator=(const T& value) {
    std::memcpy(detail::write_host(storage_) + offset_, &value, sizeof value);
    return *this;
  }
  Element& operator=(const Element& other) { return *this = other.get(); }
  Element(const Element&) = default;

#define SALVO_ELEMENT_COMPOUND(symbol)                                 \
  Element& operator symbol##=(const T& value) requires requires(T t) { \
    static_cast<T>(t symbol t);                                        \
  }                                                                    \
  { return *this = static_cast<T>(get() symbol value); }
  SALVO_ELEMENT_COMPOUND(+)
  SALVO_ELEMENT_COMPOUND(-)
  SALVO_ELEMENT_COMPOUND(*)
  SALVO_ELEMENT_COMPOUND(/)
  SALVO_ELEMENT_COMPOUND(%)
  SALVO_ELEMENT_COMPOUND(&)
  SALVO_ELEMENT_COMPOUND(|)
  SALVO_ELEMENT_COMPOUND(^)
  SALVO_ELEMENT_COMPOUND(<<)
  SALVO_ELEMENT_COMPOUND(>>)
#undef SALVO_ELEMENT_COMPOUND
  Element& operator++() requires detail::counts<T> {
    return *this = static_cast<T>(get() + T{1});
  }
  Element& operator--() requires detail::counts<T> {
    return *this = static_cast<T>(get() - T{1});
  }
  T operator++(int) requires detail::counts<T> {
    const T before = get();
    ++*this;
    return before;
  }
  T operator--(int) requires detail::counts<T> {
    const T before = get();
    --*this;
    return before;
  }

 private:
  runtime::Storage& storage_;
  std::size_t offset_;
};

template <class T>
class VectorView;

/// A part of a vector, or all of it, to read: shares its memory and state. It is what a const
/// vector gives. Cheap to copy; keeps the memory alive. Not itself synchronised: two threads may
/// read and launch at once, and a thread that writes needs the others to stand back, as with
/// standard containers.
///
/// Reading issues what is held and waits for the device, and so throws what launches met (W58):
/// Errc::launch_failed, out_of_memory, device_lost and the like; further failures are in
/// `Error::others()`.
template <class T>
class VectorView<const T> {
 public:
  using value_type = T;
  VectorView() = default;
  /// @cond internal
  VectorView(detail::StoragePtr storage, std::size_t first, std::size_t count)
      : storage_(std::move(storage)), first_(first), count_(count) {}
  /// @endcond

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }

  /// Observes: issues what is held if the device's copy is newer, then reads it back (W16), and
  /// throws what that meets. The span is valid until the vector is written, launched on, or gone.
  std::span<const T> read() const {
    if (count_ == 0) return {};
    return {reinterpret_cast<const T*>(detail::read_host(*storage_)) + first_, count_};
  }
  operator std::span<const T>() const { return read(); }

  /// One element, on the host: a read-back where the device's copy is newer. For many elements call
  /// `read` once. Throws Errc::invalid_argument past the end, and what `read` throws.
  T operator[](std::size_t index) const { return element(index).get(); }
  /// These throw what `read` throws.
  const T* begin() const { return read().data(); }
  const T* end() const { return read().data() + count_; }

  /// Elements first .. first + count - 1, sharing memory and state. Throws Errc::invalid_argument
  /// if they pass the end.
  VectorView view(std::size_t first, std::size_t count) const {
    check_part(first, count);
    return VectorView(storage_, first_ + first, count);
  }

  /// @cond internal
  const detail::StoragePtr& storage() const noexcept { return storage_; }
  detail::CallArgument argument() const noexcept {
    return {count_ ? storage_.get() : nullptr, first_ * sizeof(T), count_, 0, false};
  }
  /// @endcond

 protected:
  Element<T> element(std::size_t index) const {
    if (index >= count_) detail::index_out_of_range(index, count_);
    return Element<T>(*storage_, (first_ + index) * sizeof(T));
  }
  std::span<T> writable() const {
    if (count_ == 0) return {};
    return {reinterpret_cast<T*>(detail::write_host(*storage_)) + first_, count_};
  }
  void check_part(std::size_t first, std::size_t count) const {
    if (first > count_ || count > count_ - first) detail::view_out_of_range(first, count, count_);
  }

  detail::StoragePtr storage_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// A part of a vector, or all of it, to read and write. As with std::span, it is T that says
/// whether elements may be written, not the constness of the view: VectorView<const T> is for
/// reading, and each of these is one.
template <class T>
class VectorView : public VectorView<const T> {
 public:
  VectorView() = default;
  /// @cond internal
  VectorView(detail::StoragePtr storage, std::size_t first, std::size_t count)
      : VectorView<const T>(std::move(storage), first, count) {}
  /// @endcond

  /// Host elements to write; the device's copy is stale from here on (R3). What is newer on the
  /// device is read back first, so it throws what `read` throws.
  std::span<T> write() const { return this->writable(); }
  /// One element, on the host, to read and write. For many elements call `read` or `write` once.
  /// Throws Errc::invalid_argument past the end; what the Element throws comes when it is used.
  Element<T> operator[](std::size_t index) const { return this->element(index); }
  /// Elements first .. first + count - 1, sharing memory and state. Throws Errc::invalid_argument
  /// if they pass the end.
  VectorView view(std::size_t first, std::size_t count) const {
    this->check_part(first, count);
    return VectorView(this->storage_, this->first_ + first, count);
  }
};

/// An owning array of T, zero-initialised. Nothing is allocated on a device before its first use
/// there. Movable; copied by `clone()` alone. It may be destroyed while launches on it are held or
/// run: its memory lives as long as they need it (W15). Kernels index with 32 bits: a launch on
/// more than 2^31 - 1 elements is refused. What makes one throws Errc::out_of_memory.
///
/// A const vector can be read, and be an argument for Span<const T>. It becomes a
/// VectorView<const T>; one that is not const becomes a VectorView<T> too.
template <class T>
class Vector : public VectorView<const T> {
  static_assert(detail::is_element<T>,
                "salvo: vectors hold scalars and records registered with salvo::Record");

 public:
  Vector() = default;
  explicit Vector(std::size_t count)
      : VectorView<const T>(
            count ? detail::make_storage(detail::array_bytes(count, sizeof(T)), alignof(T))
                  : detail::StoragePtr(),
            0, count) {}
  Vector(std::size_t count, const T& value) : Vector(count) {
    std::ranges::fill(this->write(), value);
  }
  explicit Vector(std::span<const T> values) : Vector(values.size()) {
    std::ranges::copy(values, this->write().begin());
  }
  Vector(std::initializer_list<T> values)
      : Vector(std::span<const T>(values.begin(), values.size())) {}
  /// The other vector is empty afterwards.
  Vector(Vector&& other) noexcept { swap(other); }
  Vector& operator=(Vector&& other) noexcept {
    Vector taken(std::move(other));
    swap(taken);
    return *this;
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  /// A copy; observes, and throws what `read` throws.
  Vector clone() const { return Vector(this->read()); }

  /// As those of VectorView<T>.
  std::span<T> write() { return this->writable(); }
  Element<T> operator[](std::size_t index) { return this->element(index); }
  using VectorView<const T>::operator[];
  VectorView<T> view(std::size_t first, std::size_t count) {
    return VectorView<T>(*this).view(first, count);
  }
  using VectorView<const T>::view;
  operator VectorView<T>() noexcept {
    return VectorView<T>(this->storage_, this->first_, this->count_);
  }

 private:
  void swap(Vector& other) noexcept {
    std::swap(this->storage_, other.storage_);
    std::swap(this->first_, other.first_);
    std::swap(this->count_, other.count_);
  }
};

namespace detail {

template <class T>
std::type_identity<T> element_of(const VectorView<const T>& vector);  // never called

/// A vector or a view, of elements of type element_t.
template <class V>
concept vector_like = requires(const std::remove_reference_t<V>& vector) {
  element_of(vector);
};
template <vector_like V>
using element_t =
    typename decltype(element_of(std::declval<const std::remove_reference_t<V>&>()))::type;

/// Whether the elements of a V may be written: those of a const vector may not.
template <class V>
constexpr bool writable = std::is_convertible_v<V, VectorView<element_t<V>>>;

}  // namespace detail

}  // namespace salvo
