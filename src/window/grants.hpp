// The grants of a runtime, as the window asks for them (W52).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/policy.hpp"
#include "window/kernel_record.hpp"

namespace salvo::window {

/// Thread-safe. A few grants are the rule, so a list will do.
class Grants {
 public:
  /// Of a kernel object if `serial` is not 0, of a name otherwise.
  void add(std::string kernel, std::uint64_t serial, Deviation deviation, std::string reason);
  bool remove(std::string_view kernel, std::uint64_t serial, Deviation deviation);
  std::vector<Grant> list() const;

  /// The reason for which `kernel` may deviate; none if it may not.
  std::optional<std::string> reason(const KernelRecord& kernel, Deviation deviation) const;

 private:
  struct Entry {
    std::uint64_t serial;
    Grant grant;
  };
  static bool matches(const Entry& entry, std::string_view kernel, std::uint64_t serial,
                      Deviation deviation) {
    return entry.serial == serial && entry.grant.deviation == deviation &&
           (serial != 0 || entry.grant.kernel == kernel);
  }

  mutable std::mutex lock_;
  std::vector<Entry> entries_;
};

}  // namespace salvo::window
