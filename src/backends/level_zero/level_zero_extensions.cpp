// Which extensions a driver has, asked once in a process (P1).
// SPDX-License-Identifier: MIT
#include "backends/level_zero/level_zero_extensions.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "backends/level_zero/level_zero_error.hpp"

namespace salvo::backends::level_zero {

Extensions read_extensions(const Api& api, ze::Driver driver) {
  constexpr std::string_view kCall = "zeDriverGetExtensionProperties";
  std::uint32_t count = 0;
  check(api.DriverGetExtensionProperties(driver, &count, nullptr), kCall,
        Errc::backend_unavailable);
  std::vector<ze::DriverExtensionProperties> list(count);
  if (count > 0) {
    check(api.DriverGetExtensionProperties(driver, &count, list.data()), kCall,
          Errc::backend_unavailable);
  }
  Extensions found;
  found.count = std::min<std::size_t>(count, list.size());
  for (std::size_t i = 0; i < found.count; ++i) {
    const std::string_view name = list[i].name.data();
    if (name == "ZE_extension_kernel_max_group_size_properties") found.kernel_max_group_size = true;
  }
  return found;
}

std::shared_ptr<const Extensions> ExtensionMemo::of(const Api& api, ze::Driver driver) {
  // Held across the query, so that racing threads cause one.
  const std::lock_guard lock(mutex_);
  auto& known = known_[driver];
  if (!known) known = std::make_shared<const Extensions>(read_extensions(api, driver));
  return known;
}

void ExtensionMemo::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

}  // namespace salvo::backends::level_zero
