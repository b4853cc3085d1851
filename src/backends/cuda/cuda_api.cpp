// The CUDA driver functions both CUDA backends call, loaded at run time; no SDK header is needed.
// SPDX-License-Identifier: MIT
#include "backends/cuda/cuda_api.hpp"

#include <fmt/format.h>

#include "backends/cuda/cuda_error.hpp"

namespace salvo::backends::cuda {

std::string Api::load() {
  library = runtime::Library::open({"libcuda.so.1", "libcuda.so"});
  if (!library) return library.reason();
  std::string missing;
#define SALVO_CUDA_RESOLVE(name, symbol, parameters) \
  if (!name.resolve(library, symbol)) missing += " " symbol;
  SALVO_CUDA_FUNCTIONS(SALVO_CUDA_RESOLVE)
#undef SALVO_CUDA_RESOLVE
  if (!missing.empty()) return fmt::format("{} lacks{}", library.name(), missing);
    // Drivers without these allocate in the old way and replay nothing.
#define SALVO_CUDA_RESOLVE(name, symbol, parameters) name.resolve(library, symbol);
  SALVO_CUDA_POOL_FUNCTIONS(SALVO_CUDA_RESOLVE)
  SALVO_CUDA_GRAPH_FUNCTIONS(SALVO_CUDA_RESOLVE)
#undef SALVO_CUDA_RESOLVE
  const Result status = Init(0);
  if (status == kSuccess) return {};
  return fmt::format("{} loaded, but cuInit failed: {}", library.name(), words(*this, status));
}

runtime::CallCounts Api::calls() const {
#define SALVO_CUDA_COUNT(name, symbol, parameters) {symbol, name.calls()},
  return {SALVO_CUDA_FUNCTIONS(SALVO_CUDA_COUNT) SALVO_CUDA_POOL_FUNCTIONS(SALVO_CUDA_COUNT)
              SALVO_CUDA_GRAPH_FUNCTIONS(SALVO_CUDA_COUNT)};
#undef SALVO_CUDA_COUNT
}

}  // namespace salvo::backends::cuda
