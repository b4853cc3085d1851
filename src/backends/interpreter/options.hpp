// How the interpreter runs a launch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace salvo::backends::interpreter {

struct Options {
  /// Threads of the host that run blocks. 1: blocks run one after another, in order, so that even
  /// floating-point atomics give the same bits each time. 0: as many as the host has cores.
  std::uint32_t workers = 1;
  /// Operations that one block may execute, counted once for all its threads, before the launch
  /// ends with an error; so a loop that never ends does not hang the host. 0: no limit.
  std::uint64_t max_steps = 0;
  std::uint32_t warp_size = 32;  // at most 64
};

inline constexpr std::uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr std::uint32_t kMaxSharedBytes = 64 * 1024;
inline constexpr std::uint32_t kMaxWarpSize = 64;

}  // namespace salvo::backends::interpreter
