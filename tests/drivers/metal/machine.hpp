// Runs a compiled kernel on the host: every thread of a block is a fiber where they must meet.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace salvo::test::metal {

using Three = std::array<unsigned long, 3>;

/// As the test header of MSL has them.
struct Position3 {
  std::uint32_t x, y, z;
};
struct Thread {
  Position3 thread, block, threads, blocks;
  std::uint32_t index, lane, lanes;
};
struct Hooks {
  void (*barrier)();
  std::uint32_t (*shuffle)(std::uint32_t value, std::uint32_t lane);
  unsigned long (*ballot)(bool value);
};
using Entry = void (*)(void* const* buffers, void* shared, const Thread* thread);

inline constexpr std::uint32_t kWarpSize = 32;

struct Dispatch {
  Entry entry = nullptr;
  Hooks* hooks = nullptr;     // of the kernel's library
  bool threads_meet = false;  // it has barriers or operations of a warp
  bool flushes = false;       // denormals
  std::vector<void*> buffers;
  std::size_t shared_bytes = 0;
  Three blocks{1, 1, 1};
  Three threads{1, 1, 1};
};

/// Returns what went wrong, or an empty string. One dispatch runs at a time.
std::string run(const Dispatch& dispatch);

}  // namespace salvo::test::metal
