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
  void add(const KernelName& name) {
    ++size_;
    // A kernel in a row is owned once: counting owners is what costs.
    if (!names_.empty() && names_.back().kernel == name) {
      ++names_.back().times;
    } else {
      names_.push_back({name, 1});
    }
  }
  void clear() noexcept {
    names_.clear();
    size_ = 0;
  }
  /// Launches.
  std::size_t size() const noexcept { return size_; }
  /// "a, b (3 times)", in order of first launch.
  std::string text() const;

 private:
  struct Row {
    KernelName kernel;
    unsigned times;
  };
  std::vector<Row> names_;
  std::size_t size_ = 0;
};

}  // namespace salvo::runtime
