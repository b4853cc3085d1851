// Permissions to let results differ: who gave them, for which kernels, and why (W52).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "salvo/kernel.hpp"

namespace salvo {

namespace runtime {
class Core;
}

/// A way in which a result may differ from that of separate launches. Nothing differs without a
/// grant.
enum class Deviation : std::uint8_t {
  /// The device's compiler may fuse a multiply of one kernel with an add of the next when the two
  /// become one launch: at most one contraction per element (W54).
  cross_kernel_contraction,
};
std::string_view name(Deviation deviation) noexcept;

struct Grant {
  std::string kernel;
  bool by_name = false;  // holds for every kernel of that name; otherwise for one kernel object
  Deviation deviation = Deviation::cross_kernel_contraction;
  std::string reason;
};

/// The grants of one runtime. Every change issues what is held first (W23). Any thread may call any
/// of these. A grant for a kernel object holds for its copies, not for another contraction mode of
/// it.
class Policy {
 public:
  /// @cond internal
  explicit Policy(std::shared_ptr<runtime::Core> core) : core_(std::move(core)) {}
  /// @endcond

  /// Throws Errc::invalid_argument if `reason` is empty. A second grant replaces the reason.
  template <class... P>
  void grant(const Kernel<P...>& kernel, Deviation deviation, std::string reason) {
    grant_object(kernel.record(), deviation, std::move(reason));
  }
  void grant(std::string_view kernel_name, Deviation deviation, std::string reason);
  /// Whether there was such a grant.
  template <class... P>
  bool revoke(const Kernel<P...>& kernel, Deviation deviation) {
    return revoke_object(*kernel.record(), deviation);
  }
  bool revoke(std::string_view kernel_name, Deviation deviation);
  /// In the order they were given.
  std::vector<Grant> list() const;

 private:
  void grant_object(const std::shared_ptr<detail::KernelRecord>& kernel, Deviation deviation,
                    std::string reason);
  bool revoke_object(const detail::KernelRecord& kernel, Deviation deviation);

  std::shared_ptr<runtime::Core> core_;
};

/// The policy of the default runtime.
namespace policy {
Policy& current();
template <class Which>
void grant(const Which& kernel, Deviation deviation, std::string reason) {
  current().grant(kernel, deviation, std::move(reason));
}
template <class Which>
bool revoke(const Which& kernel, Deviation deviation) {
  return current().revoke(kernel, deviation);
}
inline std::vector<Grant> list() {
  return current().list();
}
}  // namespace policy

}  // namespace salvo
