// How many threads a launch has: over(n), or grid(...).block(...).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <source_location>

namespace salvo {

/// Dimensions of a launch and the place it was written, for errors. Sizes are checked at the
/// launch.
class Dims {
 public:
  /// Threads of a block, x y z. Replaces the automatic choice of `over`.
  Dims block(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) const {
    Dims changed = *this;
    changed.block_ = {x, y, z};
    changed.automatic_ = false;
    return changed;
  }
  /// Bytes of dynamic shared memory of each block.
  Dims shared(std::int64_t bytes) const {
    Dims changed = *this;
    changed.shared_ = bytes;
    return changed;
  }

  bool is_range() const noexcept { return is_range_; }
  std::int64_t range() const noexcept { return range_; }
  bool automatic_block() const noexcept { return automatic_; }
  const std::array<std::int64_t, 3>& grid_size() const noexcept { return grid_; }
  const std::array<std::int64_t, 3>& block_size() const noexcept { return block_; }
  std::int64_t shared_bytes() const noexcept { return shared_; }
  const std::source_location& where() const noexcept { return where_; }

  friend Dims over(std::int64_t threads, std::source_location where);
  friend Dims grid(std::int64_t x, std::int64_t y, std::int64_t z, std::source_location where);

 private:
  std::array<std::int64_t, 3> grid_{1, 1, 1};
  std::array<std::int64_t, 3> block_{1, 1, 1};
  std::int64_t range_ = 0;  // over(n): threads wanted
  bool is_range_ = false;
  std::int64_t shared_ = 0;
  bool automatic_ = false;
  std::source_location where_;
};

/// At least `threads` threads along x, in blocks that suit the device: the kernel guards its own
/// end (`if_(i < n)`). Zero launches nothing. A negative count is an error at the launch.
inline Dims over(std::int64_t threads,
                 std::source_location where = std::source_location::current()) {
  Dims dims;
  dims.range_ = threads;
  dims.is_range_ = true;
  dims.automatic_ = true;
  dims.where_ = where;
  return dims;
}

/// Exactly x * y * z blocks; one thread each unless `.block(...)` follows.
inline Dims grid(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1,
                 std::source_location where = std::source_location::current()) {
  Dims dims;
  dims.grid_ = {x, y, z};
  dims.where_ = where;
  return dims;
}

}  // namespace salvo
