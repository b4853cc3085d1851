// Random programs of launches, host accesses, views, fills, copies and frees, on one or two
// threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "salvo/salvo.hpp"

namespace salvo::tests {

enum class Act : std::uint8_t {
  launch,          // on vectors of one element type
  count,           // atomically, into what all threads share
  write,           // elements on the host
  read,            // a part, noted
  fill,            // on the device
  replace,         // the vector is destroyed and made anew
  free,            // its device memory
  copy,            // between vectors
  copy_to_device,  // a range
  copy_to_host,    // a range, noted
  to_device,
  flush,
  synchronize,
};
inline constexpr int kActs = 13;

/// One step of a thread. Each number is taken modulo what it chooses from, so that a step makes
/// sense whatever went before: any sequence of steps is a program.
struct Step {
  Act act = Act::launch;
  int thread = 0;
  int type = 0;  // of element: float, int32, int8
  int kernel = 0;
  int a = 0, b = 0, c = 0;  // vectors
  int first[3] = {};        // of their views
  int count[3] = {};
  int dims = 0;
  int value = 0;

  std::string text() const;
};

struct WindowProgram {
  unsigned seed = 0;
  int size = 0;  // elements of every vector
  int threads = 1;
  /// Kernels that it chooses from: few, where the variety of fused kernels would cost much.
  std::vector<int> palette;
  std::uint32_t most_groups = 8, most_members = 8;
  bool epilogue = true;
  std::vector<Step> steps;

  std::string text() const;
};

/// `palettes` different sets of kernels are used by all seeds together; 0 for any number.
WindowProgram random_window_program(unsigned seed, unsigned palettes);

/// The same few launches again and again, now and then with a difference.
WindowProgram repeating_window_program(unsigned seed, unsigned palettes);

/// What a program leaves and what it read on its way, thread after thread. With one thread, steps
/// are spread over the devices.
std::vector<std::byte> run(const std::vector<Device>& devices, const WindowProgram& program,
                           Contraction mode);

}  // namespace salvo::tests
