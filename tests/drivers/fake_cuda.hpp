// What a test tells the stand-in CUDA driver, and learns from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

/// Found in the stand-in library under this name.
struct FakeCuda {
  const char* failing = "";          // the function that fails
  int status = 0;                    // and what it returns
  int capability = 9;                // the major number of its compute capability
  void* contexts_of_thread[8] = {};  // the stack of contexts
  int depth = 0;
  unsigned char block[4096] = {};  // parameters of the last launch
  std::size_t block_bytes = 0;
  unsigned grid[3] = {};
  unsigned threads[3] = {};
  int contexts = 0;  // retained and not released
  int modules = 0;   // loaded and not unloaded
  int buffers = 0;   // allocated and not freed
};
