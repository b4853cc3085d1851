// The kernels that a test program launches, kept to be compiled by a real device compiler.
// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "ir/hash.hpp"
#include "ir/kernel.hpp"

namespace salvo::tests {

/// Each kernel that a fake device builds while this lives, once, and once more with its fused
/// multiply-adds formed where that makes another. Thread-safe.
class Gallery {
 public:
  Gallery();
  ~Gallery();
  Gallery(const Gallery&) = delete;
  Gallery& operator=(const Gallery&) = delete;

  /// With names of their own, in an order that is the same in every run.
  std::vector<ir::Kernel> kernels() const;

 private:
  void add(const ir::Kernel& kernel);

  mutable std::mutex lock_;
  std::map<ir::Digest, ir::Kernel> kernels_;
};

}  // namespace salvo::tests
