// What a test tells the stand-in HIP runtime, and learns from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

/// Found in the stand-in library under this name.
struct FakeHip {
  const char* failing = "";  // the function that fails
  int status = 0;            // and what it returns
  const char* architecture = "gfx90a:sramecc+:xnack-";
  int devices = 1;
  int device_of_thread = 0;     // hipSetDevice; the tests use one thread
  const char* calls[256] = {};  // names of the functions called, in order
  int call_count = 0;
  char source[16384] = "";         // what the compiler was handed last
  char options[1024] = "";         // its options, a space after each
  unsigned char block[4096] = {};  // parameters of the last launch
  std::size_t block_bytes = 0;
  unsigned grid[3] = {};
  unsigned threads[3] = {};
  unsigned shared_bytes = 0;
  int modules = 0;  // loaded and not unloaded
  int buffers = 0;  // allocated and not freed
  int streams = 0;  // created and not destroyed
  int events = 0;   // created and not destroyed
};
