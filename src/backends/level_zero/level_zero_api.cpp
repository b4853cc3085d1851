// The Level Zero functions this backend calls, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_api.hpp"

#include <fmt/format.h>

namespace salvo::backends::level_zero {

std::string Api::load() {
  shared_object = runtime::Library::open({"libze_loader.so.1", "libze_loader.so"});
  if (!shared_object) return shared_object.reason();
  std::string missing;
#define SALVO_LEVEL_ZERO_RESOLVE(name, parameters) \
  if (!name.resolve(shared_object, "ze" #name)) missing += " ze" #name;
  SALVO_LEVEL_ZERO_FUNCTIONS(SALVO_LEVEL_ZERO_RESOLVE)
#undef SALVO_LEVEL_ZERO_RESOLVE
#define SALVO_LEVEL_ZERO_RESOLVE(name, parameters) name.resolve(shared_object, "ze" #name);
  SALVO_LEVEL_ZERO_LATER_FUNCTIONS(SALVO_LEVEL_ZERO_RESOLVE)
#undef SALVO_LEVEL_ZERO_RESOLVE
  return missing.empty() ? "" : fmt::format("{} lacks{}", shared_object.name(), missing);
}

runtime::CallCounts Api::calls() const {
  return {
#define SALVO_LEVEL_ZERO_COUNT(name, parameters) {"ze" #name, name.calls()},
      SALVO_LEVEL_ZERO_FUNCTIONS(SALVO_LEVEL_ZERO_COUNT)
#undef SALVO_LEVEL_ZERO_COUNT
  };
}

void DriverApi::resolve(const Api& api, ze::Driver driver) {
  const auto find = [&](auto& function, const auto& in_loader, const char* name) {
    using Pointer = typename std::remove_reference_t<decltype(function)>::Pointer;
    void* address = nullptr;
    if (api.DriverGetExtensionFunctionAddress &&
        api.DriverGetExtensionFunctionAddress(driver, name, &address) == ze::Result::success &&
        address) {
      return function.assign(reinterpret_cast<Pointer>(address));
    }
    function.assign(in_loader);
  };
  find(host_synchronize, api.CommandListHostSynchronize.get(), "zeCommandListHostSynchronize");
  find(launch_with_arguments, api.CommandListAppendLaunchKernelWithArguments.get(),
       "zeCommandListAppendLaunchKernelWithArguments");
  find(import_pointer, nullptr, "zexDriverImportExternalPointer");
  find(release_pointer, nullptr, "zexDriverReleaseImportedPointer");
}

}  // namespace salvo::backends::level_zero
