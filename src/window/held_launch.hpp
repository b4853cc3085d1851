// Launches and groups as the window holds them, recycled so that a warm window allocates nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/storage.hpp"
#include "window/kernel_record.hpp"

namespace salvo::window {

/// A vector that a launch binds and the bytes of it that it touches, widened to the device's store
/// unit (W13). The window keeps the vector alive while the launch is held (W15): by the stamps on
/// its device copy, so that a launch counts no references.
struct Access {
  runtime::Storage* storage = nullptr;
  runtime::DeviceCopy* copy = nullptr;  // null until the vector is on the device
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t parameter = 0;  // position in the kernel's parameters
  bool reads = false;
  bool writes = false;
  bool whole = false;  // the allocation from end to end
  /// Each of its bytes is stored, and so its host bytes were not uploaded: should the launch fail,
  /// they are (W81).
  bool overwritten = false;
};

/// One launch with everything it needs, captured at the call (W14).
struct HeldLaunch {
  KernelRecord* kernel = nullptr;  // kept alive by the window (Prepared::is_kept)
  Prepared* prepared = nullptr;
  runtime::LaunchShape shape;
  std::source_location where;
  std::vector<runtime::Argument> arguments;
  std::vector<Access> accesses;  // one for each vector bound
  bool may_alias = false;        // two of its spans overlap and one is written (W80)
  /// Of a merged launch: the launches it stands for, producer first (W63). Empty for one that was
  /// made as it is.
  std::vector<std::unique_ptr<HeldLaunch>> parts;
  std::uint32_t step = 0;  // of the window's launches
  /// Parameters, as bits, whose values decided how it was placed; the last bit stands for more.
  std::uint64_t fixed_values = 0;

  /// Launches that the program made.
  std::size_t count() const noexcept { return parts.empty() ? 1 : parts.size(); }

  /// Lets go of what it owns; vectors keep their capacity.
  void reset() {
    kernel = nullptr;
    arguments.clear();
    accesses.clear();
    parts.clear();
    fixed_values = 0;
  }
};

class Repetition;

/// A parameter in `fixed_values`.
constexpr std::uint64_t value_bit(std::size_t parameter) noexcept {
  return std::uint64_t{1} << (parameter < 63 ? parameter : 63);
}

/// Launches that are issued as one, or a single launch that nothing has joined yet.
struct Group {
  std::uint64_t sequence = 0;  // position in the order of issue; stamps refer to it
  std::vector<std::unique_ptr<HeldLaunch>> members;
  std::uint64_t grid_x = 0;  // sum over the members
  fusion::SharedOverlay shared;
  runtime::ParameterCost cost;    // sum over the members
  std::uint64_t fingerprint = 0;  // of the members' kernels in order, for plans

  std::uint32_t launches = 0;  // that the program made, merged ones included (W10)
  bool as_planned = true;      // when issued: nothing fell back to its parts, or failed

  // Guarded by the window lock (W79):
  Repetition* repetition = nullptr;  // that it goes back to when it was issued
  std::uint32_t index = 0;           // there
  bool is_recorded = false;          // it will belong to one
};

}  // namespace salvo::window
