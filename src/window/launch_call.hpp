// A launch call: its arguments as they are found, and what is made of one that passes its checks.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/device_state.hpp"
#include "runtime/stream.hpp"
#include "salvo/detail/storage.hpp"
#include "salvo/dims.hpp"
#include "window/device_window.hpp"
#include "window/placer.hpp"

namespace salvo::window {

inline bool is_empty(const runtime::LaunchShape& shape) noexcept {
  return shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0;
}

/// Whether two launches ask for the same threads and shared memory.
inline bool same_dims(const Dims& a, const Dims& b) noexcept {
  if (a.is_range() != b.is_range() || a.shared_bytes() != b.shared_bytes() ||
      a.automatic_block() != b.automatic_block()) {
    return false;
  }
  if (a.is_range() && a.automatic_block()) return a.range() == b.range();
  return a.range() == b.range() && a.grid_size() == b.grid_size() &&
         a.block_size() == b.block_size();
}

/// Whether a launch can be made of arguments as they are.
inline bool is_ready(const detail::CallArgument& argument,
                     const runtime::DeviceState& device) noexcept {
  if (!argument.storage || argument.storage->current_on(device)) return true;
  return argument.overwritten && argument.storage->copy_on(device);
}
bool are_ready(std::span<const detail::CallArgument> arguments,
               const runtime::DeviceState& device) noexcept;

/// Whether an argument's device address was handed out (W24).
inline bool touches_escaped(std::span<const detail::CallArgument> arguments) noexcept {
  return std::ranges::any_of(arguments, [](const detail::CallArgument& argument) {
    return argument.storage && argument.storage->escaped();
  });
}

/// A launch of code that the user brought (R9, R10). Nothing is known of what it reads and writes.
struct SourceLaunch {
  const std::string& name;
  runtime::Executable& executable;
  const Dims& dims;
  std::span<const detail::SourceArgument> arguments;
  runtime::StreamState* stream = nullptr;
};

/// A call that has passed its checks.
struct LaunchCall : Candidate {
  Issuing& issuing;
  const Dims& dims;
  std::span<const detail::CallArgument> arguments;
  runtime::StreamState* stream;  // null: none was named
};

/// The grid and block of a launch, checked against the device's limits (W57). `usual_block` is that
/// of dims that leave the block open.
runtime::LaunchShape shape_of(const runtime::DeviceState& device, const std::string& kernel,
                              std::uint64_t shared_bytes, std::uint32_t usual_block,
                              const Dims& dims);

}  // namespace salvo::window
