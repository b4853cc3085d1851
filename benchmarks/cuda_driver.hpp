// The CUDA driver by hand, for what benchmarks compare Salvo with.
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace bench {

using Address = unsigned long long;
using Handle = void*;

/// CUDA_KERNEL_NODE_PARAMS of the functions without a version in their names.
struct KernelNode {
  Handle function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// Loads libcuda and calls it; any failure is an exception with the function's name.
class Cuda {
 public:
  Cuda() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (!library_) throw std::runtime_error("libcuda.so.1 is not there");
    int device = 0;
    call("cuInit", 0U);
    call("cuDeviceGet", &device, 0);
    call("cuDevicePrimaryCtxRetain", &context_, device);
    call("cuCtxSetCurrent", context_);
  }

  template <typename... Arguments>
  void call(const char* name, Arguments... arguments) const {
    check(name, reinterpret_cast<int (*)(Arguments...)>(find(name))(arguments...));
  }
  /// For calls that are timed: looked up once.
  template <typename Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(find(name));
  }
  static void check(const char* name, int status) {
    if (status != 0)
      throw std::runtime_error(std::string(name) + " gave " + std::to_string(status));
  }

  Address allocate(std::size_t bytes) const {
    Address address = 0;
    call("cuMemAlloc_v2", &address, bytes);
    return address;
  }
  Handle stream() const {
    Handle stream = nullptr;
    call("cuStreamCreate", &stream, 1U);
    return stream;
  }
  Handle kernel(const std::string& code, const std::string& entry) const {
    Handle module = nullptr;
    Handle function = nullptr;
    call("cuModuleLoadData", &module, static_cast<const void*>(code.c_str()));
    call("cuModuleGetFunction", &function, module, entry.c_str());
    return function;
  }

 private:
  void* find(const char* name) const {
    void* symbol = dlsym(library_, name);
    if (!symbol) throw std::runtime_error(std::string(name) + " is missing");
    return symbol;
  }

  void* library_;
  Handle context_ = nullptr;
};

}  // namespace bench
