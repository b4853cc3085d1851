// The backend that runs kernels on the host by interpreting their IR, with every check on.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/interpreter_backend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <new>
#include <thread>

#include "backends/interpreter/launch.hpp"
#include "codegen/features.hpp"
#include "ir/print.hpp"
#include "ir/verify.hpp"

namespace salvo::backends::interpreter {
namespace {

Error backend_error(Errc code, std::string operation, std::string message) {
  Error::Details details;
  details.code = code;
  details.message = std::move(message);
  details.backend = "Interpreter";
  details.operation = std::move(operation);
  return Error(std::move(details));
}

std::uint64_t host_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
             : 0;
}

/// All that a device supported here is known to have.
std::vector<CooperativeMatrixShape> cooperative_matrices() {
  using ir::Scalar;
  std::vector<CooperativeMatrixShape> all;
  constexpr std::array<std::array<std::uint32_t, 3>, 5> kShapes{
      {{16, 16, 16}, {16, 8, 16}, {16, 8, 8}, {8, 8, 16}, {8, 8, 8}}};
  for (const auto& [m, n, k] : kShapes) {
    all.push_back({m, n, k, Scalar::F16, Scalar::F32});
    all.push_back({m, n, k, Scalar::F16, Scalar::F16});
    all.push_back({m, n, k, Scalar::BF16, Scalar::F32});
  }
  return all;
}

DeviceProperties make_properties(const Options& options) {
  DeviceProperties properties;
  properties.name = "Interpreter";
  properties.vendor = "Salvo";
  properties.driver_version = "1.0";
  properties.is_cpu = true;
  properties.is_integrated = true;
  properties.memory_bytes = host_memory_bytes();
  properties.max_allocation_bytes = properties.memory_bytes;
  properties.shared_bytes_per_block = kMaxSharedBytes;
  properties.max_threads_per_block = kMaxThreadsPerBlock;
  properties.max_block = {kMaxThreadsPerBlock, kMaxThreadsPerBlock, kMaxThreadsPerBlock};
  // Indices are I32.
  properties.max_grid.fill(std::numeric_limits<std::int32_t>::max());
  properties.compute_units =
      options.workers != 0 ? options.workers : std::max(1u, std::thread::hardware_concurrency());
  properties.warp_size = options.warp_size;
  properties.fp64 = true;
  properties.fp16_storage = true;
  properties.atomics_i64 = true;
  properties.atomics_f32 = true;
  properties.atomics_f64 = true;
  properties.warp_operations = true;
  properties.fast_fma = true;
  properties.exact_arithmetic = true;
  properties.cooperative_matrices = cooperative_matrices();
  return properties;
}

class InterpreterExecutable final : public runtime::Executable {
 public:
  explicit InterpreterExecutable(const ir::Kernel& kernel) : code(kernel) {}
  std::uint32_t max_threads_per_block() const noexcept override { return kMaxThreadsPerBlock; }

  const Code code;
};

/// Work is done as soon as it is asked for, so there is nothing to keep.
class InterpreterQueue final : public runtime::Queue {};

class InterpreterDriver final : public runtime::DeviceDriver {
 public:
  explicit InterpreterDriver(const Options& options)
      : options_(options), properties_(make_properties(options)) {}

  const DeviceProperties& properties() const noexcept override { return properties_; }

  runtime::Buffer allocate(std::size_t bytes) override {
    // The host would promise more than it has, and end the process when it is used.
    if (properties_.memory_bytes != 0 && bytes > properties_.max_allocation_bytes) {
      throw backend_error(
          Errc::out_of_memory, "allocate",
          fmt::format("{} bytes, of {} that the host has", bytes, properties_.memory_bytes));
    }
    try {
      auto allocation = std::make_unique<Allocation>(bytes);
      return {reinterpret_cast<std::uintptr_t>(allocation.release()), bytes};
    } catch (const std::bad_alloc&) {
      throw backend_error(Errc::out_of_memory, "allocate",
                          fmt::format("the host has no {} bytes left", bytes));
    }
  }

  void release(runtime::Buffer buffer) noexcept override { delete allocation_of(buffer); }

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions&) const override {
    codegen::require(kernel, properties_, "Interpreter");
    return {kernel.name, ir::print(kernel), {}, kernel.name};
  }

  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel, const runtime::Program&,
                                             std::span<const std::byte>) override {
    if (const std::vector<std::string> faults = ir::verify(kernel); !faults.empty()) {
      Error::Details details =
          backend_error(Errc::invalid_kernel, "build", faults.front()).details();
      details.kernel = kernel.name;
      details.log = fmt::format("{}", fmt::join(faults, "\n"));
      throw Error(std::move(details));
    }
    return std::make_unique<InterpreterExecutable>(kernel);
  }

  std::uint32_t preferred_block(const runtime::Executable*) const override { return 256; }
  runtime::ParameterCost parameter_cost(const ir::Kernel&) const override { return {}; }

  runtime::Queue& queue() noexcept override { return queue_; }

  void launch(runtime::Queue&, runtime::Executable& executable, const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override {
    bound_.clear();
    for (const runtime::Argument& argument : arguments) {
      bound_.push_back(
          {allocation_of(argument.buffer), argument.byte_offset, argument.length, argument.bits});
    }
    interpreter::launch(static_cast<InterpreterExecutable&>(executable).code, shape, bound_,
                        options_, moment_);
  }

  void write(runtime::Queue&, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    if (bytes == 0) return;
    Allocation& allocation = checked(to, offset, bytes, "write");
    std::memcpy(allocation.data() + offset, source, bytes);
    allocation.mark_written(offset, bytes);
  }

  // The host may read bytes that were never written: it copies whole buffers of which a kernel has
  // stored a part.
  void read(runtime::Queue&, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override {
    if (bytes == 0) return;
    std::memcpy(target, checked(from, offset, bytes, "read").data() + offset, bytes);
  }

  void copy(runtime::Queue&, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override {
    if (bytes == 0) return;
    const Allocation& source = checked(from, from_offset, bytes, "copy");
    checked(to, to_offset, bytes, "copy").copy_from(source, from_offset, to_offset, bytes);
  }

  void submit(runtime::Queue&) override {}
  void finish(runtime::Queue&) override {}

 private:
  static Allocation* allocation_of(runtime::Buffer buffer) noexcept {
    // A handle is the address of its Allocation. NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<Allocation*>(buffer.handle);
  }

  static Allocation& checked(runtime::Buffer buffer, std::size_t offset, std::size_t bytes,
                             const char* operation) {
    Allocation* allocation = allocation_of(buffer);
    const std::size_t size = allocation != nullptr ? allocation->bytes() : 0;
    if (offset > size || bytes > size - offset) {
      throw backend_error(
          Errc::transfer_failed, operation,
          fmt::format("{} bytes from byte {} on, of a buffer of {} bytes", bytes, offset, size));
    }
    return *allocation;
  }

  const Options options_;
  const DeviceProperties properties_;
  InterpreterQueue queue_;
  std::uint64_t moment_ = 1;
  std::vector<BoundArgument> bound_;
};

}  // namespace

std::vector<std::unique_ptr<runtime::DeviceDriver>> InterpreterBackend::open() {
  std::vector<std::unique_ptr<runtime::DeviceDriver>> devices;
  devices.push_back(std::make_unique<InterpreterDriver>(options_));
  return devices;
}

std::unique_ptr<runtime::Backend> make_backend(const Options& options) {
  return std::make_unique<InterpreterBackend>(options);
}

}  // namespace salvo::backends::interpreter
