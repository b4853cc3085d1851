// Horizontal fusion: whether a kernel may be a member, and the one kernel that runs many members.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/kernel.hpp"
#include "passes/access.hpp"
#include "salvo/window.hpp"

namespace salvo::fusion {

/// Whether `kernel` may ever be a member of a fused group (W28-W30, W32); Reason::none if so.
/// What depends on a launch (dims, dependencies, limits) is the window's to check.
Reason horizontal_refusal(const ir::Kernel& kernel, const passes::Summary& summary);

/// One body of a fused kernel: a kernel and the number of members that can run it.
struct Body {
  const ir::Kernel* kernel = nullptr;
  std::uint32_t slots = 1;
};

/// The kernel that runs `bodies`, each on its own range of blocks along x (W26-W34, W38).
///
/// Its parameters are, body after body, the body's own, each a table of `slots` arguments; then,
/// body after body, two i32 tables: the first block of each member and its number of blocks.
/// Members stand in launch order of their blocks, without gaps; an unused slot has first block
/// INT32_MAX and 0 blocks, and repeats the arguments of slot 0. The shared arrays of different
/// bodies overlay each other as SharedOverlay says.
ir::Kernel fuse_horizontally(std::span<const Body> bodies);

}  // namespace salvo::fusion
