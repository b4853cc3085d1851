// The checks of a launch call: what is wrong with it is thrown here and leaves no trace (W57).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "window/launch_window.hpp"
#include "window/launched.hpp"
#include "window/scopes.hpp"

namespace salvo::window {
namespace {

[[noreturn]] void refuse(const std::string& kernel, const Dims& dims, std::string message) {
  Error::Details details;
  details.code = Errc::invalid_argument;
  details.operation = "launch";
  details.kernel = kernel;
  details.message = std::move(message);
  details.launch = SourceLocation::from(dims.where());
  throw Error(std::move(details));
}

constexpr std::string_view kAxes = "xyz";
/// Along one axis: global indexes are 32-bit.
constexpr std::uint64_t kMostThreads = std::numeric_limits<std::int32_t>::max();

/// Whether the device is asked for the size of a block. An empty range sizes nothing (W35).
bool leaves_block_open(const Dims& dims) noexcept {
  return dims.is_range() && dims.automatic_block() && dims.range() > 0;
}

/// The threads of a warp hold a cooperative matrix together: none may be missing, and Vulkan asks
/// that a row of the block's threads be made of whole warps (K12).
void check_whole_warps(const runtime::DeviceState& device, const std::string& kernel,
                       const runtime::LaunchShape& shape, const Dims& dims) {
  const std::uint32_t warp = device.properties().warp_size;
  if (shape.block[0] % warp == 0) return;
  refuse(
      kernel, dims,
      fmt::format("block x is {}; cooperative matrices take a multiple of the {} threads of a warp",
                  shape.block[0], warp));
}

/// Whether a launch may bind these to two spans that a fused kernel needs apart (W49).
bool are_apart(const fusion::DisjointSpans& pair, const Dims& dims,
               const detail::CallArgument& read, const detail::CallArgument& written,
               std::uint64_t read_bytes, std::uint64_t written_bytes) noexcept {
  if (!read.storage || read.storage != written.storage) return true;
  if (read.byte_offset + read.length * read_bytes <= written.byte_offset ||
      written.byte_offset + written.length * written_bytes <= read.byte_offset) {
    return true;
  }
  // In place is one thread for each element: not in rows that repeat it.
  const auto rows = [](const std::array<std::int64_t, 3>& size) { return size[1] * size[2]; };
  return pair.in_place && read.byte_offset == written.byte_offset &&
         rows(dims.grid_size()) * rows(dims.block_size()) == 1;
}

std::uint32_t automatic_block(runtime::DeviceState& device, Prepared& prepared) {
  if (const std::uint32_t known = prepared.block.load(std::memory_order_relaxed)) return known;
  std::uint32_t usual = device.driver().preferred_block(nullptr);
  try {
    if (usual == 0) {
      // Held so that nobody drops the compiled kernel meanwhile.
      const runtime::DeviceState::IssueTurn turn(device);
      usual = device.driver().preferred_block(&device.executable(
          *prepared.kernel, prepared.digest, translate_options(false, prepared.device_contraction),
          &prepared.programs[0]));
    }
  } catch (const Error&) {
    // The device remembers the failed build and throws it again at issue (W58). The block must not
    // depend on whether that happens, so the device's smallest usual size stands in.
    usual = std::min<std::uint32_t>(64, device.properties().max_threads_per_block);
  }
  prepared.block.store(usual, std::memory_order_relaxed);
  return usual;
}

/// Whether the launch can be made of them as they are.
bool check_arguments(const runtime::DeviceState& device, const KernelRecord& record,
                     const Dims& dims, std::span<const detail::CallArgument> arguments) {
  const ir::Kernel& kernel = record.kernel;
  const std::size_t declared = record.parameters.size() - record.live.size();
  if (arguments.size() != declared) {
    refuse(kernel.name, dims,
           fmt::format("{} arguments for {} parameters", arguments.size(), declared));
  }
  bool ready = true;
  for (std::size_t p = 0; p < declared; ++p) {
    if (!record.parameters[p].is_span) continue;
    const detail::CallArgument& argument = arguments[p];
    if (argument.length > std::numeric_limits<std::int32_t>::max()) {
      refuse(kernel.name, dims,
             fmt::format("argument {} has {} elements; kernels index up to 2^31 - 1", p,
                         argument.length));
    }
    if (!argument.storage) continue;
    if (argument.storage->bytes() > device.properties().max_allocation_bytes) {
      refuse(kernel.name, dims,
             fmt::format("argument {} takes {} bytes; {} allocates at most {} at once", p,
                         argument.storage->bytes(), device.id(),
                         device.properties().max_allocation_bytes));
    }
    ready = ready && is_ready(argument, device);
  }
  for (const fusion::DisjointSpans& pair : record.apart) {
    if (!are_apart(pair, dims, arguments[pair.read], arguments[pair.written],
                   record.parameters[pair.read].element_bytes,
                   record.parameters[pair.written].element_bytes)) {
      refuse(
          kernel.name, dims,
          fmt::format("argument {} overlaps argument {}, which is written while it is read: what "
                      "was fused into one kernel reads it again",
                      pair.read, pair.written));
    }
  }
  return ready;
}

}  // namespace

runtime::LaunchShape shape_of(const runtime::DeviceState& device, const std::string& kernel,
                              std::uint64_t shared_bytes, std::uint32_t usual_block,
                              const Dims& dims) {
  const DeviceProperties& limits = device.properties();
  runtime::LaunchShape shape;
  const std::int64_t shared = dims.shared_bytes() + static_cast<std::int64_t>(shared_bytes);
  if (dims.shared_bytes() < 0 || std::cmp_greater(shared, limits.shared_bytes_per_block)) {
    refuse(kernel, dims,
           fmt::format("{} bytes of dynamic shared memory do not fit in {}'s {}",
                       dims.shared_bytes(), device.id(), limits.shared_bytes_per_block));
  }
  shape.dynamic_shared_bytes = static_cast<std::uint32_t>(dims.shared_bytes());

  std::array<std::int64_t, 3> block = dims.block_size();
  std::array<std::int64_t, 3> grid = dims.grid_size();
  if (dims.is_range()) {
    if (dims.range() < 0) refuse(kernel, dims, fmt::format("over({}): negative", dims.range()));
    if (dims.range() == 0) {
      shape.grid = {0, 0, 0};
      return shape;  // W35: nothing to launch, nothing to size
    }
    if (dims.automatic_block()) {
      const std::uint64_t blocks =
          (static_cast<std::uint64_t>(dims.range()) + usual_block - 1) / usual_block;
      if (blocks <= limits.max_grid[0] && blocks * usual_block <= kMostThreads) {
        // The usual launch: the driver's block needs no further check.
        shape.grid[0] = static_cast<std::uint32_t>(blocks);
        shape.block[0] = usual_block;
        return shape;
      }
      block = {usual_block, 1, 1};
    }
    const std::int64_t threads = block[0] > 0 ? block[0] : 1;
    grid = {dims.range() / threads + (dims.range() % threads != 0), 1, 1};
  }
  std::uint64_t threads_per_block = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (block[axis] < 1 || std::cmp_greater(block[axis], limits.max_block[axis])) {
      refuse(kernel, dims,
             fmt::format("block {} is {}; {} takes 1 to {}", kAxes[axis], block[axis], device.id(),
                         limits.max_block[axis]));
    }
    if (grid[axis] < 0 || std::cmp_greater(grid[axis], limits.max_grid[axis])) {
      refuse(kernel, dims,
             fmt::format("grid {} is {}; {} takes 0 to {}", kAxes[axis], grid[axis], device.id(),
                         limits.max_grid[axis]));
    }
    if (static_cast<std::uint64_t>(grid[axis]) * static_cast<std::uint64_t>(block[axis]) >
        kMostThreads) {
      refuse(kernel, dims, fmt::format("more than 2^31 - 1 threads along {}", kAxes[axis]));
    }
    threads_per_block *= static_cast<std::uint64_t>(block[axis]);
    shape.block[axis] = static_cast<std::uint32_t>(block[axis]);
    shape.grid[axis] = static_cast<std::uint32_t>(grid[axis]);
  }
  if (threads_per_block > limits.max_threads_per_block) {
    refuse(kernel, dims,
           fmt::format("a block of {} threads; {} takes at most {}", threads_per_block, device.id(),
                       limits.max_threads_per_block));
  }
  return shape;
}

Reason LaunchWindow::why_not_held(const runtime::DeviceState& device, bool escaped,
                                  const runtime::StreamState* stream) const noexcept {
  if (exiting_) return Reason::exiting;
  if (stream) return Reason::on_stream;
  if (scopes().paused > 0) return Reason::paused;
  if (escaped) return Reason::escaped;
  return settings_.why_not_held(device);
}

void LaunchWindow::submit(runtime::DeviceState& device, const std::shared_ptr<KernelRecord>& kernel,
                          const Dims& dims, std::span<const detail::CallArgument> arguments,
                          runtime::StreamState* stream) {
  throw_pending();
  const std::string& name = kernel->kernel.name;
  Reason refused = Reason::none;
  try {
    if (!stream && window_of(device).held.repeats.load(std::memory_order_relaxed) &&
        hold_again(device, *kernel, dims, arguments)) {
      Counters::raise(counters_.submitted);
      return;
    }
    refused = kernel->never_held != Reason::none
                  ? kernel->never_held
                  : why_not_held(device, touches_escaped(arguments), stream);
    if (refused != Reason::none && run_again(device, *kernel, dims, arguments, stream, refused)) {
      return;
    }
  } catch (const CallFailed& failure) {
    Counters::raise(counters_.submitted);
    Counters::raise(counters_.failed);
    throw located(failure.error, name, dims.where());
  } catch (...) {
    Counters::raise(counters_.submitted);
    Counters::raise(counters_.failed);
    throw;
  }
  submit_anew(device, kernel, dims, arguments, stream, refused);
}

void LaunchWindow::submit_anew(runtime::DeviceState& device,
                               const std::shared_ptr<KernelRecord>& kernel, const Dims& dims,
                               std::span<const detail::CallArgument> arguments,
                               runtime::StreamState* stream, Reason refused) {
  const std::string& name = kernel->kernel.name;
  const runtime::TraceScope traced(device.trace(), "submit", name, device.id());
  const bool ready = check_arguments(device, *kernel, dims, arguments);
  Prepared* prepared = nullptr;
  try {
    prepared = &kernel->on(device);
  } catch (const Error& failure) {
    throw located(failure, name, dims.where());
  }
  const std::uint32_t usual = leaves_block_open(dims) ? automatic_block(device, *prepared) : 0;
  auto& [held, issuing] = window_of(device);
  const LaunchCall call{
      {device, held, *kernel, *prepared, shape_of(device, name, kernel->shared_bytes, usual, dims)},
      issuing,
      dims,
      arguments,
      stream};
  if (is_empty(call.shape)) return;  // W35
  if (kernel->summary.has_dynamic_shared && dims.shared_bytes() == 0) {
    refuse(name, dims, "its DynamicShared array has no bytes: give their number by .shared(bytes)");
  }
  if (kernel->summary.has_cooperative_matrix) check_whole_warps(device, name, call.shape, dims);
  if (device.launches().has_losses()) check_losses(device, *kernel, arguments, dims);

  if (explain_.listening()) {
    explain_.say({Decision::Kind::window, refused == Reason::none, refused, name, device.id(), "",
                  SourceLocation::from(dims.where())});
  }
  Counters::raise(counters_.submitted);
  try {
    if (refused == Reason::none) {
      hold(call);
    } else {
      counters_.refuse(refused);
      run_now(call, ready);
    }
  } catch (const CallFailed& failure) {
    Counters::raise(counters_.failed);
    throw located(failure.error, name, dims.where());
  } catch (...) {
    // Somebody else's failure came up while room was made; this launch was not made (W60).
    Counters::raise(counters_.failed);
    throw;
  }
}

}  // namespace salvo::window
