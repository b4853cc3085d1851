// The Objective-C runtime and the messages of Metal that this backend sends, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/metal/metal_api.hpp"

#include <fmt/format.h>

namespace salvo::backends::metal {

std::string Api::load() {
  // By the leaf's name too, which is where a test driver is found.
  runtime = runtime::Library::open({"/usr/lib/libobjc.A.dylib", "libobjc.A.dylib"});
  if (!runtime) return runtime.reason();
  framework = runtime::Library::open({"/System/Library/Frameworks/Metal.framework/Metal", "Metal"});
  if (!framework) return framework.reason();
  std::string missing;
  const auto require = [&](bool found, const char* name) {
    if (!found) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  };
#define SALVO_METAL_RESOLVE(name, signature) require(name.resolve(runtime, #name), #name);
  SALVO_METAL_RUNTIME_FUNCTIONS(SALVO_METAL_RESOLVE)
#undef SALVO_METAL_RESOLVE
#define SALVO_METAL_RESOLVE(name, signature) require(name.resolve(framework, #name), #name);
  SALVO_METAL_FUNCTIONS(SALVO_METAL_RESOLVE)
#undef SALVO_METAL_RESOLVE
  void* const send = runtime.find("objc_msgSend");
  require(send != nullptr, "objc_msgSend");
  if (!missing.empty()) {
    return fmt::format("{} and {} lack {}", runtime.name(), framework.name(), missing);
  }
#define SALVO_METAL_RESOLVE(name, selector, signature) \
  name.resolve(send, sel_registerName(selector));
  SALVO_METAL_MESSAGES(SALVO_METAL_RESOLVE)
#undef SALVO_METAL_RESOLVE
  return {};
}

runtime::CallCounts Api::calls() const {
  runtime::CallCounts counts;
#define SALVO_METAL_COUNT(name, signature) counts.emplace_back(#name, name.calls());
  SALVO_METAL_RUNTIME_FUNCTIONS(SALVO_METAL_COUNT)
  SALVO_METAL_FUNCTIONS(SALVO_METAL_COUNT)
#undef SALVO_METAL_COUNT
#define SALVO_METAL_COUNT(name, selector, signature) counts.emplace_back(selector, name.calls());
  SALVO_METAL_MESSAGES(SALVO_METAL_COUNT)
#undef SALVO_METAL_COUNT
  return counts;
}

Id Api::string(const char* text) const {
  return string_with(objc_getClass("NSString"), text);
}

std::string Api::text(Id string) const {
  const char* const bytes = utf8(string);
  return bytes ? bytes : "";
}

std::string Api::words(Id error) const {
  return error ? text(localized_description(error)) : "Metal gives no reason";
}

}  // namespace salvo::backends::metal
