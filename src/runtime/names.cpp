// Kernel names that stay, so that noting a launch copies a pointer.
// SPDX-License-Identifier: MIT
#include "runtime/names.hpp"

#include <functional>
#include <mutex>
#include <set>

namespace salvo::runtime {

const std::string& lasting_name(std::string_view name) {
  struct Names {
    std::mutex lock;
    std::set<std::string, std::less<>> all;
  };
  static Names* const names = new Names;  // never destroyed, as static kernels may outlive it
  const std::lock_guard lock(names->lock);
  const auto known = names->all.find(name);
  return known != names->all.end() ? *known : *names->all.emplace(name).first;
}

}  // namespace salvo::runtime
