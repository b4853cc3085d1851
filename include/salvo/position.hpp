// Where a thread is: indexes and sizes of thread, block and grid.
// SPDX-License-Identifier: MIT
#pragma once

#include "salvo/value.hpp"

namespace salvo {

#define SALVO_POSITION(name, opcode)                      \
  inline Int name##_x() {                                 \
    return Int(detail::emit_position(ir::Op::opcode, 0)); \
  }                                                       \
  inline Int name##_y() {                                 \
    return Int(detail::emit_position(ir::Op::opcode, 1)); \
  }                                                       \
  inline Int name##_z() {                                 \
    return Int(detail::emit_position(ir::Op::opcode, 2)); \
  }
SALVO_POSITION(thread_idx, ThreadIdx)
SALVO_POSITION(block_idx, BlockIdx)
SALVO_POSITION(block_dim, BlockDim)
SALVO_POSITION(grid_dim, GridDim)
SALVO_POSITION(global_idx, GlobalIdx)
#undef SALVO_POSITION

/// block_idx_x() * block_dim_x() + thread_idx_x()
inline Int global_thread_id() {
  return global_idx_x();
}
/// Position in the warp, and the warp's size on the device at hand (K10).
inline Int lane_id() {
  return Int(detail::emit_position(ir::Op::LaneId, 0));
}
inline Int warp_size() {
  return Int(detail::emit_position(ir::Op::WarpSize, 0));
}

}  // namespace salvo
