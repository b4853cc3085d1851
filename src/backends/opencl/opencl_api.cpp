// The OpenCL functions this backend calls, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/opencl/opencl_api.hpp"

#include <fmt/format.h>

namespace salvo::backends::opencl {

std::string Api::load() {
  shared_object = runtime::Library::open({"libOpenCL.so.1", "libOpenCL.so"});
  if (!shared_object) return shared_object.reason();
  std::string missing;
#define SALVO_OPENCL_RESOLVE(name) \
  if (!name.resolve(shared_object, "cl" #name)) missing += " cl" #name;
  SALVO_OPENCL_FUNCTIONS(SALVO_OPENCL_RESOLVE)
#undef SALVO_OPENCL_RESOLVE
  return missing.empty() ? "" : fmt::format("{} lacks{}", shared_object.name(), missing);
}

runtime::CallCounts Api::calls() const {
#define SALVO_OPENCL_COUNT(name) {"cl" #name, name.calls()},
  return {SALVO_OPENCL_FUNCTIONS(SALVO_OPENCL_COUNT)};
#undef SALVO_OPENCL_COUNT
}

}  // namespace salvo::backends::opencl
