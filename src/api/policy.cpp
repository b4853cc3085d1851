// The public policy: grants that flush first, and their list.
// SPDX-License-Identifier: MIT
#include "salvo/policy.hpp"

#include <fmt/format.h>

#include "api/access.hpp"
#include "salvo/error.hpp"
#include "salvo/runtime.hpp"

namespace salvo {
namespace {

void check_reason(std::string_view kernel, const std::string& reason) {
  if (!reason.empty()) return;
  throw Error(Errc::invalid_argument, fmt::format("a grant for '{}' needs a reason", kernel));
}

}  // namespace

void Policy::grant(std::string_view kernel_name, Deviation deviation, std::string reason) {
  check_reason(kernel_name, reason);
  auto& launches = api::window_of(*core_);
  api::flush_then(launches, [&] {
    launches.grants().add(std::string(kernel_name), 0, deviation, std::move(reason));
  });
}

bool Policy::revoke(std::string_view kernel_name, Deviation deviation) {
  auto& launches = api::window_of(*core_);
  bool revoked = false;
  api::flush_then(launches, [&] { revoked = launches.grants().remove(kernel_name, 0, deviation); });
  return revoked;
}

std::vector<Grant> Policy::list() const {
  return api::window_of(*core_).grants().list();
}

void Policy::grant_object(const std::shared_ptr<detail::KernelRecord>& kernel, Deviation deviation,
                          std::string reason) {
  check_reason(kernel->kernel.name, reason);
  auto& launches = api::window_of(*core_);
  api::flush_then(launches, [&] {
    launches.grants().add(kernel->kernel.name, kernel->serial, deviation, std::move(reason));
  });
}

bool Policy::revoke_object(const detail::KernelRecord& kernel, Deviation deviation) {
  auto& launches = api::window_of(*core_);
  bool revoked = false;
  api::flush_then(launches, [&] {
    revoked = launches.grants().remove(kernel.kernel.name, kernel.serial, deviation);
  });
  return revoked;
}

namespace policy {
Policy& current() {
  return Runtime::instance().policy();
}
}  // namespace policy

}  // namespace salvo
