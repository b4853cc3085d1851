// The CUDA driver, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/cuda/cuda_api.hpp"

#include <fmt/format.h>

#include "backends/cuda/cuda_properties.hpp"
#include "backends/cuda_family/cuda_family_error.hpp"

namespace salvo::backends::cuda {
namespace {

runtime::CallCounts counts(const cuda_family::Api& api) {
#define SALVO_CUDA_COUNT(name, symbol, parameters) {symbol, api.name.calls()},
  return {SALVO_CUDA_FUNCTIONS(SALVO_CUDA_COUNT) SALVO_CUDA_POOL_FUNCTIONS(SALVO_CUDA_COUNT)
              SALVO_CUDA_GRAPH_FUNCTIONS(SALVO_CUDA_COUNT)};
#undef SALVO_CUDA_COUNT
}

}  // namespace

std::string load(cuda_family::Api& api) {
  api.shared_object = runtime::Library::open({"libcuda.so.1", "libcuda.so"});
  if (!api.shared_object) {
    return api.shared_object.reason() +
           ". CUDA needs an NVIDIA GPU and NVIDIA's driver, which brings libcuda.so.1";
  }
  std::string missing;
#define SALVO_CUDA_RESOLVE(name, symbol, parameters) \
  if (!api.name.resolve(api.shared_object, symbol)) missing += " " symbol;
  SALVO_CUDA_FUNCTIONS(SALVO_CUDA_RESOLVE)
#undef SALVO_CUDA_RESOLVE
  if (!missing.empty()) return fmt::format("{} lacks{}", api.shared_object.name(), missing);
    // Drivers without these allocate in the old way and replay nothing.
#define SALVO_CUDA_RESOLVE(name, symbol, parameters) api.name.resolve(api.shared_object, symbol);
  SALVO_CUDA_POOL_FUNCTIONS(SALVO_CUDA_RESOLVE)
  SALVO_CUDA_GRAPH_FUNCTIONS(SALVO_CUDA_RESOLVE)
#undef SALVO_CUDA_RESOLVE
  api.counts = counts;
  const cuda_family::Result status = api.Init(0);
  if (status == cuda_family::kSuccess) return {};
  return fmt::format("{} loaded, but cuInit failed: {}", api.shared_object.name(),
                     cuda_family::words(api, status));
}

Drivers& drivers() {
  static Drivers& all = *new Drivers(load, read_facts);
  return all;
}

}  // namespace salvo::backends::cuda
