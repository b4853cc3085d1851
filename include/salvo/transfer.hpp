// Moving data by hand: parts of vectors, pinned memory, filling, and raw device addresses.
// SPDX-License-Identifier: MIT
//
// Vectors move by themselves when they are used; nothing here is needed for a right program. Counts
// and positions are elements. Ranges are checked: a range past the end throws
// Errc::invalid_argument. What moves data throws Errc::transfer_failed, out_of_memory or
// device_lost besides, and what launches met (W58). What writes a vector takes no const one, and no
// view of const elements. Unless it says otherwise, a call issues what is held on all devices first
// (W19), is done with the host's memory when it returns, and keeps the vectors' states right: a
// partial write leaves the other elements as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "salvo/control.hpp"
#include "salvo/position.hpp"
#include "salvo/stream.hpp"

namespace salvo {

namespace runtime {
class HostMemory;
}

namespace detail {

/// A range of a vector in bytes, checked.
struct ByteRange {
  runtime::Storage* storage = nullptr;  // null: no bytes
  std::size_t first = 0;
  std::size_t bytes = 0;
};

template <class T>
ByteRange byte_range(const VectorView<const T>& vector, std::size_t first, std::size_t count) {
  if (first > vector.size() || count > vector.size() - first) {
    view_out_of_range(first, count, vector.size());
  }
  if (count == 0) return {};
  return {vector.storage().get(), vector.argument().byte_offset + first * sizeof(T),
          count * sizeof(T)};
}
/// The same of a vector that is written.
template <class V>
ByteRange written_range(const V& vector, std::size_t first, std::size_t count) {
  return byte_range<element_t<V>>(vector, first, count);
}

template <class V>
constexpr void require_writable() {
  static_assert(writable<V>, "salvo: this vector is const, or a view of const elements");
}

using DevicePtr = std::shared_ptr<runtime::DeviceState>;
using HostMemoryPtr = std::shared_ptr<runtime::HostMemory>;

/// The device a storage has its memory on; null if none.
DevicePtr device_of(const runtime::Storage* storage);
void upload(const DevicePtr& device, const CallArgument& vector);
void free_on_device(runtime::Storage* storage);
void copy_to_device(const DevicePtr& device, const ByteRange& to, const void* from);
void copy_to_host(const ByteRange& from, void* to);
void copy(const ByteRange& from, const ByteRange& to);
void copy(runtime::StreamState& stream, const ByteRange& from, const ByteRange& to);
void stage_to_device(runtime::StreamState& stream, const ByteRange& to, runtime::HostMemory* from,
                     std::size_t from_first);
void stage_to_host(runtime::StreamState& stream, const ByteRange& from, runtime::HostMemory* to,
                   std::size_t to_first);
HostMemoryPtr allocate_host(const DevicePtr& device, std::size_t bytes);
HostMemoryPtr register_host(const DevicePtr& device, void* data, std::size_t bytes);
void release_host(HostMemoryPtr memory, bool registered);
void* data_of(const runtime::HostMemory& memory) noexcept;
/// Launches a kernel that stores every element of its first argument, and reads none.
void launch_overwriting(const DevicePtr& device, const std::shared_ptr<KernelRecord>& kernel,
                        const Dims& dims, std::span<CallArgument> arguments,
                        std::size_t element_bytes);

template <class T>
void fill_elements(const Device& device, const CallArgument& to, const T& value,
                   const std::source_location& where) {
  using Plain = computed_t<T>;
  // Never destroyed: other threads may fill while the program exits.
  static const auto& filled = *new auto(kernel("fill", [](Span<T> x, Value<Plain> one, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = one; });
  }));
  const Dims dims = over(static_cast<std::int64_t>(to.length), where);
  const KernelRecord& record = *filled.record();
  std::vector<CallArgument> packed(1 + slots_of<Value<Plain>>() + 1);
  packed[0] = to;
  Pack<Value<Plain>>::pack(static_cast<Plain>(value), &packed[1], record, 1, dims);
  packed.back().bits = to.length;
  launch_overwriting(device.state(), filled.record(), dims, packed, sizeof(T));
}

}  // namespace detail

/// Host memory that a device reaches directly, which asynchronous copies need: allocated with
/// `alloc_pinned`, or the program's own, registered with `register_host`. Movable. It must not be
/// touched while a copy uses it; the copy's event says when it no longer does. Destroying it waits
/// for its copies; a failure then is thrown by the next call that may throw.
template <class T>
class Pinned {
  static_assert(std::is_trivially_copyable_v<T>, "salvo: pinned memory holds plain data");

 public:
  Pinned() = default;
  /// @cond internal
  Pinned(detail::HostMemoryPtr memory, std::size_t count)
      : memory_(std::move(memory)), count_(count) {}
  /// @endcond
  /// The other one is empty afterwards.
  Pinned(Pinned&& other) noexcept
      : memory_(std::move(other.memory_)), count_(std::exchange(other.count_, 0)) {}
  Pinned& operator=(Pinned&& other) noexcept {
    memory_ = std::move(other.memory_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  T* data() noexcept { return elements(); }
  const T* data() const noexcept { return elements(); }
  /// Throws Errc::invalid_argument past the end.
  T& operator[](std::size_t index) {
    check(index);
    return elements()[index];
  }
  const T& operator[](std::size_t index) const {
    check(index);
    return elements()[index];
  }
  T* begin() noexcept { return elements(); }
  T* end() noexcept { return elements() + count_; }
  const T* begin() const noexcept { return elements(); }
  const T* end() const noexcept { return elements() + count_; }

  /// @cond internal
  const detail::HostMemoryPtr& memory() const noexcept { return memory_; }
  detail::HostMemoryPtr take() noexcept {
    count_ = 0;
    return std::move(memory_);
  }
  /// @endcond

 private:
  T* elements() const noexcept {
    return memory_ ? static_cast<T*>(detail::data_of(*memory_)) : nullptr;
  }
  void check(std::size_t index) const {
    if (index >= count_) detail::index_out_of_range(index, count_);
  }

  detail::HostMemoryPtr memory_;
  std::size_t count_ = 0;
};

/// `count` zeroed elements. Throws Errc::unsupported on a backend without pinned memory, and
/// Errc::out_of_memory.
template <class T>
Pinned<T> alloc_pinned(const Device& device, std::size_t count) {
  if (count == 0) return {};
  return {detail::allocate_host(device.state(), detail::array_bytes(count, sizeof(T))), count};
}
/// Frees now, after the copies that use it, and throws what they met. It is empty afterwards.
template <class T>
void free_pinned(Pinned<T>& memory) {
  detail::release_host(memory.take(), false);
}
/// Lets the device reach the program's own memory, which must outlive the result. Throws as
/// alloc_pinned does.
template <class T>
Pinned<T> register_host(const Device& device, std::span<T> memory) {
  if (memory.empty()) return {};
  return {detail::register_host(device.state(), memory.data(), memory.size_bytes()), memory.size()};
}
/// Ends it now, after the copies that use it, and throws what they met. It is empty afterwards.
template <class T>
void unregister_host(Pinned<T>& memory) {
  detail::release_host(memory.take(), true);
}

/// Uploads what is stale on the device. Issues what is held only if a held launch uses the vector
/// (W17).
template <class T>
void to_device(const Device& device, const VectorView<const T>& vector) {
  detail::upload(device.state(), vector.argument());
}
/// Brings the host's copy up to date; issues what is held only if the device's is newer (W16).
template <class T>
void to_host(const VectorView<const T>& vector) {
  static_cast<void>(vector.read());
}
/// Gives a vector's device memory back for other vectors; its bytes move to the host first.
template <class T>
void free_on_device(const VectorView<const T>& vector) {
  detail::free_on_device(vector.storage().get());
}
/// Issues what is held for this device and makes it start; never waits (W18, W22).
void flush(const Device& device);

/// Writes elements of `to` on the device, from `first` on.
template <detail::vector_like V>
void copy_to_device(const Device& device, V&& to, std::size_t first,
                    std::span<const detail::element_t<V>> from) {
  detail::require_writable<V>();
  detail::copy_to_device(device.state(), detail::written_range(to, first, from.size()),
                         from.data());
}
/// Reads elements of `from`, from `first` on. Of a vector whose device copy is newer only these
/// elements are moved, and its state stays.
template <class T>
void copy_to_host(const VectorView<const T>& from, std::size_t first,
                  std::type_identity_t<std::span<T>> to) {
  detail::copy_to_host(detail::byte_range(from, first, to.size()), to.data());
}
/// Copies where the data is: within a device, or straight to another that has a copy of `to`, where
/// the two have a way; else through the host. The ranges may overlap.
template <class T, detail::vector_like V>
void copy(const VectorView<const T>& from, std::size_t from_first, V&& to, std::size_t to_first,
          std::size_t count) {
  static_assert(std::is_same_v<detail::element_t<V>, T>, "salvo: the element types differ");
  detail::require_writable<V>();
  detail::copy(detail::byte_range(from, from_first, count),
               detail::written_range(to, to_first, count));
}
/// The same as work of a stream, on its device: it returns at once. Overlapping ranges of one
/// vector throw Errc::invalid_argument.
template <class T, detail::vector_like V>
void copy(const Stream& stream, const VectorView<const T>& from, std::size_t from_first, V&& to,
          std::size_t to_first, std::size_t count) {
  static_assert(std::is_same_v<detail::element_t<V>, T>, "salvo: the element types differ");
  detail::require_writable<V>();
  detail::copy(*stream.state(), detail::byte_range(from, from_first, count),
               detail::written_range(to, to_first, count));
}

namespace detail {
template <class T>
void check_pinned(const Pinned<T>& memory, std::size_t first, std::size_t count) {
  if (first > memory.size() || count > memory.size() - first) {
    view_out_of_range(first, count, memory.size());
  }
}
}  // namespace detail

/// Copies pinned elements to `to` on the stream's device and returns at once. The event says when
/// `from` may be touched again.
template <detail::vector_like V>
Event stage_to_device(const Stream& stream, V&& to, std::size_t first,
                      const Pinned<detail::element_t<V>>& from, std::size_t from_first,
                      std::size_t count) {
  detail::require_writable<V>();
  detail::check_pinned(from, from_first, count);
  detail::stage_to_device(*stream.state(), detail::written_range(to, first, count),
                          from.memory().get(), from_first * sizeof(detail::element_t<V>));
  return stream.record();
}
/// The same for launches on no stream.
template <detail::vector_like V>
Event stage_to_device(const Device& device, V&& to, std::size_t first,
                      const Pinned<detail::element_t<V>>& from, std::size_t from_first,
                      std::size_t count) {
  return stage_to_device(Stream::default_of(device), to, first, from, from_first, count);
}
/// Copies elements of `from` to pinned memory and returns at once. The event says when they are
/// there; the vector's state stays.
template <class T>
Event stage_to_host(const Stream& stream, const VectorView<const T>& from, std::size_t first,
                    Pinned<T>& to, std::size_t to_first, std::size_t count) {
  detail::check_pinned(to, to_first, count);
  detail::stage_to_host(*stream.state(), detail::byte_range(from, first, count), to.memory().get(),
                        to_first * sizeof(T));
  return stream.record();
}

/// Sets every element to `value`, bit for bit, by an ordinary launch: it may be held and fused. A
/// view's neighbours stay.
template <detail::vector_like V>
void fill(const Device& device, V&& to, const detail::element_t<V>& value,
          std::source_location where = std::source_location::current()) {
  using T = detail::element_t<V>;
  detail::require_writable<V>();
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    // As a number it would lose the payload of a NaN on its way.
    detail::fill_elements<std::uint16_t>(device, to.argument(), value.bits, where);
  } else {
    detail::fill_elements<T>(device, to.argument(), value, where);
  }
}
/// On the device that has the vector's memory, else on the default one.
template <detail::vector_like V>
void fill(V&& to, const detail::element_t<V>& value,
          std::source_location where = std::source_location::current()) {
  const detail::DevicePtr there = detail::device_of(to.storage().get());
  fill(there ? Device(there) : Device::best(), to, value, where);
}

/// Where a vector is in a device's memory, for code outside the library.
struct DeviceMemory {
  std::uintptr_t handle = 0;    // the backend's own: a cl_mem, for one
  std::uint64_t address = 0;    // of the view's first element; 0 where the API has no addresses
  std::size_t byte_offset = 0;  // of the view's first element in the memory that `handle` names
};

namespace detail {
DeviceMemory device_memory(const DevicePtr& device, const CallArgument& vector);
StoragePtr adopt_memory(const DevicePtr& device, std::uint64_t address, std::size_t bytes);
}  // namespace detail

/// Hands out a vector's device memory, current, when all work on the device is done (W24). From
/// here on launches that touch the vector are not held. The device's copy counts as written: the
/// host reads it back at the next use. After later writes from outside call it again before the
/// host reads. The memory stays where it is until the vector is used on another device, freed there
/// or gone. That of a const vector is only to be read. Throws Errc::invalid_argument for an empty
/// vector.
template <class T>
DeviceMemory device_memory(const Device& device, const VectorView<const T>& vector) {
  return detail::device_memory(device.state(), vector.argument());
}

/// A view of `count` elements that another library has in this device's memory, from `address` on:
/// a CUDA device pointer of the same process, or on Native any host memory. The memory stays the
/// other library's: it must outlive the view and the work on it, it is not moved to other devices,
/// and launches that touch it are not held (W24). With a const T it is only read. Work that was
/// queued elsewhere is ordered by the caller, with `Stream::wrap` or by waiting. The device's copy
/// counts as the newer one; after later writes from outside call `device_memory` before the host
/// reads. Throws Errc::invalid_argument for an address that is no memory of this device, on Native
/// only for 0, and Errc::unsupported on backends but CUDA/PTX, CUDA/C, HIP and Native.
template <class T>
VectorView<T> wrap_device_memory(const Device& device, std::uint64_t address, std::size_t count) {
  static_assert(detail::is_element<std::remove_const_t<T>>,
                "salvo: views hold scalars and records registered with salvo::Record");
  if (count == 0) return {};
  return {detail::adopt_memory(device.state(), address, detail::array_bytes(count, sizeof(T))), 0,
          count};
}

}  // namespace salvo
