// Loads a driver's shared library at run time and resolves its functions into a table.
// SPDX-License-Identifier: MIT
#include "runtime/library.hpp"

#include <dlfcn.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace salvo::runtime {

Library Library::open(std::initializer_list<std::string_view> names) {
  Library library;
  for (std::string_view name : names) {
    const std::string path(name);
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      library.handle_ = std::shared_ptr<void>(handle, [](void* open) { dlclose(open); });
      library.name_ = path;
      return library;
    }
    const char* why = dlerror();
    // The loader's words mostly begin with the name.
    library.failures_.push_back(why && std::string_view(why).starts_with(path)
                                    ? why
                                    : fmt::format("{}: {}", path, why ? why : "no reason given"));
  }
  return library;
}

std::string Library::reason() const {
  return fmt::format("{}", fmt::join(failures_, "; "));
}

void* Library::find(const char* symbol) const noexcept {
  return handle_ ? dlsym(handle_.get(), symbol) : nullptr;
}

}  // namespace salvo::runtime
