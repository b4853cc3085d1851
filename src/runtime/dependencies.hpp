// Which launches of a sequence must come after which, by the buffers that they touch.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::runtime {

/// For each launch of a sequence the earlier ones that it comes right after: those that wrote what
/// it touches, and those that read what it writes. Others follow from these. Buffers count as a
/// whole, so that views of one are never told apart.
class Dependencies {
 public:
  Dependencies() = default;
  explicit Dependencies(std::span<const LaunchCommand> commands);

  /// In ascending order.
  std::span<const std::uint32_t> of(std::size_t launch) const noexcept {
    return std::span(before_).subspan(first_[launch], first_[launch + 1] - first_[launch]);
  }
  friend bool operator==(const Dependencies&, const Dependencies&) = default;

 private:
  std::vector<std::uint32_t> first_{0};  // where in `before_` those of each launch begin
  std::vector<std::uint32_t> before_;
};

}  // namespace salvo::runtime
