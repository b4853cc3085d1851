// The kernels of a batch of launches, for messages about a failure that befell one of them (W77).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace salvo::runtime {

/// Shared with the executable, which may go before its launches are done.
using KernelName = std::shared_ptr<const std::string>;

/// Keeps its room when it is cleared, so that a steady state allocates nothing.
class LaunchedNames {
 public:
  void add(const KernelName& name) { names_.push_back(name); }
  void clear() noexcept { names_.clear(); }
  std::size_t size() const noexcept { return names_.size(); }
  /// "a, b (3 times)", in order of first launch.
  std::string text() const;

 private:
  std::vector<KernelName> names_;
};

}  // namespace salvo::runtime
