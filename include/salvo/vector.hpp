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

/// One element of a vector on the host: reading it observes the device, assigning writes the host's
/// copy.
template <class T>
class Element {
 public:
  Element(runtime::Storage& storage, std::size_t byte_offset)
      : storage_(storage), offset_(byte_offset) {}
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
  Element& operator+=(const T& value) requires std::is_arithmetic_v<T> {
    return *this = static_cast<T>(get() + value);
  }

 private:
  runtime::Storage& storage_;
  std::size_t offset_;
};

/// A part of a vector, or all of it: shares its memory and state. Cheap to copy; keeps the memory
/// alive. Not itself synchronised: two threads may read and launch at once, and a thread that
/// writes needs the others to stand back, as with standard containers.
///
/// Reading issues what is held and waits for the device, and so throws what launches met (W58):
/// Errc::launch_failed, out_of_memory, device_lost and the like; further failures are in
/// `Error::others()`. An index or a part that is out of range throws Errc::invalid_argument.
template <class T>
class VectorView {
 public:
  using value_type = T;
  VectorView() = default;
  VectorView(detail::StoragePtr storage, std::size_t first, std::size_t count)
      : storage_(std::move(storage)), first_(first), count_(count) {}

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }

  /// Observes: issues what is held if the device's copy is newer, then reads it back (W16). The
  /// span is valid until the vector is written, launched on, or gone.
  std::span<const T> read() const {
    if (count_ == 0) return {};
    return {reinterpret_cast<const T*>(detail::read_host(*storage_)) + first_, count_};
  }
  /// Host elements to write; the device's copy is stale from here on (R3).
  std::span<T> write() {
    if (count_ == 0) return {};
    return {reinterpret_cast<T*>(detail::write_host(*storage_)) + first_, count_};
  }
  operator std::span<const T>() const { return read(); }

  /// One element, on the host: a read-back where the device's copy is newer. For many elements call
  /// `read` or `write` once.
  T operator[](std::size_t index) const {
    if (index >= count_) detail::index_out_of_range(index, count_);
    return Element<T>(*storage_, (first_ + index) * sizeof(T)).get();
  }
  Element<T> operator[](std::size_t index) {
    if (index >= count_) detail::index_out_of_range(index, count_);
    return Element<T>(*storage_, (first_ + index) * sizeof(T));
  }
  const T* begin() const { return read().data(); }
  const T* end() const { return read().data() + count_; }

  /// Elements first .. first + count - 1, sharing memory and state.
  VectorView view(std::size_t first, std::size_t count) const {
    if (first > count_ || count > count_ - first) detail::view_out_of_range(first, count, count_);
    return VectorView(storage_, first_ + first, count);
  }

  const detail::StoragePtr& storage() const noexcept { return storage_; }
  detail::CallArgument argument() const noexcept {
    return {count_ ? storage_.get() : nullptr, first_ * sizeof(T), count_, 0, false};
  }

 protected:
  detail::StoragePtr storage_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// An owning array of T, zero-initialised. Nothing is allocated on a device before its first use
/// there. Movable; copied by `clone()` alone. It may be destroyed while launches on it are held or
/// run: its memory lives as long as they need it (W15). Kernels index with 32 bits: a launch on
/// more than 2^31 - 1 elements is refused. Throws Errc::out_of_memory.
template <class T>
class Vector : public VectorView<T> {
  static_assert(detail::is_element<T>,
                "salvo: vectors hold scalars and records registered with salvo::Record");

 public:
  Vector() = default;
  explicit Vector(std::size_t count)
      : VectorView<T>(count
                          ? detail::make_storage(detail::array_bytes(count, sizeof(T)), alignof(T))
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
  Vector clone() const { return Vector(this->read()); }

 private:
  void swap(Vector& other) noexcept {
    std::swap(this->storage_, other.storage_);
    std::swap(this->first_, other.first_);
    std::swap(this->count_, other.count_);
  }
};

}  // namespace salvo
