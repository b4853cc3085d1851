// What a test tells a stand-in driver or compiler, and learns from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>

/// One a library, which exports it by its own name.
struct StandIn {
  const char* failing = "";  // the function that fails
  int status = 0;            // and what it returns
  // Of the device.
  int devices = 1;
  int capability = 9;   // CUDA: the major number
  int version = 13000;  // CUDA: of the driver
  int pools = 0;        // CUDA: whether it has memory pools
  const char* architecture = "gfx90a:sramecc+:xnack-";
  int wave_size = 64;  // HIP
  // What is current; the tests use one thread.
  void* contexts_of_thread[8] = {};  // CUDA: the stack of contexts
  int depth = 0;
  int device_of_thread = 0;  // HIP
  // What was called.
  const char* calls[256] = {};  // names of the functions, in order
  int call_count = 0;
  char source[16384] = "";         // what the compiler was handed last
  char options[1024] = "";         // its options, a space after each
  char launched[64] = "";          // CUDA: the function of the last launch
  unsigned char block[4096] = {};  // its parameters
  std::size_t block_bytes = 0;
  unsigned grid[3] = {};
  unsigned threads[3] = {};
  unsigned shared_bytes = 0;
  // Made and not given back.
  int contexts = 0;
  int modules = 0;
  int buffers = 0;
  int streams = 0;
  int events = 0;
  int memory_pools = 0;

  /// Notes the call; what it is to return.
  int answer(const char* function) {
    if (call_count < static_cast<int>(std::size(calls))) calls[call_count++] = function;
    return std::strcmp(failing, function) == 0 ? status : 0;
  }
};

#define SALVO_EXPORT extern "C" __attribute__((visibility("default")))

/// A function of the library `SALVO_STAND_IN` that does `body` unless a test wants it to fail.
#define SALVO_FAKE(name, parameters, body)                              \
  SALVO_EXPORT int name parameters;                                     \
  int name parameters {                                                 \
    if (const int status = SALVO_STAND_IN.answer(#name)) return status; \
    body;                                                               \
    return 0;                                                           \
  }
