// A stable content hash of a kernel, the same in every process and on every machine.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ir/kernel.hpp"

namespace salvo::ir {

/// 128-bit digest (XXH3). Source locations do not count: a kernel moved in its file is the same.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::string hex() const;
  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

Digest hash(const Kernel& kernel);
Digest hash_bytes(const void* data, std::size_t bytes);

}  // namespace salvo::ir
