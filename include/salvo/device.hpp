// Devices: what is there, and launching kernels on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "salvo/dims.hpp"
#include "salvo/kernel.hpp"
#include "salvo/properties.hpp"
#include "salvo/vector.hpp"

namespace salvo {

namespace runtime {
class DeviceState;
class StreamState;
}  // namespace runtime

namespace detail {

void launch(const std::shared_ptr<runtime::DeviceState>& device,
            const std::shared_ptr<KernelRecord>& kernel, const Dims& dims,
            std::span<const CallArgument> arguments, runtime::StreamState* stream = nullptr);
[[noreturn]] void scalar_out_of_range(const KernelRecord& kernel, std::size_t position,
                                      const Dims& dims);

/// How an argument of type A, const if the caller's is, meets parameter P: writes CallArguments, or
/// fails to compile.
template <class P>
struct Pack;

template <class T>
struct Pack<Span<T>> {
  using Plain = std::remove_const_t<T>;
  template <class A>
  static void pack(const A& argument, CallArgument* out, const KernelRecord&, std::size_t,
                   const Dims&) {
    constexpr bool is_vector = std::is_convertible_v<const A&, const VectorView<const Plain>&>;
    static_assert(is_vector,
                  "salvo: this parameter is a Span<T>; pass a Vector<T> or view of the same T");
    static_assert(!is_vector || Span<T>::read_only || std::is_convertible_v<A&, VectorView<Plain>>,
                  "salvo: this parameter is a Span<T>, which the kernel may write, and the vector "
                  "is const; a parameter that is only read is a Span<const T>");
    if constexpr (is_vector) {
      *out = static_cast<const VectorView<const Plain>&>(argument).argument();
    }
  }
};

template <class T>
struct Pack<Value<T>> {
  static std::size_t leaves() { return element_info<T>().leaves.size(); }
  template <class A>
  static void pack(const A& argument, CallArgument* out, const KernelRecord& kernel,
                   std::size_t position, const Dims& dims) {
    if constexpr (is_record<T>) {
      static_assert(std::is_same_v<std::remove_const_t<A>, T>,
                    "salvo: this parameter is a record; pass one of its type");
      const auto* bytes = reinterpret_cast<const unsigned char*>(&argument);
      for (const Leaf& leaf : element_info<T>().leaves) {
        std::memcpy(&out->bits, bytes + leaf.offset, ir::size_of(leaf.type));
        ++out;
      }
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      constexpr bool is_integer =
          std::is_integral_v<A> && !std::is_same_v<std::remove_const_t<A>, bool>;
      static_assert(is_integer, "salvo: this parameter is an integer; pass an integer");
      if constexpr (is_integer) {
        if (!std::in_range<T>(argument)) scalar_out_of_range(kernel, position, dims);
        out->bits = bits_of(static_cast<T>(argument));
      }
    } else {
      using Given = std::remove_const_t<A>;
      static_assert(
          std::is_same_v<Given, T> || (std::is_same_v<T, double> && std::is_same_v<Given, float>),
          "salvo: this parameter is a bool, float or double; pass exactly that (2.0f)");
      if constexpr (std::is_convertible_v<A, T>) out->bits = bits_of(static_cast<T>(argument));
    }
  }
};

template <class P>
constexpr bool is_record_value = false;
template <class S>
requires is_record<S>
constexpr bool is_record_value<Value<S>> = true;

template <class P>
std::size_t slots_of() {
  if constexpr (is_record_value<P>)
    return Pack<P>::leaves();
  else
    return 1;
}

/// Whether A is a structure of arrays; it is in soa.hpp.
template <class A>
constexpr bool is_soa = false;

/// The kernel with each parameter that `split` marks taken apart into a span per leaf of its record
/// (K13), made at the first need.
std::shared_ptr<KernelRecord> split_records(const std::shared_ptr<KernelRecord>& kernel,
                                            const std::vector<bool>& split);

/// Appends the arguments that stand for one parameter, by kernel parameter.
template <class P, class A>
void append(std::vector<CallArgument>& packed, std::vector<bool>& split, A& argument,
            const KernelRecord& kernel, std::size_t position, const Dims& dims) {
  if constexpr (is_soa<std::remove_const_t<A>>) {
    static_assert(std::is_same_v<std::remove_const_t<typename P::element>, typename A::record>,
                  "salvo: this parameter is a Span of another record than the SoaVector's");
    static_assert(P::read_only || !std::is_const_v<A>,
                  "salvo: this parameter is a Span<T>, which the kernel may write, and the vector "
                  "is const; a parameter that is only read is a Span<const T>");
    split.push_back(true);
    argument.append_columns(packed);
  } else {
    const std::size_t first = packed.size();
    packed.resize(first + slots_of<P>());
    split.resize(split.size() + slots_of<P>(), false);
    Pack<P>::template pack<A>(argument, packed.data() + first, kernel, position, dims);
  }
}

template <class... P, class... A>
void pack(const KernelRecord& kernel, const Dims& dims, CallArgument* out, A&... arguments) {
  std::size_t position = 0;
  ((Pack<P>::template pack<A>(arguments, out, kernel, position++, dims), out += slots_of<P>()),
   ...);
  static_cast<void>(out);
}

/// Packs the arguments of a launch call and hands them to `launch`, with the kernel that takes
/// them. Each A is const where the argument is.
template <class... P, class Launch, class... A>
void with_packed(const Kernel<P...>& kernel, const Dims& dims, Launch&& launch, A&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "salvo: wrong number of arguments for this kernel");
  if constexpr (sizeof...(P) == sizeof...(A)) {
    if constexpr ((is_soa<std::remove_const_t<A>> || ...)) {
      std::vector<CallArgument> packed;
      std::vector<bool> split;
      std::size_t position = 0;
      (append<P>(packed, split, arguments, *kernel.record(), position++, dims), ...);
      launch(split_records(kernel.record(), split), std::span<CallArgument>(packed));
    } else if constexpr ((is_record_value<P> || ...)) {
      std::vector<CallArgument> packed((slots_of<P>() + ... + 0));
      pack<P...>(*kernel.record(), dims, packed.data(), arguments...);
      launch(kernel.record(), std::span<CallArgument>(packed));
    } else {
      std::array<CallArgument, sizeof...(P)> packed{};
      pack<P...>(*kernel.record(), dims, packed.data(), arguments...);
      launch(kernel.record(), std::span<CallArgument>(packed));
    }
  }
}

}  // namespace detail

/// Device memory that Salvo has of one device, in bytes (R5).
struct MemoryStatistics {
  std::size_t in_use = 0;       // by vectors
  std::size_t cached = 0;       // freed, and kept for reuse
  std::size_t allocations = 0;  // requests that reached the driver
  std::size_t reuses = 0;       // requests that did not
};

/// A device of a backend. A cheap handle; any thread may use it.
class Device {
 public:
  /// Every usable device of the default runtime, best first.
  static std::vector<Device> all();
  /// SALVO_DEVICE if set, else a GPU, else Native, else another CPU. Throws Errc::no_device.
  static Device best();
  /// Devices of one backend; empty if it has none. Throws for an unknown backend name.
  static std::vector<Device> by_backend(std::string_view backend);
  /// The device with this id, "OpenCL:0". Throws Errc::no_device, listing what there is.
  static Device get(std::string_view id);

  /// @cond internal
  explicit Device(std::shared_ptr<runtime::DeviceState> state) : state_(std::move(state)) {}
  /// @endcond

  const std::string& id() const noexcept;       // "OpenCL:0"
  const std::string& backend() const noexcept;  // "OpenCL"
  const DeviceProperties& properties() const noexcept;
  /// What the device's compiler makes of multiplies and adds (W53): measured at the first need,
  /// once per runtime, and counted in no statistics. Throws what compiling and launching meet.
  FloatProbe float_probe() const;

  /// Launches a kernel. A Span<T> takes a Vector<T>, a VectorView<T> or a SoaVector<T>; a
  /// Span<const T> also const ones and a VectorView<const T>; a value takes a number or record of
  /// its type, or any integer that fits. The call checks its arguments, captures scalars and dims,
  /// and uploads what the device lacks; it may then hold the launch until the program observes the
  /// device (W1, W14). Throws what is wrong with the call (W57):
  /// Errc::invalid_argument for dims and arguments, unsupported where the device cannot run the
  /// kernel, out_of_memory, transfer_failed. What fails at issue is thrown by the call that
  /// observes, with this place in `launch_location()`.
  template <class... P, class... A>
  void launch(const Kernel<P...>& kernel, const Dims& dims, A&&... arguments) const {
    detail::with_packed(
        kernel, dims,
        [&](const std::shared_ptr<detail::KernelRecord>& record,
            std::span<const detail::CallArgument> packed) {
          detail::launch(state_, record, dims, packed);
        },
        arguments...);
  }

  /// Issues what is held for this device and waits until the device, its streams included, is idle.
  /// Throws what launches met (W58): Errc::compile_failed, launch_failed, check_failed,
  /// device_lost.
  void synchronize() const;

  /// What Salvo holds of the device's memory.
  MemoryStatistics memory() const;
  /// Issues what is held, waits for the device, and gives memory that is cached for reuse back to
  /// the driver: before another library needs it. Throws what `synchronize` throws.
  void release_cached_memory() const;

  /// Registers what can free device memory that Salvo does not know of, such as another library's
  /// cache. It is called, with the device idle, when a kernel is about to run that spills more
  /// registers than any before, and whenever that grows again: drivers then allocate scratch memory
  /// that may not fit beside caches. No lock of Salvo's is held: it may allocate and free vectors,
  /// and other threads go on, but wait for it where they launch. It launches and observes nothing:
  /// a launch that is not held throws Errc::invalid_argument. What it throws fails the launch that
  /// it was called for. It is kept as long as the device. Thread-safe.
  void on_scratch_drain(std::function<void()> reclaim) const;

  /// @cond internal
  const std::shared_ptr<runtime::DeviceState>& state() const noexcept { return state_; }
  /// @endcond

 private:
  std::shared_ptr<runtime::DeviceState> state_;
};

}  // namespace salvo
