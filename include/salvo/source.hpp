// Kernels in the device's own language.
// SPDX-License-Identifier: MIT
//
// `run_source` compiles and launches one; a RawKernel keeps it, with arguments that are set one by
// one. Nothing is known of what such code reads and writes: every vector it is given counts as
// both. A const vector is a word of the program's that the code only reads it. Launches are never
// held, and issue what is held on all devices first (W7).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "salvo/stream.hpp"

namespace salvo {

namespace runtime {
class Executable;
}

/// Source text, or PTX or SPIR-V as bytes. Name the members when you make one:
/// `Source{.language = "OpenCL C", .code = text, .entry = "scale"}`.
struct Source {
  std::string language;  // "OpenCL C", "CUDA C", "HIP", "MSL", "GLSL", "SPIR-V" or "PTX"
  std::string code;
  std::string entry;                      // the kernel's name in the code
  std::vector<std::string> options = {};  // for the device's compiler

  /// Reads a file whose extension says its language: .cl, .cu, .hip, .metal, .comp, .spv or .ptx.
  /// Throws Errc::io if it cannot be read, Errc::invalid_argument for another extension.
  static Source from_file(const std::string& path, std::string entry,
                          std::vector<std::string> options = {});
};

namespace detail {

template <class T>
SourceArgument source_argument(const VectorView<const T>& vector) {
  return {vector.argument(), true, 0};
}
template <class T>
requires is_scalar<T> SourceArgument source_argument(T value) {
  return {{nullptr, 0, 0, bits_of(value), false}, false, sizeof(T)};
}

using ExecutablePtr = std::shared_ptr<runtime::Executable>;
ExecutablePtr compile(const std::shared_ptr<runtime::DeviceState>& device, const Source& source,
                      const std::source_location& where);
void launch(const std::shared_ptr<runtime::DeviceState>& device, const std::string& entry,
            runtime::Executable& executable, const Dims& dims,
            std::span<const SourceArgument> arguments, runtime::StreamState* stream);

}  // namespace detail

/// Compiles, once per device, and launches. Arguments are vectors and views, passed as pointers,
/// and scalars of the parameters' exact types. Throws Errc::compile_failed with the compiler's
/// words in `log()`, Errc::unsupported for a language that the backend does not compile, and
/// Errc::invalid_argument for arguments that the kernel does not take, as far as the driver tells.
template <class... A>
void run_source(const Device& device, const Source& source, const Dims& dims,
                const A&... arguments) {
  const detail::ExecutablePtr code = detail::compile(device.state(), source, dims.where());
  const std::array<detail::SourceArgument, sizeof...(A)> packed{
      detail::source_argument(arguments)...};
  detail::launch(device.state(), source.entry, *code, dims, packed, nullptr);
}

/// A kernel of the program's own code whose arguments are set one by one, and stay set. Keeps the
/// vectors it was given alive. For one thread at a time.
class RawKernel {
 public:
  /// Compiles. Throws what run_source throws.
  RawKernel(const Device& device, const Source& source,
            std::source_location where = std::source_location::current());

  /// Sets the argument at `index`, counted from 0. Throws Errc::invalid_argument, naming the index,
  /// for one that the kernel does not have.
  template <class T>
  void set(std::size_t index, const VectorView<const T>& vector) {
    set_argument(index, {detail::source_argument(vector), vector.storage()});
  }
  template <class T>
  requires detail::is_scalar<T>
  void set(std::size_t index, T value) {
    set_argument(index, {detail::source_argument(value), {}});
  }
  /// Throws Errc::invalid_argument, naming them, if arguments are not set, and what run_source
  /// throws of a launch.
  void launch(const Dims& dims) const { launch(dims, nullptr); }
  /// The same on a stream. Throws Errc::invalid_argument for one of another device.
  void launch(const Stream& stream, const Dims& dims) const { launch(dims, stream.state().get()); }

  const std::string& entry() const noexcept { return entry_; }

 private:
  struct Argument {
    detail::SourceArgument value;
    detail::StoragePtr storage;
  };
  void set_argument(std::size_t index, Argument argument);
  void launch(const Dims& dims, runtime::StreamState* stream) const;

  Device device_;
  std::string entry_;
  detail::ExecutablePtr code_;
  std::vector<std::optional<Argument>> arguments_;
};

}  // namespace salvo
