// The grants of a runtime, as the window asks for them (W52).
// SPDX-License-Identifier: MIT
#include "window/grants.hpp"

#include <algorithm>
#include <utility>

namespace salvo {

std::string_view name(Deviation deviation) noexcept {
  switch (deviation) {
    case Deviation::cross_kernel_contraction: return "cross-kernel-contraction";
  }
  return "";
}

}  // namespace salvo

namespace salvo::window {

void Grants::add(std::string kernel, std::uint64_t serial, Deviation deviation,
                 std::string reason) {
  const std::lock_guard lock(lock_);
  for (Entry& entry : entries_) {
    if (!matches(entry, kernel, serial, deviation)) continue;
    entry.grant.reason = std::move(reason);
    return;
  }
  entries_.push_back({serial, {std::move(kernel), serial == 0, deviation, std::move(reason)}});
}

bool Grants::remove(std::string_view kernel, std::uint64_t serial, Deviation deviation) {
  const std::lock_guard lock(lock_);
  return std::erase_if(entries_, [&](const Entry& entry) {
           return matches(entry, kernel, serial, deviation);
         }) > 0;
}

std::vector<Grant> Grants::list() const {
  const std::lock_guard lock(lock_);
  std::vector<Grant> grants;
  for (const Entry& entry : entries_) grants.push_back(entry.grant);
  return grants;
}

std::optional<std::string> Grants::reason(const KernelRecord& kernel, Deviation deviation) const {
  const std::lock_guard lock(lock_);
  for (const Entry& entry : entries_) {
    if (matches(entry, kernel.kernel.name, kernel.serial, deviation) ||
        matches(entry, kernel.kernel.name, 0, deviation)) {
      return entry.grant.reason;
    }
  }
  return std::nullopt;
}

}  // namespace salvo::window
